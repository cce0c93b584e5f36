//! As much of RFC 3986 as references inside one document need.

/// The part before the fragment, and the fragment without its `#`.
pub(super) fn split(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

/// Decodes percent escapes; `None` where they are malformed or do not give UTF-8.
pub(super) fn decode(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Resolves a reference without a fragment against a base (RFC 3986, section 5.2).
pub(super) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    if scheme(reference).is_some() {
        return reference.to_owned();
    }
    let scheme_end = scheme(base).map_or(0, |scheme| scheme.len() + 1);
    let (prefix, rest) = base.split_at(scheme_end);
    if reference.starts_with("//") {
        return format!("{prefix}{reference}");
    }
    let authority_end = match rest.strip_prefix("//") {
        Some(after) => 2 + after.find('/').unwrap_or(after.len()),
        None => 0,
    };
    let (authority, path) = rest.split_at(authority_end);
    let path = path.split('?').next().unwrap_or_default();
    let joined = if reference.starts_with('/') {
        reference.to_owned()
    } else {
        let folder = path.rfind('/').map_or("", |end| path.split_at(end + 1).0);
        let folder = if folder.is_empty() && !authority.is_empty() { "/" } else { folder };
        format!("{folder}{reference}")
    };
    format!("{prefix}{authority}{}", without_dots(&joined))
}

fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let starts = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let rest = scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char));
    (starts && rest).then_some(scheme)
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut steps = path.split('/').peekable();
    while let Some(step) = steps.next() {
        let last = steps.peek().is_none();
        match step {
            "." | ".." => {
                if step == ".." && kept.len() > 1 {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            step => kept.push(step),
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_as_rfc_3986_says() {
        let base = "http://a/b/c/d";
        for (reference, expected) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("../g", "http://a/b/g"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("g:h", "g:h"),
            ("", base),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference}");
        }
        assert_eq!(resolve("", "item.json"), "item.json");
        assert_eq!(decode("a%20%C3%A9").as_deref(), Some("a é"));
        assert_eq!(decode("%zz"), None);
    }
}
