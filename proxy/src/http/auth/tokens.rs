//! Several tokens with names, in a file that has only their digests.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, fs};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_bindgen_model::hex_digest;
use mcp_bindgen_runtime::Caller;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::lock::lock;

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
    pub(super) fn principal(&self, token: &[u8]) -> Option<Caller> {
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

    use super::*;

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
