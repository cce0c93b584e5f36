//! The parts of a result that a model receives: text and images, never empty, within limits.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use imagesize::{ImageSize, blob_size};
use mcp_bindgen_runtime::{Content, ToolReply};
use serde_json::Value;

/// The default limit on the characters of one result for a model: about 25,000 tokens.
pub(super) const LONGEST_RESULT: usize = 100_000;

/// The pictures that OpenAI and Anthropic take, and all that any provider takes in results.
pub(super) const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// The longest picture that goes to a provider, in characters of base64: no provider takes much more of one.
const LARGEST_IMAGE: usize = 5_000_000;
/// The limit for all pictures of a turn, in characters of base64: Gemini takes 20 MB of a request, Anthropic 32.
const LARGEST_IMAGES: usize = 15_000_000;
/// How many pictures a turn has: of more than 20 in a request Anthropic takes smaller ones alone, and of more than 100 none.
const MOST_IMAGES: usize = 20;

/// The number of base64 characters in which an image's dimensions are found, unless there is unusually much metadata.
const HEAD: usize = 400_000;
/// The cost of a picture of unknown size: the most that a picture can cost.
const MOST: usize = 1_600;

/// The room for pictures in the results of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    characters: usize,
    images: usize,
}

impl Room {
    pub(super) fn of_a_turn() -> Self {
        Self { characters: LARGEST_IMAGES, images: MOST_IMAGES }
    }

    fn take(&mut self, data: &str) -> bool {
        let fits = data.len() <= self.characters.min(LARGEST_IMAGE) && self.images > 0;
        if fits {
            self.characters -= data.len();
            self.images -= 1;
        }
        fits
    }
}

/// One part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Image { mime_type: &'static str, data: String },
}

impl Part {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. } => None,
        }
    }

    fn is_blank(&self) -> bool {
        self.text().is_some_and(|text| text.trim().is_empty())
    }
}

/// The parts of a result that a provider takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Takes {
    /// The media types of images.
    pub(super) images: &'static [&'static str],
    pub(super) images_of_errors: bool,
    /// `true` if the format has an error flag; otherwise the text marks the error.
    pub(super) marks_errors: bool,
}

/// Returns the content of a message, as text or as an image that the provider takes, unless it is blank.
pub(super) fn of_content(content: &Content, images: &[&'static str], room: &mut Room) -> Option<Part> {
    let block = serde_json::to_value(content).unwrap_or_default();
    Some(part(&block, images, room)).filter(|part| !part.is_blank())
}

/// Returns a block as text, or as an image if the provider takes it.
fn part(block: &Value, images: &[&'static str], room: &mut Room) -> Part {
    let text = || Part::Text(cleaned(&shown(block)));
    image(block, images, room).unwrap_or_else(text)
}

/// Returns the texts, one below the other.
pub(super) fn joined(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::text).collect::<Vec<_>>().join("\n")
}

/// Returns the parts of a reply: its message, and for other content the server's blocks in order.
pub(super) fn parts(reply: &ToolReply, takes: Takes, is_success: bool, room: &mut Room) -> Vec<Part> {
    let images = if is_success || takes.images_of_errors { takes.images } else { &[] };
    let blocks = blocks(&reply.value);
    let text = blocks.iter().filter_map(text_of).collect::<Vec<_>>().join("\n");
    let mut parts = Vec::new();
    // A message that differs from the blocks replaces their text.
    let is_by_blocks = text == reply.message || (text.is_empty() && in_words(&reply.value) == reply.message);
    if !is_by_blocks {
        parts.push(Part::Text(cleaned(&reply.message)));
    }
    let told = blocks.iter().filter(|block| is_by_blocks || text_of(block).is_none());
    parts.extend(told.map(|block| part(block, images, room)));
    parts.retain(|part| !part.is_blank());
    if parts.is_empty() {
        parts.push(Part::Text(nothing(reply.success).to_owned()));
    }
    if !reply.success && !takes.marks_errors {
        match parts.first_mut() {
            Some(Part::Text(text)) => text.insert_str(0, "error: "),
            _ => parts.insert(0, Part::Text("error:".to_owned())),
        }
    }
    parts
}

/// Returns the text of a reply for a model that takes pictures.
pub(crate) fn text_beside_pictures(reply: &ToolReply) -> String {
    let takes = Takes { images: PICTURES, images_of_errors: true, marks_errors: true };
    joined(&parts(reply, takes, reply.success, &mut Room::of_a_turn()))
}

/// Returns the blocks of a reply that are pictures for a model, each with its cost in tokens.
pub(crate) fn pictures(reply: &ToolReply) -> Vec<(Value, usize)> {
    let mut room = Room::of_a_turn();
    let picture = |block: &Value| match image(block, PICTURES, &mut room)? {
        Part::Image { data, .. } => Some((block.clone(), tokens_of_picture(&data))),
        Part::Text(_) => None,
    };
    blocks(&reply.value).iter().filter_map(picture).collect()
}

/// Returns the text of an empty result.
fn nothing(success: bool) -> &'static str {
    if success { "(no result)" } else { "(the tool failed without a message)" }
}

/// Returns the reply with a message, whatever the result is: the JSON of blocks without text, without their data.
pub(crate) fn with_message(mut reply: ToolReply) -> ToolReply {
    if reply.message.trim().is_empty() {
        let words = in_words(&reply.value);
        reply.message = if words.is_empty() { nothing(reply.success).to_owned() } else { words };
    }
    reply
}

/// Returns the blocks of a result that are no text, as text.
fn in_words(result: &Value) -> String {
    let others: Vec<String> = blocks(result).iter().filter(|block| text_of(block).is_none()).map(shown).collect();
    others.join("\n")
}

/// Returns the blocks of a result.
fn blocks(result: &Value) -> &[Value] {
    result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text_of(block: &Value) -> Option<&str> {
    block.get("type").filter(|kind| *kind == "text")?;
    block.get("text")?.as_str()
}

/// Returns the image in a block or in its resource, if the provider accepts it.
fn image(block: &Value, taken: &[&'static str], room: &mut Room) -> Option<Part> {
    let (holder, key) = match block.get("type")?.as_str()? {
        "image" => (block, "data"),
        "resource" => (block.get("resource")?, "blob"),
        _ => return None,
    };
    let data = holder.get(key)?.as_str()?;
    let said = holder.get("mimeType")?.as_str()?.to_ascii_lowercase();
    let said = if said == "image/jpg" { "image/jpeg" } else { &said };
    let mime_type = *taken.iter().find(|taken| **taken == said)?;
    // One that cannot be read would make the provider refuse the whole request.
    (is_base64(data) && room.take(data)).then(|| Part::Image { mime_type, data: data.to_owned() })
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !digits.is_empty() && data.len().is_multiple_of(4) && data.len() - digits.len() <= 2 && digits.bytes().all(is_digit)
}

/// Returns a block as text: an embedded resource by its text, others than text as JSON.
fn shown(block: &Value) -> String {
    if let Some(text) = text_of(block) {
        return text.to_owned();
    }
    let resource = block.get("type").filter(|kind| *kind == "resource").and_then(|_| block.get("resource"));
    let text = |key: &str| resource.and_then(|resource| resource.get(key)?.as_str());
    match (text("uri"), text("text")) {
        (Some(uri), Some(text)) => format!("{uri}:\n{text}"),
        _ => without_data(block),
    }
}

/// Returns a block as JSON, without binary data.
fn without_data(block: &Value) -> String {
    let mut block = block.clone();
    for pointer in ["/data", "/resource/blob"] {
        if let Some(Value::String(data)) = block.pointer_mut(pointer) {
            *data = format!("[{} characters of base64 left out]", data.len());
        }
    }
    block.to_string()
}

/// Removes control characters, bidirectional marks, and characters that only models read.
fn cleaned(text: &str) -> String {
    let misleads = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().filter(|c| !misleads(*c)).collect()
}

/// Leaves as much of the texts as `most` characters, and says how much there was.
pub(super) fn capped(parts: &mut Vec<Part>, most: usize) {
    let (mut room, mut total) = (most, 0);
    for part in parts.iter_mut() {
        let Part::Text(text) = part else { continue };
        let length = text.chars().count();
        let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
        text.truncate(end);
        room = room.saturating_sub(length);
        total += length;
    }
    if total <= most {
        return;
    }
    parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    let note = format!("[cut: {} of {total} characters left out]", total - most);
    match parts.iter_mut().rev().find(|part| part.text().is_some()) {
        Some(Part::Text(text)) => text.push_str(&format!("\n{note}")),
        _ => parts.push(Part::Text(note)),
    }
}

/// Returns the most tokens that one of the providers charges for a picture, by their documentation: OpenAI for tiles of
/// 512 pixels in high detail, Anthropic for every 750 pixels, Gemini for tiles of 768 pixels.
fn tokens_of_picture(data: &str) -> usize {
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
mod tests {
    use mcp_bindgen_runtime::{CallError, ToolResult};
    use serde_json::json;

    use super::*;

    const ALL: Takes = Takes { images: &["image/png", "image/jpeg"], images_of_errors: true, marks_errors: true };
    const TEXT: Takes = Takes { images: &[], images_of_errors: false, marks_errors: false };

    fn reply(result: Value) -> ToolReply {
        ToolResult::from_json("s", "t", result).into()
    }

    fn of(result: Value, takes: Takes) -> Vec<Part> {
        let reply = reply(result);
        parts(&reply, takes, reply.success, &mut Room::of_a_turn())
    }

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    #[test]
    fn images_keep_their_position() {
        let mixed = json!({"content": [
            {"type": "text", "text": "before"},
            {"type": "image", "data": "iVBORw==", "mimeType": "IMAGE/PNG"},
            {"type": "text", "text": "after"},
            {"type": "resource", "resource": {"uri": "x:y", "mimeType": "image/jpg", "blob": "AAAA"}},
        ]});
        let png = Part::Image { mime_type: "image/png", data: "iVBORw==".to_owned() };
        let jpeg = Part::Image { mime_type: "image/jpeg", data: "AAAA".to_owned() };
        assert_eq!(of(mixed.clone(), ALL), [text("before"), png, text("after"), jpeg]);
        let without = joined(&of(mixed, TEXT));
        assert!(without.contains("[8 characters of base64 left out]") && !without.contains("iVBOR"), "{without}");
        assert!(without.contains("x:y") && !without.contains("AAAA"), "{without}");
    }

    #[test]
    fn unsupported_content_is_shown_as_json() {
        for block in [
            json!({"type": "image", "data": "AAAA", "mimeType": "image/tiff"}),
            json!({"type": "image", "data": "not base64!", "mimeType": "image/png"}),
            json!({"type": "image", "data": "", "mimeType": "image/png"}),
            json!({"type": "image", "data": "A".repeat(LARGEST_IMAGE + 4), "mimeType": "image/png"}),
            json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}),
            json!({"type": "resource_link", "uri": "file:///x", "name": "x"}),
            json!({"type": "hologram", "depth": 3}),
            json!({"type": "text", "text": 5}),
            json!("bare"),
        ] {
            let shown = of(json!({"content": [block]}), ALL);
            let [Part::Text(text)] = shown.as_slice() else { panic!("{shown:?}") };
            let read: Value = serde_json::from_str(text).expect("it is JSON");
            assert_eq!(read.get("type"), block.get("type"));
            assert!(text.len() < 300, "{}", text.len());
        }
    }

    #[test]
    fn embedded_resource_is_shown_as_text() {
        let resource = json!({"type": "resource", "resource": {"uri": "file:///x", "text": "a \"b\"\nc"}});
        let said = text("file:///x:\na \"b\"\nc");
        assert_eq!(of(json!({"content": [resource]}), ALL), std::slice::from_ref(&said));
        let beside = json!({"content": [{"type": "text", "text": "before"}, resource]});
        assert_eq!(of(beside, TEXT), [text("before"), said]);
    }

    #[test]
    fn images_of_a_turn_are_bounded() {
        let pictured = |data: &str, count: usize| {
            let block = json!({"type": "image", "data": data, "mimeType": "image/png"});
            reply(json!({"content": vec![block; count]}))
        };
        let mut room = Room::of_a_turn();
        let shown = |reply: &ToolReply, room: &mut Room| {
            let parts = parts(reply, ALL, true, room);
            assert!(joined(&parts).len() < 5000);
            parts.iter().filter(|part| part.text().is_none()).count()
        };
        let large = pictured(&"A".repeat(LARGEST_IMAGE), 2);
        assert_eq!([shown(&large, &mut room), shown(&large, &mut room)], [2, 1]);
        let tiny = pictured("AAAA", 30);
        assert_eq!((shown(&tiny, &mut room), shown(&tiny, &mut Room::of_a_turn())), (0, MOST_IMAGES));
        let said = joined(&parts(&large, ALL, true, &mut room));
        assert!(said.contains("[5000000 characters of base64 left out]"), "{said}");
    }

    #[test]
    fn empty_result_has_a_placeholder_text() {
        for empty in [json!({}), json!({"content": []}), json!({"content": [{"type": "text", "text": " \n"}]})] {
            assert_eq!(of(empty.clone(), TEXT), [text("(no result)")], "{empty}");
        }
        let failed = of(json!({"content": [], "isError": true}), TEXT);
        assert_eq!(failed, [text("error: (the tool failed without a message)")]);
        assert_eq!(of(json!({"content": [], "structuredContent": {"n": 1}}), TEXT), [text(r#"{"n":1}"#)]);
        let denied = ToolReply::from(CallError::denied("s", "t", "never"));
        assert_eq!(parts(&denied, ALL, false, &mut Room::of_a_turn()), [text("s: `t` was denied: never")]);
    }

    #[test]
    fn reply_message_replaces_images_with_a_notice() {
        let block = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let pictured = with_message(reply(json!({"content": [block]})));
        assert!(pictured.message.contains("4 characters of base64 left out"), "{}", pictured.message);
        let shown = parts(&pictured, ALL, true, &mut Room::of_a_turn());
        assert_eq!(shown, [Part::Image { mime_type: "image/png", data: "AAAA".to_owned() }]);
        assert_eq!(with_message(reply(json!({}))).message, "(no result)");
    }

    #[test]
    fn errors_are_marked_in_text_without_an_error_flag() {
        let failed = json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
        assert_eq!(of(failed.clone(), TEXT), [text("error: no such file")]);
        assert_eq!(of(failed, ALL), [text("no such file")]);
        let picture = json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}], "isError": true});
        let unmarked = of(picture, Takes { marks_errors: false, ..ALL });
        assert_eq!((unmarked.len(), unmarked.first()), (2, Some(&text("error:"))));
    }

    #[test]
    fn text_is_truncated_at_a_character_with_a_notice() {
        let mut long =
            vec![text("äöü"), Part::Image { mime_type: "image/png", data: String::new() }, text("ßß"), text("x")];
        let whole = long.clone();
        capped(&mut long, 6);
        assert_eq!(long, whole);
        capped(&mut long, 4);
        assert_eq!(joined(&long), "äöü\nß\n[cut: 2 of 6 characters left out]");
        let mut at_a_border = whole.clone();
        capped(&mut at_a_border, 3);
        assert_eq!(joined(&at_a_border), "äöü\n[cut: 3 of 6 characters left out]");
        let mut all = vec![text("äöü")];
        capped(&mut all, 0);
        assert_eq!(all, [text("[cut: 3 of 3 characters left out]")]);
    }

    #[test]
    fn hostile_characters_are_removed() {
        let hostile =
            json!({"content": [{"type": "text", "text": "a\u{1b}[31m\u{202e}b\u{e0041}\n\tc مرحبا 👩\u{200d}💻"}]});
        assert_eq!(of(hostile, ALL), [text("a[31mb\n\tc مرحبا 👩\u{200d}💻")]);
    }

    /// Returns the beginning of a PNG of this size, which is all that is looked at.
    fn png(width: u32, height: u32) -> String {
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
