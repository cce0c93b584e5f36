//! The data that a provider needs to reach a server: the URL and the headers, as values.

use std::collections::BTreeMap;
use std::fmt;

use mcp_bindgen_model::{ServerConfig, Transport, printable};

use super::declarations::{NotHostedReason, Refusal};

/// URL and headers with their secrets. `Debug` shows neither.
pub(super) struct Credentials {
    pub(super) url: String,
    /// The token of `Authorization: Bearer`.
    pub(super) bearer: Option<String>,
    /// All other headers.
    pub(super) headers: BTreeMap<String, String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("headers", &self.headers.len()).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads the credentials of a configuration without placeholders.
    pub(super) fn of(ready: &ServerConfig) -> Result<Self, Refusal> {
        let (Transport::Http { url, headers } | Transport::Sse { url, headers }) = &ready.transport else {
            return Err(NotHostedReason::Transport.because("only a `url` can be hosted"));
        };
        let mut found = Self { url: url.clone(), bearer: None, headers: BTreeMap::new() };
        for (name, value) in headers {
            let is_name =
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
            if !is_name {
                return Err(NotHostedReason::Headers.because("it has an invalid header name"));
            }
            if !value.bytes().all(|b| (b' '..=b'~').contains(&b) || b == b'\t') {
                let name = printable(name);
                let message = format!("the value of its header `{name}` has invalid characters");
                return Err(NotHostedReason::Headers.because(message));
            }
            let token = name.eq_ignore_ascii_case("authorization").then(|| bearer(value)).flatten();
            match token {
                Some(token) => found.bearer = Some(token.to_owned()),
                None => drop(found.headers.insert(name.clone(), value.clone())),
            }
        }
        // Two spellings of one name are two headers for the file, and one for HTTP.
        if headers.keys().filter(|name| name.eq_ignore_ascii_case("authorization")).count() > 1 {
            return Err(NotHostedReason::Headers.because("it has `Authorization` twice"));
        }
        Ok(found)
    }

    /// Refuses to send secrets over plain http. `written` is the configuration before placeholders were replaced. The
    /// value of a header's placeholder counts as a secret, and so does every bearer token.
    pub(super) fn check_encryption(&self, written: &ServerConfig, ready: &ServerConfig) -> Result<(), Refusal> {
        if self.is_encrypted() {
            return Ok(());
        }
        let secrets = ready.secrets();
        let shows = |text: &str| secrets.iter().any(|secret| !secret.is_empty() && text.contains(secret.as_str()));
        let plain = match &written.transport {
            Transport::Http { headers, .. } | Transport::Sse { headers, .. } => headers,
            Transport::Stdio { .. } => &BTreeMap::new(),
        };
        let is_secret = |(name, value): (&String, &String)| plain.get(name) != Some(value) || shows(value);
        let what = if self.bearer.is_some() || self.headers.iter().any(is_secret) {
            "one of its headers"
        } else if shows(&self.url) {
            "the URL itself"
        } else {
            return Ok(());
        };
        let message = format!("its `url` is not https, and {what} contains a secret");
        Err(NotHostedReason::Address.because(message))
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
    }
}

/// Returns the token of `Bearer TOKEN`.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once([' ', '\t'])?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && !token.contains([' ', '\t'])).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&str, &str)]) -> Result<Credentials, Refusal> {
        let config = ServerConfig::http("a", "https://a.example.com");
        Credentials::of(&headers.iter().fold(config, |config, (name, value)| config.header(*name, *value)))
    }

    #[test]
    fn bearer_token_is_separated_from_other_headers() {
        let found = of(&[("authorization", "bearer  t0ken"), ("X-Team", "blue")]).unwrap();
        assert_eq!(found.bearer.as_deref(), Some("t0ken"));
        assert_eq!(found.headers.keys().collect::<Vec<_>>(), ["X-Team"]);
        for other in ["Basic dTpw", "Bearer", "Bearer ", "Bearer a b", "t0ken"] {
            let found = of(&[("Authorization", other)]).unwrap();
            assert_eq!((found.bearer.is_none(), found.headers.len()), (true, 1), "{other}");
        }
    }

    #[test]
    fn secrets_are_not_sent_over_plain_http() {
        let config = |scheme: &str, path: &str| ServerConfig::http("a", format!("{scheme}://a.example.com/{path}"));
        let check = |written: ServerConfig| {
            let ready = written.expand(|_| Some("hunter2".to_owned())).unwrap();
            Credentials::of(&ready).unwrap().check_encryption(&written, &ready)
        };
        let with_secrets: [fn(ServerConfig) -> ServerConfig; 4] = [
            |config| config.header("Authorization", "Bearer abc"),
            |config| config.header("Authorization", "Basic dTpw"),
            |config| config.header("X-Api-Key", "0123456789abcdef"),
            |config| config.header("X-Team", "${TEAM}"),
        ];
        for with_secret in with_secrets {
            let refusal = check(with_secret(config("http", ""))).unwrap_err();
            assert_eq!(refusal.reason, NotHostedReason::Address);
            assert!(refusal.message.contains("one of its headers"), "{}", refusal.message);
            check(with_secret(config("https", ""))).unwrap();
        }
        let in_url = check(config("http", "?api_key=0123456789abcdef")).unwrap_err();
        assert!(in_url.message.contains("the URL itself"), "{}", in_url.message);
        check(config("http", "mcp").header("X-Team", "blue")).unwrap();
    }

    #[test]
    fn invalid_headers_are_refused_and_not_shown() {
        for (name, value) in
            [("X", "s3cret\n"), ("X", "s3cret\r\nY: z"), ("X", "s3cret é"), ("X Y", "s3cret"), ("", "s3cret")]
        {
            let refusal = of(&[(name, value)]).unwrap_err();
            assert_eq!(refusal.reason, NotHostedReason::Headers);
            assert!(!refusal.message.contains("s3cret"), "{}", refusal.message);
        }
        for second in ["Bearer b", "Basic b"] {
            assert!(of(&[("Authorization", "Bearer a"), ("authorization", second)]).is_err(), "{second}");
        }
        assert!(!format!("{:?}", of(&[("X", "s3cret")]).unwrap()).contains("s3cret"));
    }
}
