//! Which values of a configuration look like secrets that somebody wrote out.

use crate::placeholder;

/// Where in a server's configuration a value stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    Command,
    Argument { previous: Option<&'a str> },
    Folder,
    Url,
    Env(&'a str),
    Header(&'a str),
}

const SECRET_WORDS: [&str; 8] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "AUTHORIZATION", "CREDENTIAL", "PASSPHRASE"];
const SECRET_SEGMENTS: [&str; 7] = ["KEY", "KEYS", "AUTH", "PAT", "PWD", "COOKIE", "BEARER"];
/// A key that ends so tells where the secret is, or what kind it is, not the secret.
const HARMLESS_ENDS: [&str; 9] = ["FILE", "PATH", "DIR", "URL", "URI", "NAME", "ID", "TYPE", "ENDPOINT"];
const TOKEN_STARTS: [&str; 11] =
    ["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "hf_"];

/// Whether a key is one that secrets are kept under.
fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_uppercase();
    let segments = || key.split(|c: char| !c.is_ascii_alphanumeric()).filter(|segment| !segment.is_empty());
    if segments().next_back().is_some_and(|last| HARMLESS_ENDS.contains(&last)) {
        return false;
    }
    SECRET_WORDS.iter().any(|word| key.contains(word)) || segments().any(|segment| SECRET_SEGMENTS.contains(&segment))
}

fn is_literal(value: &str) -> bool {
    let value = value.trim();
    let switch = ["true", "false", "none", "null", "yes", "no"].iter().any(|word| value.eq_ignore_ascii_case(word));
    !value.is_empty() && !switch && !value.bytes().all(|b| b.is_ascii_digit()) && !placeholder::is_in(value)
}

/// The key whose secret the value spells out, and the value with `replacement(key)` in the secret's place.
/// `None` where there is no such secret.
pub(crate) fn hide(place: Place<'_>, value: &str, replacement: &dyn Fn(&str) -> String) -> Option<(String, String)> {
    let found = |key: &str, kept: &str| Some((key.to_owned(), format!("{kept}{}", replacement(key))));
    match place {
        Place::Command | Place::Folder => None,
        Place::Url => hide_in_url(value, replacement),
        Place::Env(key) | Place::Header(key) if is_secret(key, value) => found(key, scheme(value)),
        Place::Env(_) | Place::Header(_) => None,
        Place::Argument { previous } => {
            if let Some((flag, rest)) = value.split_once('=') {
                let key = flag.trim_start_matches('-');
                return is_secret(key, rest).then(|| found(key, &format!("{flag}=")))?;
            }
            if let Some((header, rest)) = value.split_once(": ") {
                return is_secret(header, rest).then(|| found(header, &format!("{header}: {}", scheme(rest))))?;
            }
            let key =
                previous.filter(|p| p.starts_with('-') && !p.contains('=')).map_or("", |p| p.trim_start_matches('-'));
            let key = if key.is_empty() { "secret" } else { key };
            let is_value = !value.starts_with('-');
            (is_value
                && (starts_like_token(value) || previous.is_some_and(|p| p.starts_with('-')) && is_secret(key, value)))
            .then(|| found(key, ""))?
        }
    }
}

fn is_secret(key: &str, value: &str) -> bool {
    is_literal(value) && (is_secret_key(key) || starts_like_token(value))
}

fn starts_like_token(value: &str) -> bool {
    value.len() >= 16 && TOKEN_STARTS.iter().any(|start| value.starts_with(start)) && !placeholder::is_in(value)
}

/// `Bearer ` of `Bearer abc`: not secret, and worth keeping.
fn scheme(value: &str) -> &str {
    ["Bearer ", "Basic ", "Token "].into_iter().find(|scheme| value.starts_with(scheme)).unwrap_or_default()
}

fn hide_in_url(url: &str, replacement: &dyn Fn(&str) -> String) -> Option<(String, String)> {
    if let Some((start, rest)) = url.split_once("://") {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((user, password)) = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'))
            && is_literal(password)
        {
            let after = rest.get(user.len() + 1 + password.len()..).unwrap_or_default();
            return Some(("password".to_owned(), format!("{start}://{user}:{}{after}", replacement("password"))));
        }
    }
    let (before, query) = url.split_once('?')?;
    let mut found = None;
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) if is_secret(key, value) => {
                found = Some(key.to_owned());
                format!("{key}={}", replacement(key))
            }
            _ => pair.to_owned(),
        })
        .collect();
    found.map(|key| (key, format!("{before}?{}", pairs.join("&"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(place: Place<'_>, value: &str) -> Option<String> {
        hide(place, value, &|key| format!("<{key}>")).map(|(_, text)| text)
    }

    #[test]
    fn written_out_secrets_are_found() {
        for (place, value, expected) in [
            (Place::Env("GITHUB_TOKEN"), "abc", "<GITHUB_TOKEN>"),
            (Place::Env("apiKey"), "abc", "<apiKey>"),
            (Place::Env("ANYTHING"), "ghp_0123456789abcdef", "<ANYTHING>"),
            (Place::Header("Authorization"), "Bearer abc", "Bearer <Authorization>"),
            (Place::Header("X-Api-Key"), "abc", "<X-Api-Key>"),
            (Place::Argument { previous: None }, "--token=abc", "--token=<token>"),
            (Place::Argument { previous: Some("--api-key") }, "abc", "<api-key>"),
            (
                Place::Argument { previous: Some("--header") },
                "Authorization: Bearer abc",
                "Authorization: Bearer <Authorization>",
            ),
            (Place::Argument { previous: None }, "sk-0123456789abcdef", "<secret>"),
            (Place::Url, "https://user:abc@host/x", "https://user:<password>@host/x"),
            (Place::Url, "https://host/x?a=b&api_key=abc&c=d", "https://host/x?a=b&api_key=<api_key>&c=d"),
        ] {
            assert_eq!(hidden(place, value).as_deref(), Some(expected), "{place:?} {value}");
        }
    }

    #[test]
    fn placeholders_and_harmless_values_are_left_alone() {
        for (place, value) in [
            (Place::Env("GITHUB_TOKEN"), "${GITHUB_TOKEN}"),
            (Place::Env("GITHUB_TOKEN"), ""),
            (Place::Env("MAX_TOKENS"), "4096"),
            (Place::Env("USE_TOKEN"), "true"),
            (Place::Env("TOKEN_FILE"), "/run/secrets/token"),
            (Place::Env("MONKEY"), "abc"),
            (Place::Env("AUTHOR"), "me"),
            (Place::Header("Authorization"), "Bearer ${API_KEY:-none}"),
            (Place::Header("Accept"), "text/plain"),
            (Place::Argument { previous: Some("-y") }, "@scope/token-server"),
            (Place::Argument { previous: Some("token") }, "abc"),
            (Place::Argument { previous: Some("--token") }, "--verbose"),
            (Place::Url, "https://host:80/x?page=2"),
            (Place::Url, "https://user:${PASSWORD}@host/"),
            (Place::Command, "token"),
        ] {
            assert_eq!(hidden(place, value), None, "{place:?} {value}");
        }
    }
}
