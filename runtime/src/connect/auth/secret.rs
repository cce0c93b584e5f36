//! Secret values, random values and hashes, and signed assertions for client authentication (RFC 7523, `private_key_jwt`).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::error::Unspecified;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::ground::redact::debug_as;

/// The lifetime of an assertion in seconds.
const LIFETIME: u64 = 300;

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

/// Signs a message.
type Sign = Box<dyn Fn(&[u8]) -> Result<Vec<u8>, Unspecified>>;

/// Parses a key, which determines the algorithm of its signatures.
pub(super) fn parse(pem: &Secret) -> Result<(&'static str, Sign), String> {
    let wrong = "the client's key is not a PKCS #8 private key (`-----BEGIN PRIVATE KEY-----`) for ES256, ES384, \
                 EdDSA or RS256; convert it with `openssl pkcs8 -topk8 -nocrypt`";
    // Environment variables often hold a key in one line, with spaces in place of line ends.
    let inside = pem.expose().split_once("-----BEGIN PRIVATE KEY-----");
    let (base64, _) = inside.and_then(|(_, rest)| rest.split_once("-----END")).ok_or(wrong)?;
    let base64: String = base64.chars().filter(|c| !c.is_whitespace()).collect();
    let der = BASE64_STANDARD.decode(base64).map_err(|_| wrong)?;
    let random = SystemRandom::new();
    for (name, algorithm) in [("ES256", &ECDSA_P256_SHA256_FIXED_SIGNING), ("ES384", &ECDSA_P384_SHA384_FIXED_SIGNING)]
    {
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(algorithm, &der, &random) {
            return Ok((name, Box::new(move |message| Ok(key.sign(&random, message)?.as_ref().to_vec()))));
        }
    }
    if let Ok(key) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
        return Ok(("EdDSA", Box::new(move |message| Ok(key.sign(message).as_ref().to_vec()))));
    }
    let key = RsaKeyPair::from_pkcs8(&der).map_err(|_| wrong)?;
    let sign: Sign = Box::new(move |message| {
        let mut signature = vec![0; key.public().modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)?;
        Ok(signature)
    });
    Ok(("RS256", sign))
}

/// Returns an assertion that proves to `audience` who the client is, for a few minutes.
pub(super) fn assertion(client: &str, pem: &Secret, audience: &str) -> Result<String, String> {
    let (algorithm, sign) = parse(pem)?;
    let issued = now();
    let header = json!({"alg": algorithm, "typ": "JWT"});
    let claims = json!({
        "iss": client, "sub": client, "aud": audience, "jti": random()?, "iat": issued,
        "exp": issued.saturating_add(LIFETIME),
    });
    let encoded = |part: String| BASE64_URL_SAFE_NO_PAD.encode(part);
    let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
    let signature = sign(message.as_bytes()).map_err(|_| "failed to sign with the client's key")?;
    Ok(format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

/// Returns the seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, KeyPair, UnparsedPublicKey};
    use serde_json::Value;

    fn pem(der: &[u8]) -> Secret {
        Secret::new(format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            BASE64_STANDARD.encode(der)
        ))
    }

    fn signed(pem: &Secret) -> (String, Vec<u8>, Value, Value) {
        let assertion = assertion("me", pem, "https://auth.example").expect("an assertion");
        let (message, signature) = assertion.rsplit_once('.').expect("three parts");
        let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).expect("base64");
        let (header, claims) = message.split_once('.').expect("three parts");
        let json = |part| serde_json::from_slice(&decoded(part)).expect("JSON");
        (message.to_owned(), decoded(signature), json(header), json(claims))
    }

    #[test]
    fn assertion_is_signed_with_the_algorithm_of_the_key() {
        let random = SystemRandom::new();
        let ecdsa = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let (message, signature, header, claims) = signed(&pem(ecdsa.as_ref()));
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ecdsa.as_ref(), &random).expect("a key");
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key());
        public.verify(message.as_bytes(), &signature).expect("the signature");
        assert_eq!(header["alg"], "ES256");
        assert_eq!(
            (&claims["iss"], &claims["sub"], &claims["aud"]),
            (&json!("me"), &json!("me"), &json!("https://auth.example"))
        );
        assert_eq!(claims["exp"].as_u64(), claims["iat"].as_u64().map(|issued| issued + LIFETIME));

        let ed25519 = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
        let (message, signature, header, other) = signed(&pem(ed25519.as_ref()));
        let pair = Ed25519KeyPair::from_pkcs8(ed25519.as_ref()).expect("a key");
        UnparsedPublicKey::new(&ED25519, pair.public_key())
            .verify(message.as_bytes(), &signature)
            .expect("the signature");
        assert_eq!(header["alg"], "EdDSA");
        assert_ne!(claims["jti"], other["jti"]);
    }

    #[test]
    fn key_in_one_line_with_spaces_is_accepted() {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        drop(parse(&Secret::new(pem(key.as_ref()).expose().replace('\n', " "))).expect("a key"));
    }

    #[test]
    fn invalid_key_is_an_error_that_does_not_show_the_key() {
        for text in [
            "",
            "sk-secret",
            "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----",
            "-----BEGIN EC PRIVATE KEY-----",
        ] {
            let error = parse(&Secret::new(text)).map(drop).expect_err(text).to_string();
            assert!(
                error.contains("PKCS #8") && !error.contains("c2VjcmV0") && !error.contains("sk-secret"),
                "{error}"
            );
        }
    }

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

    #[test]
    fn hash_in_names_has_128_bits() {
        // The first half of the first example of FIPS 180-2.
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223");
    }
}
