//! The contents of `WWW-Authenticate` in a refusal (RFC 6750, RFC 9728).

/// The parameters of a Bearer challenge.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BearerChallenge {
    pub(super) resource_metadata: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) error: Option<String>,
}

impl BearerChallenge {
    /// Parses the first Bearer challenge of these headers; empty if there is none.
    pub(super) fn parse(values: &[String]) -> Self {
        let mut found = Self::default();
        let mut in_bearer = false;
        let mut was_in_bearer = false;
        for piece in values.iter().flat_map(|value| pieces(value)) {
            let (scheme, parameter) = split_scheme(&piece);
            if let Some(scheme) = scheme {
                in_bearer = scheme.eq_ignore_ascii_case("bearer") && !was_in_bearer;
                was_in_bearer |= in_bearer;
            }
            if !in_bearer {
                continue;
            }
            let Some((name, value)) = parameter.split_once('=') else { continue };
            let field = match name.trim().to_ascii_lowercase().as_str() {
                "resource_metadata" => &mut found.resource_metadata,
                "scope" => &mut found.scope,
                "error" => &mut found.error,
                _ => continue,
            };
            if field.is_none() {
                *field = Some(unquoted(value.trim()));
            }
        }
        found
    }

    pub(super) fn scopes(&self) -> Option<Vec<String>> {
        let scopes: Vec<String> = self.scope.as_deref()?.split_whitespace().map(str::to_owned).collect();
        (!scopes.is_empty()).then_some(scopes)
    }
}

/// Splits a header at its commas, except for those in quotation marks.
fn pieces(value: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for character in value.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                pieces.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    pieces
}

/// Splits a piece: `Bearer realm="x"` begins a challenge, and `scope="y"` continues it.
fn split_scheme(piece: &str) -> (Option<&str>, &str) {
    let piece = piece.trim();
    let end = piece.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(piece.len());
    let (word, rest) = piece.split_at(end);
    let rest = rest.trim_start();
    if rest.starts_with('=') || word.is_empty() { (None, piece) } else { (Some(word), rest) }
}

fn unquoted(value: &str) -> String {
    let Some(inside) = value.strip_prefix('"') else { return value.to_owned() };
    let mut text = String::new();
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    text
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
        assert_eq!(challenge.scopes(), Some(vec!["files:read".to_owned(), "files:write".to_owned()]));
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
            assert_eq!(challenge.scope, None, "{values:?}");
        }
    }

    #[test]
    fn malformed_challenge_yields_no_scopes() {
        for value in ["", ",,,", "Bearer", "=", "Bearer scope=\"", r#"Basic scope="x""#, "\"", "\\"] {
            assert_eq!(parse(&[value]).scopes(), None, "{value}");
        }
    }
}
