//! Secret values, random values and hashes.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::ground::redact::debug_as;

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
    let mut bytes = [0; 256 / 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "the system has no random numbers")?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns 128 bits of a SHA-256 hash in hexadecimal, for use in names.
pub(super) fn hash(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().take(128 / 8).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the S256 challenge of a verifier: the proof key for code exchange (RFC 7636).
pub(super) fn code_challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pkce_challenge_matches_rfc_7636() {
        let challenge = code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn pkce_verifiers_are_unique_and_long_enough() {
        let (a, b) = (random().expect("random"), random().expect("random"));
        assert_ne!(a, b);
        assert!((43..=128).contains(&a.len()));
    }

    #[test]
    fn debug_output_hides_a_secret() {
        assert_eq!(format!("{:?}", Secret::new("hunter22")), "[redacted]");
    }
}
