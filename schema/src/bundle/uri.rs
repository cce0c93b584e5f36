//! The subset of RFC 3986 that references inside one document need.

/// Returns the part before the fragment, and the fragment without its `#`.
pub(super) fn split(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

/// Decodes percent escapes; returns `None` if they are malformed or not UTF-8.
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
    let (prefix, rest) = base.split_at(scheme(base).map_or(0, |scheme| scheme.len() + 1));
    if reference.starts_with("//") {
        return format!("{prefix}{reference}");
    }
    let after = rest.strip_prefix("//");
    let (authority, path) = rest.split_at(after.map_or(0, |after| 2 + after.find('/').unwrap_or(after.len())));
    let path = path.split('?').next().unwrap_or_default();
    let (wanted, query) = reference.find('?').map_or((reference, ""), |start| reference.split_at(start));
    let joined = match wanted.chars().next() {
        None => path.to_owned(),
        Some('/') => without_dots(wanted),
        Some(_) => match path.rsplit_once('/') {
            Some((folder, _)) => without_dots(&format!("{folder}/{wanted}")),
            None if authority.is_empty() => without_dots(wanted),
            None => without_dots(&format!("/{wanted}")),
        },
    };
    format!("{prefix}{authority}{joined}{query}")
}

fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let starts = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let rest = scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char));
    (starts && rest).then_some(scheme)
}

fn without_dots(path: &str) -> String {
    let root = usize::from(path.starts_with('/'));
    let mut kept: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            ".." if kept.len() > root => {
                kept.pop();
            }
            "." | ".." => {}
            step => kept.push(step),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") || path == "." || path == ".." {
        kept.push("");
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_as_in_rfc_3986() {
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("g;x?y", "http://a/b/c/g;x?y"),
            ("", base),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/../h", "http://a/b/c/h"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference}");
        }
        assert_eq!(resolve("schemas/item.json", "../root.json"), "root.json");
        assert_eq!(resolve("urn:uuid:1", ""), "urn:uuid:1");
        assert_eq!(resolve("", "item.json"), "item.json");
        assert_eq!(decode("a%20%C3%A9").as_deref(), Some("a é"));
        assert_eq!(decode("%zz"), None);
    }
}
