//! Authenticates requests: by a shared token, one of several named tokens in a file that has only their digests, or a
//! token of an authorization server.

#[cfg(feature = "jwt")]
mod jwt;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, fs};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use mcp_bindgen_model::{hex_digest, sha256};
use mcp_bindgen_runtime::Caller;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

#[cfg(feature = "jwt")]
pub use self::jwt::JwtAuth;
use crate::ServeError;
use crate::lock::lock;

/// Why a request is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotAuthenticated {
    /// It has no token.
    Nothing,
    /// Its token is not valid.
    Invalid,
    /// Its token does not have these scopes.
    MissingScopes(Vec<String>),
    /// The keys of the issuer are not known at the moment.
    Unavailable,
}

/// How requests are authenticated.
#[derive(Clone, Debug)]
pub(super) enum Authentication {
    /// Everybody is let in.
    None,
    Bearer(Bearer),
    Tokens(TokenFile),
    #[cfg(feature = "jwt")]
    Jwt(JwtAuth),
}

impl Authentication {
    /// Returns the caller, as far as the token says.
    pub(super) async fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, NotAuthenticated> {
        if matches!(self, Self::None) {
            return Ok(Caller::default());
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let credentials = match (values.next(), values.next()) {
            (None, _) => return Err(NotAuthenticated::Nothing),
            (Some(value), None) => value.as_bytes().split_at_checked("Bearer ".len()),
            _ => None,
        };
        let token = credentials.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer ")).map(|(_, token)| token);
        let token = token.map(<[u8]>::trim_ascii).ok_or(NotAuthenticated::Invalid)?;
        match self {
            Self::None => Ok(Caller::default()),
            Self::Bearer(bearer) if bearer.is(token) => Ok(Caller::default()),
            Self::Bearer(_) => Err(NotAuthenticated::Invalid),
            Self::Tokens(file) => file.principal(token).ok_or(NotAuthenticated::Invalid),
            #[cfg(feature = "jwt")]
            Self::Jwt(jwt) => jwt.principal(token).await,
        }
    }

    /// Returns the issuer and the scopes for the metadata of the protected resource (RFC 9728), and its name.
    pub(super) fn resource(&self) -> Option<(&str, &[String], &str)> {
        match self {
            #[cfg(feature = "jwt")]
            Self::Jwt(jwt) => Some(jwt.resource()),
            _ => None,
        }
    }

    /// Returns `true` if those who are let in have names.
    pub(super) fn has_names(&self) -> bool {
        !matches!(self, Self::None | Self::Bearer(_))
    }

    /// Returns `true` if every caller is admitted.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// A token, of which only the digest is kept: enough to compare, and nothing that could be shown.
#[derive(Clone)]
pub(super) struct Bearer {
    digest: [u8; 32],
}

impl Bearer {
    /// Checks a token: visible ASCII (RFC 6750, section 2.1).
    pub(super) fn new(token: &str) -> Result<Self, ServeError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ServeError::option("bearer", "expected a non-empty token of visible ASCII without spaces"));
        }
        Ok(Self { digest: sha256(token.as_ref()) })
    }

    /// Takes as long for a token that is nearly right as for any other.
    fn is(&self, token: &[u8]) -> bool {
        bool::from(sha256(token).ct_eq(&self.digest))
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Bearer(..)")
    }
}

/// How often the file is looked at.
const PAUSE: Duration = Duration::from_secs(1);

/// A file with named tokens for the clients of a proxy. It has the digests of the tokens, not the tokens. A change of
/// the file takes effect within a second; a file that cannot be read changes nothing.
///
/// ```json
/// { "format": 1, "tokens": { "ci": { "sha256": "9f86d0..", "groups": ["build"], "scopes": [] } } }
/// ```
///
/// `mcp-bindgen auth token NAME --tokens FILE` adds a token.
#[derive(Clone)]
pub struct TokenFile(Arc<Mutex<State>>);

struct State {
    path: PathBuf,
    looked: Instant,
    stamp: Option<(SystemTime, u64)>,
    /// By the digests of the tokens.
    tokens: HashMap<String, Caller>,
}

/// The error of a file with tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct TokenFileError {
    path: PathBuf,
    message: String,
}

/// The contents of the file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    format: u32,
    tokens: BTreeMap<String, Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    sha256: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
}

impl TokenFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is not such a file.
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, TokenFileError> {
        let path = path.into();
        let stamp = stamp(&path);
        let tokens = principals(&path, &read(&path)?)?;
        Ok(Self(Arc::new(Mutex::new(State { path, looked: Instant::now(), stamp, tokens }))))
    }

    /// Returns a new token: 256 random bits as text. `None` if the operating system has no random numbers.
    #[must_use]
    pub fn new_token() -> Option<String> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Returns the text of the file with a token added or replaced, or removed if `token` is `None`. A file that does
    /// not exist yet is empty.
    ///
    /// # Errors
    /// Fails like [`load`](Self::load), or if a token to remove does not exist.
    pub fn changed(
        path: &Path,
        name: &str,
        token: Option<(&str, &[String], &[String])>,
    ) -> Result<String, TokenFileError> {
        let mut contents = if path.exists() { read(path)? } else { Contents { format: 1, ..Contents::default() } };
        principals(path, &contents)?;
        match token {
            Some((token, groups, scopes)) => {
                let sha256 = hex_digest(token.as_bytes());
                let entry = Entry { sha256, groups: groups.to_vec(), scopes: scopes.to_vec() };
                contents.tokens.insert(name.to_owned(), entry);
            }
            None if contents.tokens.remove(name).is_none() => {
                return Err(error(path, format!("there is no token `{name}`")));
            }
            None => {}
        }
        let text = serde_json::to_string_pretty(&contents).map_err(|why| error(path, why.to_string()))?;
        Ok(text + "\n")
    }

    /// Returns whose token it is.
    fn principal(&self, token: &[u8]) -> Option<Caller> {
        let mut state = lock(&self.0);
        if state.looked.elapsed() >= PAUSE {
            state.look();
        }
        state.tokens.get(&hex_digest(token)).cloned()
    }
}

impl State {
    /// Reads the file again if it has changed.
    fn look(&mut self) {
        self.looked = Instant::now();
        let stamp = stamp(&self.path);
        if stamp == self.stamp {
            return;
        }
        match read(&self.path).and_then(|contents| principals(&self.path, &contents)) {
            Ok(tokens) => {
                tracing::info!(target: "mcp_bindgen_proxy", "reloaded {} tokens", tokens.len());
                (self.tokens, self.stamp) = (tokens, stamp);
            }
            Err(error) => {
                tracing::error!(target: "mcp_bindgen_proxy", "the tokens were not reloaded, and nothing changes: {error}")
            }
        }
    }
}

impl fmt::Debug for TokenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenFile").field("path", &lock(&self.0).path).finish_non_exhaustive()
    }
}

fn error(path: &Path, message: impl Into<String>) -> TokenFileError {
    TokenFileError { path: path.to_owned(), message: message.into() }
}

/// Returns the time of the last change of a file, and its length.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read(path: &Path) -> Result<Contents, TokenFileError> {
    let text = fs::read_to_string(path).map_err(|why| error(path, format!("cannot read the tokens: {why}")))?;
    let contents: Contents =
        serde_json::from_str(&text).map_err(|why| error(path, format!("not a file of tokens: {why}")))?;
    if contents.format != 1 {
        return Err(error(path, format!("format {} is unknown; this version reads format 1", contents.format)));
    }
    Ok(contents)
}

fn principals(path: &Path, contents: &Contents) -> Result<HashMap<String, Caller>, TokenFileError> {
    let mut principals = HashMap::new();
    for (name, entry) in &contents.tokens {
        let digest = entry.sha256.to_ascii_lowercase();
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = format!("`sha256` of token `{name}` is not a SHA-256 digest of 64 hexadecimal digits");
            return Err(error(path, message));
        }
        let mut caller = Caller::principal(name.clone());
        (caller.groups, caller.scopes) = (entry.groups.clone(), entry.scopes.clone());
        if let Some(Caller { principal: Some(other), .. }) = principals.insert(digest, caller) {
            return Err(error(path, format!("`{other}` and `{name}` have the same token; create another one")));
        }
    }
    Ok(principals)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use hyper::header::HeaderValue;

    use super::*;

    #[tokio::test]
    async fn only_the_exact_token_is_accepted() {
        let authentication = Authentication::Bearer(Bearer::new("s3cret").expect("the token is fine"));
        let check = async |headers: &HeaderMap| authentication.authenticate(headers).await;
        assert_eq!(check(&HeaderMap::new()).await, Err(NotAuthenticated::Nothing));
        for (value, is_right) in [
            ("Bearer s3cret", true),
            ("bearer  s3cret", true),
            ("Bearer s3cre", false),
            ("Bearer s3crets", false),
            ("Bearer ", false),
            ("Bearer", false),
            ("Basic s3cret", false),
            ("s3cret", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            let expected = if is_right { Ok(Caller::default()) } else { Err(NotAuthenticated::Invalid) };
            assert_eq!(check(&headers).await, expected, "{value}");
            headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer s3cret"));
            assert_eq!(check(&headers).await, Err(NotAuthenticated::Invalid), "{value}, twice");
        }
        assert!(!format!("{authentication:?}").contains("s3cret"));
    }

    #[test]
    fn changed_token_file_is_reloaded_unless_invalid() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        let groups = ["build".to_owned()];
        fs::write(&path, TokenFile::changed(&path, "ci", Some(("t0ken", &groups, &[]))).unwrap()).unwrap();
        let file = TokenFile::load(&path).unwrap();
        let look = || {
            file.0.lock().unwrap().looked = Instant::now().checked_sub(PAUSE).unwrap();
            file.principal(b"t0ken").and_then(|caller| caller.principal)
        };
        assert_eq!(file.principal(b"t0ken").unwrap().groups, groups);
        assert_eq!(file.principal(b"t0ke"), None);
        assert!(!fs::read_to_string(&path).unwrap().contains("t0ken\""), "the file has digests");

        fs::write(&path, "{").unwrap();
        assert_eq!(look().as_deref(), Some("ci"));
        fs::write(&path, TokenFile::changed(&folder.path().join("none"), "other", Some(("x", &[], &[]))).unwrap())
            .unwrap();
        assert_eq!(look(), None);
        assert!(TokenFile::changed(&path, "ci", None).unwrap_err().to_string().contains("there is no token `ci`"));
    }
}
