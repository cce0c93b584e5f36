//! Values that no message may show, and random ones.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::ground::redact::debug_as;

const RANDOM_BYTES: usize = 32;
const HASH_BYTES: usize = 16;

/// A token, a password, a key. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

debug_as!(Secret, "[redacted]");

/// Returns 256 random bits in URL-safe base64.
pub(super) fn random() -> Result<String, String> {
    let mut bytes = [0; RANDOM_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| "the system has no random numbers")?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns 128 bits of a SHA-256 hash in hexadecimal, for use in names.
pub(super) fn hash(text: &str) -> String {
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    hash.as_ref().iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// Proof key for code exchange (RFC 7636), always S256.
pub(super) struct Pkce {
    pub(super) verifier: Secret,
    pub(super) challenge: String,
}

impl Pkce {
    pub(super) fn new() -> Result<Self, String> {
        Ok(Self::of(random()?))
    }

    fn of(verifier: String) -> Self {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()));
        Self { verifier: Secret(verifier), challenge }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pkce_challenge_matches_rfc_7636() {
        let pkce = Pkce::of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned());
        assert_eq!(pkce.challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert_eq!(pkce.verifier.expose().len(), 43);
    }

    #[test]
    fn pkce_verifiers_are_unique_and_long_enough() {
        let (a, b) = (Pkce::new().expect("random"), Pkce::new().expect("random"));
        assert_ne!(a.verifier, b.verifier);
        assert!((43..=128).contains(&a.verifier.expose().len()));
        assert!(!format!("{:?}", a.verifier).contains(a.verifier.expose()));
    }
}
