//! The costs of pictures.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use imagesize::{ImageSize, blob_size};

/// The number of base64 characters in which an image's dimensions are found, unless there is unusually much metadata.
const HEAD: usize = 400_000;
/// The cost of a picture of unknown size: the most that a picture can cost.
const MOST: usize = 1_600;

/// Returns the most tokens that one of the providers charges for a picture, by their documentation: OpenAI for tiles of
/// 512 pixels in high detail, Anthropic for every 750 pixels, Gemini for tiles of 768 pixels.
pub(crate) fn tokens_of_picture(data: &str) -> usize {
    let head = data.get(..data.len().min(HEAD) / 4 * 4).unwrap_or_default();
    let size = BASE64_STANDARD.decode(head).ok().and_then(|bytes| blob_size(&bytes).ok());
    size.map_or(MOST, |size| [open_ai(size), anthropic(size), gemini(size)].into_iter().max().unwrap_or(MOST))
}

/// Estimates tokens for OpenAI. Images are scaled down to 2,048 by 2,048 pixels, then to 768 on the shorter side. They
/// cost 85 tokens, plus 170 for each tile.
fn open_ai(size: ImageSize) -> usize {
    let (width, height) = scaled(size, 2_048.0, f64::max);
    let (width, height) = scaled(ImageSize { width, height }, 768.0, f64::min);
    85 + 170 * width.div_ceil(512) * height.div_ceil(512)
}

/// Estimates tokens for Anthropic. Images are scaled down to 1,568 pixels on the longer side, and cost at most 1,600
/// tokens.
fn anthropic(size: ImageSize) -> usize {
    let (width, height) = scaled(size, 1_568.0, f64::max);
    (width * height).div_ceil(750).min(MOST)
}

fn gemini(size: ImageSize) -> usize {
    const TILE: usize = 258;
    let ImageSize { width, height } = size;
    if width <= 384 && height <= 384 {
        return TILE;
    }
    // Tiles are cut from the shorter side.
    let side = (width.min(height) * 2 / 3).clamp(256, 768);
    TILE * width.div_ceil(side).min(16) * height.div_ceil(side).min(16)
}

/// Scales an image down until one of its sides has at most `most` pixels.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn scaled(size: ImageSize, most: f64, side: fn(f64, f64) -> f64) -> (usize, usize) {
    let scale = (most / side(size.width as f64, size.height as f64)).min(1.0);
    let scaled = |length: usize| ((length as f64 * scale).round() as usize).max(1);
    (scaled(size.width), scaled(size.height))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the beginning of a PNG of this size, which is all that is looked at.
    pub(crate) fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 6, 0, 0, 0]);
        BASE64_STANDARD.encode(bytes)
    }

    /// Figures of the providers' documentation.
    #[test]
    fn image_tokens_match_the_providers_documentation() {
        let size = |width, height| ImageSize { width, height };
        assert_eq!(open_ai(size(1_024, 1_024)), 765);
        assert_eq!(open_ai(size(2_048, 4_096)), 1_105);
        assert_eq!(anthropic(size(200, 200)), 54);
        assert_eq!(anthropic(size(1_000, 1_000)), 1_334);
        assert_eq!(gemini(size(384, 384)), 258);
        assert_eq!(gemini(size(960, 540)), 258 * 6);
        assert_eq!(tokens_of_picture(&png(1_000, 1_000)), 1_334);
        assert_eq!(tokens_of_picture("AAAA"), MOST);
    }
}
