//! Decodes percent-encoding.

/// Decodes a text; returns `None` if it is unchanged or not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let escaped = digit(0).zip(digit(1)).filter(|_| *byte == b'%');
        let escaped = escaped.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(escaped.unwrap_or(*byte));
        rest = after.get(if escaped.is_some() { 2 } else { 0 }..)?;
    }
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
