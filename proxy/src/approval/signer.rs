//! Signs the state that clients carry (HMAC-SHA256).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use serde_json::Value;

use super::super::error::ProxyFault;
use crate::random::random_id;

const KEY_BYTES: usize = 32;
/// The prefix that tells it from servers' states.
const OURS: &str = "mcp-bindgen.1.";

/// It looks like the proxy's own, and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsigned;

pub(crate) struct Signer {
    /// The first one signs.
    keys: Vec<hmac::Key>,
    random: SystemRandom,
}

impl Signer {
    /// # Errors
    /// Fails if a key is short, or there is none to be had.
    pub(crate) fn new(keys: Vec<Vec<u8>>) -> Result<Self, ProxyFault> {
        let random = SystemRandom::new();
        if let Some(short) = keys.iter().find(|key| key.len() < KEY_BYTES) {
            return Err(ProxyFault::ShortKey { bytes: short.len(), at_least: KEY_BYTES });
        }
        let mut keys: Vec<hmac::Key> = keys.iter().map(|key| hmac::Key::new(hmac::HMAC_SHA256, key)).collect();
        if keys.is_empty() {
            keys.push(hmac::Key::generate(hmac::HMAC_SHA256, &random).map_err(|_| ProxyFault::NoRandomness)?);
        }
        Ok(Self { keys, random })
    }

    /// A text that nobody can guess, and that is never given twice.
    pub(crate) fn nonce(&self) -> String {
        // Where the system has none, the state is bound to the call all the same; and a nonce that comes twice is spent.
        random_id(&self.random).unwrap_or_default()
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        let claims = base64(claims.to_string().as_bytes());
        let tag = self.keys.first().map(|key| hmac::sign(key, claims.as_bytes()));
        format!("{OURS}{claims}.{}", tag.map(|tag| base64(tag.as_ref())).unwrap_or_default())
    }

    /// Returns `true` if a state that a server gives would be taken for the proxy's own.
    pub(crate) fn is_mistakable(state: &str) -> bool {
        state.starts_with(OURS)
    }

    pub(super) fn read(&self, state: &str) -> Result<Option<Value>, Unsigned> {
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

pub(super) fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(..)")
    }
}
