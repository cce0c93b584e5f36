//! Approvals without a session: the signed state that a client keeps for the proxy (`requestState`) while a person is
//! asked, and which approvals were used.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::{BoxFuture, ready};
use mcp_bindgen_model::{canonical_json, sha256};
use mcp_bindgen_runtime::middleware::ApprovalRequest;
use ring::hmac;
use ring::rand::SystemRandom;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::ProxyFault;
use crate::lock::lock;
use crate::random::random_id;

/// How long a person may think about it.
const LIFETIME: Duration = Duration::from_secs(15 * 60);
const KEY_BYTES: usize = 32;
/// The prefix that distinguishes this state from those of servers.
const OURS: &str = "mcp-bindgen.1.";

/// It looks like the proxy's own, and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsigned;

/// Signs the state that clients keep (HMAC-SHA256).
pub(crate) struct Signer {
    /// The first one signs.
    keys: Vec<hmac::Key>,
}

impl Signer {
    /// Makes a key of its bytes.
    ///
    /// # Errors
    /// Fails if it is short.
    pub(crate) fn key(bytes: &[u8]) -> Result<hmac::Key, ProxyFault> {
        match bytes.len() {
            0..KEY_BYTES => Err(ProxyFault::ShortKey { bytes: bytes.len(), at_least: KEY_BYTES }),
            _ => Ok(hmac::Key::new(hmac::HMAC_SHA256, bytes)),
        }
    }

    /// Creates the claims with these keys, or with a generated one if there are none.
    ///
    /// # Errors
    /// Fails if a key is too short, or if the system cannot generate one.
    pub(crate) fn new(keys: Vec<Result<hmac::Key, ProxyFault>>) -> Result<Self, ProxyFault> {
        let mut keys = keys.into_iter().collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() {
            let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
            keys.push(key.map_err(|_| ProxyFault::NoRandomness)?);
        }
        Ok(Self { keys })
    }

    /// Signs claims, as a client keeps them.
    pub(crate) fn sign(&self, claims: &Claims) -> String {
        let claims = URL_SAFE_NO_PAD.encode(serde_json::to_vec(claims).unwrap_or_default());
        let tag = self.keys.first().map(|key| URL_SAFE_NO_PAD.encode(hmac::sign(key, claims.as_bytes())));
        format!("{OURS}{claims}.{}", tag.unwrap_or_default())
    }

    /// Returns `true` if a state that a server gives would be taken for the proxy's own.
    pub(crate) fn is_mistakable(state: &str) -> bool {
        state.starts_with(OURS)
    }

    /// Reads the state that a client gives back; `Ok(None)` if it is not the proxy's own.
    pub(crate) fn read(&self, state: &str) -> Result<Option<Claims>, Unsigned> {
        let Some(signed) = state.strip_prefix(OURS) else { return Ok(None) };
        let (claims, tag) = signed.split_once('.').ok_or(Unsigned)?;
        let tag = URL_SAFE_NO_PAD.decode(tag).map_err(|_| Unsigned)?;
        // In constant time.
        let is_signed = |key: &hmac::Key| hmac::verify(key, claims.as_bytes(), &tag).is_ok();
        if !self.keys.iter().any(is_signed) {
            return Err(Unsigned);
        }
        let claims = URL_SAFE_NO_PAD.decode(claims).map_err(|_| Unsigned)?;
        serde_json::from_slice(&claims).map(Some).map_err(|_| Unsigned)
    }
}

/// The signed state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claims {
    /// The digest of the server, tool and arguments of the call that a person is asked about: an approval is valid for
    /// that call only. `None` if the server asks something.
    #[serde(rename = "call")]
    pub(crate) asked: Option<String>,
    /// The digests of approved calls: each layer may change a call and ask about the changed one. None are approved by a
    /// wrapped state of a server that looks like the proxy's own, as another proxy's does.
    pub(crate) approved: Vec<String>,
    /// The nonce, which identifies a state that is sent twice.
    pub(crate) nonce: String,
    /// In seconds of Unix time.
    expires: u64,
    /// The state that the server wants back.
    #[serde(rename = "state")]
    pub(crate) upstream: Option<String>,
    /// The client's answers to the server before it was asked.
    pub(crate) responses: Option<Map<String, Value>>,
}

impl Claims {
    pub(crate) fn new(upstream: Option<String>) -> Self {
        // If the system has no random numbers, the state is still bound to the call, and a repeated nonce is already
        // spent.
        let nonce = random_id().unwrap_or_default();
        let expires = (SystemTime::now() + LIFETIME).duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self { asked: None, approved: Vec::new(), nonce, expires, upstream, responses: None }
    }

    /// Returns `true` if the proxy asked nothing, and only wrapped the state of a server.
    pub(crate) fn approve_nothing(&self) -> bool {
        self.asked.is_none() && self.approved.is_empty()
    }

    pub(crate) fn expires(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.expires)
    }
}

/// Returns the digest of a call.
pub(crate) fn digest_of(request: &ApprovalRequest) -> String {
    let principal = request.caller.as_ref().and_then(|caller| caller.principal.as_deref());
    digest((&request.server, &request.tool), &request.arguments, principal)
}

fn digest((server, tool): (&str, &str), arguments: &Map<String, Value>, principal: Option<&str>) -> String {
    let call = canonical_json(&json!([server, tool, arguments, principal]));
    URL_SAFE_NO_PAD.encode(sha256(call.as_bytes()))
}

/// Records which approvals were used, so that each counts once. Instances of a proxy with the same clients share a
/// store, such as a database table with a unique key.
///
/// ```
/// use std::time::SystemTime;
/// use mcp_bindgen_proxy::{ApprovalStore, MemoryApprovalStore};
///
/// # async fn run() -> Result<(), mcp_bindgen_proxy::ApprovalStoreError> {
/// let store = MemoryApprovalStore::default();
/// let expires = SystemTime::now() + std::time::Duration::from_secs(60);
/// assert!(store.spend("7f3a", expires).await?);
/// assert!(!store.spend("7f3a", expires).await?);
/// # Ok(())
/// # }
/// ```
pub trait ApprovalStore: fmt::Debug + Send + Sync {
    /// Marks an approval as used. Returns `true` if it was unused; of two concurrent callers, only one receives `true`.
    /// The store may forget it after it has expired.
    ///
    /// # Errors
    /// Fails if the store is unavailable; the call is then denied.
    fn spend<'a>(&'a self, approval: &'a str, expires: SystemTime) -> BoxFuture<'a, Result<bool, ApprovalStoreError>>;
}

/// The error of an approval store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApprovalStoreError {
    message: String,
}

impl ApprovalStoreError {
    /// Creates an error with a reason, for the proxy's log. Clients do not see it.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// An approval store in memory, for a single instance.
#[derive(Debug, Default)]
pub struct MemoryApprovalStore {
    /// The times at which used approvals expire.
    spent: Mutex<HashMap<String, SystemTime>>,
}

impl ApprovalStore for MemoryApprovalStore {
    fn spend<'a>(&'a self, approval: &'a str, expires: SystemTime) -> BoxFuture<'a, Result<bool, ApprovalStoreError>> {
        let (mut spent, now) = (lock(&self.spent), SystemTime::now());
        // Clocks may be set back, so those that have expired are kept for a while.
        spent.retain(|_, expires| now.duration_since(*expires).unwrap_or_default() < LIFETIME);
        let is_first = spent.insert(approval.to_owned(), expires).is_none();
        Box::pin(ready(Ok(is_first && expires > now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn signed_claims_round_trip_and_altered_ones_are_refused() {
        let signer = Signer::new(Vec::new()).expect("there are random numbers");
        let mut claims = Claims::new(Some("opaque".to_owned()));
        (claims.asked, claims.approved) = (Some("d".to_owned()), vec!["c".to_owned()]);
        let state = signer.sign(&claims);
        let read = signer.read(&state).expect("it is signed").expect("it is ours");
        assert_eq!((&read.asked, &read.nonce), (&claims.asked, &claims.nonce));
        assert_eq!((&read.approved, &read.responses), (&claims.approved, &None));
        assert_eq!(read.upstream.as_deref(), Some("opaque"));
        assert!(read.expires() > SystemTime::now());

        assert_eq!(signer.read("a server's own"), Ok(None));
        let other = Signer::new(Vec::new()).expect("there are random numbers");
        assert_eq!(other.read(&state), Err(Unsigned));
        // Each of its letters counts, the last of each part only in its upper bits.
        for at in 0..state.len() {
            let mut bytes = state.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'w' } else { b'A' };
            let altered = String::from_utf8(bytes).expect("it is text");
            let read = signer.read(&altered);
            assert!(read == Err(Unsigned) || read == Ok(None), "{at}: {altered} {read:?}");
        }
    }

    #[test]
    fn call_digest_depends_on_content_and_not_on_key_order() {
        let one = digest(("s", "t"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 3 } })), None);
        assert_eq!(one, digest(("s", "t"), &arguments(json!({ "b": { "d": 3, "c": 2 }, "a": 1 })), None));
        for other in [
            digest(("s", "t"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 4 } })), None),
            digest(("s", "t"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 3 } })), Some("ann")),
            digest(("s", "u"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 3 } })), None),
            digest(("r", "t"), &arguments(json!({ "a": 1, "b": { "c": 2, "d": 3 } })), None),
        ] {
            assert_ne!(one, other);
        }
    }

    #[tokio::test]
    async fn only_expired_approvals_are_removed() {
        let store = MemoryApprovalStore::default();
        let now = SystemTime::now();
        let (past, later) = (now - 2 * LIFETIME, now + Duration::from_secs(600));
        assert_eq!(store.spend("kept", later).await, Ok(true));
        for number in 0..10_000 {
            assert_eq!(store.spend(&format!("of before {number}"), past).await, Ok(false));
        }
        assert_eq!(store.spend("kept", later).await, Ok(false));
        let spent = lock(&store.spent);
        assert!(spent.len() <= 2, "{} are remembered", spent.len());
    }

    #[tokio::test]
    async fn approval_is_not_used_again_when_it_expires() {
        let store = MemoryApprovalStore::default();
        let expires = SystemTime::now() + Duration::from_secs(2);
        assert_eq!(store.spend("used", expires).await, Ok(true));
        while SystemTime::now() < expires {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(store.spend("used", expires).await, Ok(false));
        assert_eq!(store.spend("unused", expires).await, Ok(false), "it has expired");
    }
}
