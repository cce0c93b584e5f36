//! The contents of `WWW-Authenticate` in a refusal (RFC 6750, RFC 9728).

/// The parameters of a Bearer challenge.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BearerChallenge {
    pub(super) resource_metadata: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) error: Option<String>,
}

impl BearerChallenge {
    /// Parses the first Bearer challenge of these headers; empty if there is none.
    pub(super) fn parse(headers: &[String]) -> Self {
        headers.iter().find_map(|header| Self::of(header)).unwrap_or_default()
    }

    /// Parses the first Bearer challenge of a header.
    fn of(header: &str) -> Option<Self> {
        let separates = |c: char| c == ',' || c.is_whitespace();
        let mut found: Option<Self> = None;
        let mut rest = header;
        while let Some(start) = rest.find(|c| !separates(c)) {
            let (gap, text) = rest.split_at(start);
            let begins = rest.len() == header.len() || gap.contains(',');
            let (word, after) = text.split_at(text.find(|c| c == '=' || separates(c)).unwrap_or(text.len()));
            let Some(value) = after.trim_start().strip_prefix('=') else {
                // The scheme of the next challenge is a word without a value, at the start or after a comma.
                if begins && found.is_some() {
                    break;
                }
                found = found.or_else(|| (begins && word.eq_ignore_ascii_case("bearer")).then(Self::default));
                rest = after;
                continue;
            };
            let (value, after) = split_value(value.trim_start());
            rest = after;
            let Some(found) = &mut found else { continue };
            match word.to_ascii_lowercase().as_str() {
                "resource_metadata" => found.resource_metadata = found.resource_metadata.take().or(Some(value)),
                "scope" if found.scopes.is_empty() => {
                    found.scopes = value.split_whitespace().map(str::to_owned).collect();
                }
                "error" => found.error = found.error.take().or(Some(value)),
                _ => {}
            }
        }
        found
    }
}

/// Splits a text after the value at its start, which may be in quotation marks.
fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find(',').unwrap_or(text.len()));
        return (value.trim_end().to_owned(), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => value.extend(characters.next()),
            other => value.push(other),
        }
    }
    (value, characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(values: &[&str]) -> BearerChallenge {
        BearerChallenge::parse(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn bearer_challenge_parameters_are_parsed() {
        let challenge =
            parse(&[r#"bearer realm="a, \"b\"", error="insufficient_scope", scope="files:read  files:write""#]);
        assert_eq!(challenge.error.as_deref(), Some("insufficient_scope"));
        assert_eq!(challenge.scopes, ["files:read", "files:write"]);
        assert_eq!(challenge.resource_metadata, None);
    }

    #[test]
    fn bearer_challenge_is_found_among_other_schemes_and_headers() {
        let wanted = Some("https://a.example/.well-known/x".to_owned());
        for values in [
            &[r#"Basic realm="x", Bearer resource_metadata="https://a.example/.well-known/x""#][..],
            &[r#"Basic realm="x""#, r#"Bearer resource_metadata = "https://a.example/.well-known/x""#],
            &[r#"Bearer resource_metadata=https://a.example/.well-known/x, Digest resource_metadata="no""#],
            &[r#"Negotiate abc==, Bearer resource_metadata="https://a.example/.well-known/x", Bearer scope="no""#],
        ] {
            let challenge = parse(values);
            assert_eq!(challenge.resource_metadata, wanted, "{values:?}");
            assert!(challenge.scopes.is_empty(), "{values:?}");
        }
    }

    #[test]
    fn malformed_parameters_do_not_hide_others_of_a_bearer_challenge() {
        let first =
            r#"Bearer error=invalid_token, error_description=The token expired, resource_metadata="m", scope="x""#;
        for values in [
            &[first][..],
            &[r#"Bearer scope="x"b, resource_metadata="m", error=invalid_token"#],
            &[r#"Basic realm="x"#, r#"Bearer error="invalid_token", scope="x", resource_metadata="m""#],
            &[r#"Bearer error=invalid_token, scope=x, resource_metadata=m, error=e, scope=s, resource_metadata=r"#],
        ] {
            let challenge = parse(values);
            assert_eq!(challenge.error.as_deref(), Some("invalid_token"), "{values:?}");
            assert_eq!(challenge.resource_metadata.as_deref(), Some("m"), "{values:?}");
            assert_eq!(challenge.scopes, ["x"], "{values:?}");
        }
        assert_eq!(parse(&["Bearer scope=read write, error=e"]).scopes, ["read", "write"]);
    }

    #[test]
    fn malformed_challenge_yields_no_scopes() {
        for value in ["", ",,,", "Bearer", "=", "Bearer scope=\"", r#"Basic scope="x""#, "\"", "\\"] {
            assert!(parse(&[value]).scopes.is_empty(), "{value}");
        }
    }
}
