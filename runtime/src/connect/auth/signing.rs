//! Signed assertions for client authentication (RFC 7523, `private_key_jwt`).

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde_json::json;

use super::entry::now;
use super::secret::{Secret, random};

const LIFETIME: u64 = 300;
const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

enum Key {
    Ecdsa(&'static str, EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl Key {
    /// Parses a key, which determines its algorithm.
    fn parse(pem: &Secret) -> Result<Self, String> {
        let wrong = "the client's key is not a PKCS #8 private key (`-----BEGIN PRIVATE KEY-----`) for ES256, ES384, \
                     EdDSA or RS256; convert it with `openssl pkcs8 -topk8 -nocrypt`";
        // Environment variables often hold a key in one line, with spaces in place of line ends.
        let inside =
            pem.expose().split_once("-----BEGIN PRIVATE KEY-----").and_then(|(_, rest)| rest.split_once("-----END"));
        let (base64, _) = inside.ok_or(wrong)?;
        let base64: String = base64.chars().filter(|c| !c.is_whitespace()).collect();
        let der = BASE64_STANDARD.decode(base64).map_err(|_| wrong)?;
        let random = SystemRandom::new();
        let p256 = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random);
        let p384 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &der, &random);
        p256.map(|key| Self::Ecdsa("ES256", key))
            .or_else(|_| p384().map(|key| Self::Ecdsa("ES384", key)))
            .or_else(|_| Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map(Self::Ed25519))
            .or_else(|_| RsaKeyPair::from_pkcs8(&der).map(Self::Rsa))
            .map_err(|_| wrong.to_owned())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ecdsa(name, _) => name,
            Self::Ed25519(_) => "EdDSA",
            Self::Rsa(_) => "RS256",
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        let random = SystemRandom::new();
        let failed = |_| "failed to sign with the client's key".to_owned();
        match self {
            Self::Ecdsa(_, key) => Ok(key.sign(&random, message).map_err(failed)?.as_ref().to_vec()),
            Self::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

/// Checks that the key can sign.
pub(super) fn check(pem: &Secret) -> Result<(), String> {
    Key::parse(pem).map(drop)
}

/// Returns the parameters that prove to `audience` who the client is, for a few minutes.
pub(super) fn proof(client: &str, pem: &Secret, audience: &str) -> Result<Vec<(&'static str, String)>, String> {
    let key = Key::parse(pem)?;
    let (issued, id) = (now(), random()?);
    let header = json!({"alg": key.algorithm(), "typ": "JWT"});
    let claims = json!({
        "iss": client, "sub": client, "aud": audience, "jti": id, "iat": issued, "exp": issued.saturating_add(LIFETIME),
    });
    let encoded = |part: String| BASE64_URL_SAFE_NO_PAD.encode(part);
    let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes())?);
    Ok(vec![
        ("client_id", client.to_owned()),
        ("client_assertion_type", TYPE.to_owned()),
        ("client_assertion", format!("{message}.{signature}")),
    ])
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
        let parameters = proof("me", pem, "https://auth.example").expect("a proof");
        let assertion = &parameters.iter().find(|(name, _)| *name == "client_assertion").expect("an assertion").1;
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
        check(&Secret::new(pem(key.as_ref()).expose().replace('\n', " "))).expect("a key");
    }

    #[test]
    fn invalid_key_is_an_error_that_does_not_show_the_key() {
        for text in [
            "",
            "sk-secret",
            "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----",
            "-----BEGIN EC PRIVATE KEY-----",
        ] {
            let error = check(&Secret::new(text)).expect_err(text).to_string();
            assert!(
                error.contains("PKCS #8") && !error.contains("c2VjcmV0") && !error.contains("sk-secret"),
                "{error}"
            );
        }
    }
}
