//! The forms in which a value can be repeated: unchanged, and escaped in several ways.

use std::iter::successors;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

const SHORTEST_IN_BASE64: usize = 8;
/// How often percent escapes are decoded that were escaped again.
const MOST_DECODED: usize = 3;
const UNRESERVED: &str = "-._~";
/// The characters that encoders leave as they are beside letters and digits: none, RFC 3986, `encodeURIComponent`, forms,
/// `encodeURI`.
const UNESCAPED: [&str; 5] = ["", UNRESERVED, "-._~!*'()", "-._*", "-._~;/?:@&=+$,#!*'()[]"];

/// Passes every form of a value to `add`, itself included. The matcher ignores backslashes.
pub(super) fn add(value: &str, add: &mut dyn FnMut(String)) {
    let decoded = successors(Some(value.to_owned()), |value| decode(value));
    decoded.take(1 + MOST_DECODED).for_each(|value| add_encoded(&value, add));
}

fn add_encoded(value: &str, add: &mut dyn FnMut(String)) {
    let json = serde_json::Value::from(value).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or_default();
    add(value.to_owned());
    add(json.to_owned());
    add(value.escape_debug().to_string());
    add(value.escape_default().to_string());
    add(value.as_bytes().escape_ascii().to_string());
    // Python escapes control characters as `\x1b` or `\n`, and no others.
    add(escaped(value, &|c| c.is_ascii_control(), &|c| (c as u8).escape_ascii().to_string()));
    // ASCII-only writers drop other characters or replace each with `?`.
    add(escaped(value, &|c| !c.is_ascii(), &|_| String::new()));
    add(escaped(value, &|c| !c.is_ascii(), &|_| "?".to_owned()));
    // Encoders for HTML, and for ASCII.
    let in_units =
        |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
    for form in &[value, json] {
        add(escaped(form, &|c| "<>&".contains(c), &in_units));
        let ascii = escaped(form, &|c| !c.is_ascii() || c.is_control(), &in_units);
        add(ascii.to_ascii_uppercase().replace("\\U", "\\u"));
        add(ascii);
    }
    let bytes = |c: char| c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    for kept in &UNESCAPED {
        let is_escaped = |c: char| !c.is_ascii_alphanumeric() && !kept.contains(c);
        let in_percents = escaped(value, &is_escaped, &bytes);
        add(in_percents.replace("%20", "+"));
        add(in_percents);
        add(escaped(value, &is_escaped, &|c| bytes(c).to_ascii_lowercase()));
    }
    let text = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    add(text.replace('\'', "&#39;"));
    add(text.replace('\'', "&#x27;"));
    if value.len() >= SHORTEST_IN_BASE64 {
        add_base64(value, add);
    }
}

/// Replaces some characters of a text by their escapes.
fn escaped(text: &str, is_escaped: &dyn Fn(char) -> bool, escape: &dyn Fn(char) -> String) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if is_escaped(c) { escaped.push_str(&escape(c)) } else { escaped.push(c) }
    }
    escaped
}

/// Decodes percent escapes; returns `None` if it is unchanged or not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let escaped = match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*byte));
        rest = after.get(if escaped.is_some() { 2 } else { 0 }..)?;
    }
    String::from_utf8(bytes).ok().filter(|decoded| decoded != text)
}

/// Adds the parts of its base64 that do not depend on the bytes around it, for each of the three possible offsets.
fn add_base64(value: &str, add: &mut dyn FnMut(String)) {
    // The first characters may encode bits of the bytes before, and the last one of those after.
    for (before, first) in &[(0, 0), (1, 2), (2, 3)] {
        let bytes = "\0".repeat(*before) + value;
        let last = usize::from(!bytes.len().is_multiple_of(3));
        for engine in &[BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&bytes);
            add(encoded.get(*first..encoded.len() - last).unwrap_or_default().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of(value: &str) -> HashSet<String> {
        let mut forms = HashSet::new();
        add(value, &mut |form| _ = forms.insert(form));
        forms
    }

    #[test]
    fn forms_cover_every_encoder() {
        let found = of("a\"/é<&\u{7} ~'=Z");
        for form in [
            "a\"/é<&\u{7} ~'=Z",
            "a\\\"/é<&\\u0007 ~'=Z",
            "a\\\"/\\u00e9<&\\u0007 ~'=Z",
            "a\\\"/é\\u003c\\u0026\\u0007 ~'=Z",
            "a\\\"/é<&\\u{7} ~\\'=Z",
            "a\"/é<&\\x07 ~'=Z",
            "a%22%2F%C3%A9%3C%26%07%20~%27%3DZ",
            "a%22%2f%c3%a9%3c%26%07%20~%27%3dZ",
            "a%22%2F%C3%A9%3C%26%07+%7E%27%3DZ",
            "a%22/%C3%A9%3C&%07%20~'=Z",
            "a&quot;/é&lt;&amp;\u{7} ~&#39;=Z",
        ] {
            assert!(found.contains(form), "{form}: {found:#?}");
        }
        assert!(of("a%2Fb").contains("a/b"));
        assert_eq!(
            of("plain_1").iter().filter(|form| form.eq_ignore_ascii_case("plain_1")).count(),
            2,
            "{:?}",
            of("plain_1")
        );
    }

    #[test]
    fn base64_is_recognized_at_any_offset() {
        let forms = of("hunter2-hunter2");
        for (before, after) in [("", ""), ("user:", ""), ("{\"k\":\"", "\"}"), ("xy", "z")] {
            for engine in [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD] {
                let encoded = engine.encode(format!("{before}hunter2-hunter2{after}"));
                assert!(forms.iter().any(|form| form.len() > 16 && encoded.contains(form)), "{encoded}");
            }
        }
    }

    #[test]
    fn percent_escapes_are_decoded_and_invalid_ones_are_unchanged() {
        for (text, expected) in
            [("/a%20b", "/a b"), ("/%C3%A9", "/é"), ("/100%", "/100%"), ("/%zz", "/%zz"), ("/%+1", "/%+1")]
        {
            assert_eq!(decode(text).as_deref().unwrap_or(text), expected);
        }
    }

    #[test]
    fn escaped_percent_escapes_are_decoded_three_times() {
        let escaped = |times| format!("%{}41", "25".repeat(times));
        let forms = of(&escaped(8_000));
        assert!(forms.contains(&escaped(7_997)) && !forms.contains(&escaped(7_996)));
        assert!(of(&escaped(2)).contains("A"));
    }
}
