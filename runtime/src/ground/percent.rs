//! Percent-encoding.

use std::fmt::Write;

/// Encodes all bytes except ASCII letters, digits and those in `kept`.
pub(crate) fn encode(text: &str, kept: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Decodes a text; returns `None` if it is unchanged or not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let (before, after) = rest.split_at(at);
        bytes.extend_from_slice(before.as_bytes());
        // `from_str_radix` would take a sign.
        let hex = after.get(1..3).filter(|hex| !hex.starts_with('+'));
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..)?;
            }
            None => {
                bytes.push(b'%');
                rest = after.get(1..)?;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok().filter(|decoded| decoded != text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_escapes_are_decoded_and_invalid_ones_are_unchanged() {
        for (text, expected) in
            [("/a%20b", "/a b"), ("/%C3%A9", "/é"), ("/100%", "/100%"), ("/%zz", "/%zz"), ("/%+1", "/%+1")]
        {
            assert_eq!(decode(text).as_deref().unwrap_or(text), expected);
        }
    }
}
