//! Access tokens of an authorization server, as JWTs (RFC 9068), and the keys of the server (RFC 8414, RFC 7517).

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::Uri;
use mcp_bindgen_runtime::__private::fetch_json;
use mcp_bindgen_runtime::Caller;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::Value;

use super::NotAuthenticated;
use crate::ServeError;
use crate::http::origin::Host;
use crate::lock::lock;

/// Clocks differ by at most this, in seconds.
const LEEWAY: f64 = 60.0;
const LONGEST_TOKEN: usize = 16 * 1024;
const LONGEST_DOCUMENT: usize = 256 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);
/// Keys are fetched again after this time.
const FRESH: Duration = Duration::from_secs(600);
/// A token with an unknown key has the keys fetched again, but not more often.
const PAUSE: Duration = Duration::from_secs(10);
/// Keys that cannot be fetched again are used for so long.
const LONGEST_USE: Duration = Duration::from_secs(24 * 3600);

/// Accepts access tokens of an authorization server: JWTs that its keys signed, for one audience. The proxy is then an
/// OAuth resource server, with metadata at `/.well-known/oauth-protected-resource` (RFC 9728).
///
/// The principal is the claim `sub`, or `client_id` without it; groups are the claims `groups` and `roles`; scopes
/// are `scope` or `scp`. The issuer's keys are fetched when they are needed, and again when they change.
///
/// ```
/// use mcp_bindgen_proxy::{HttpOptions, JwtAuth};
///
/// let auth = JwtAuth::new("https://login.example.com", "https://mcp.example.com/mcp").scope("mcp");
/// let options = HttpOptions::new().jwt(auth);
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct JwtAuth {
    issuer: Arc<Issuer>,
    audience: String,
    scopes: Vec<String>,
}

impl JwtAuth {
    /// Accepts tokens of an issuer for an audience: the URL of the proxy's endpoint, unless the issuer has another name
    /// for it.
    #[must_use]
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self { issuer: Arc::new(Issuer::new(issuer.into())), audience: audience.into(), scopes: Vec::new() }
    }

    /// Requires a scope of every token. Without it a request is answered with status 403 and the scopes to ask for.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.push(scope.into());
        self
    }

    pub(crate) fn check(&self) -> Result<(), ServeError> {
        if !is_safe(&self.issuer.url) {
            return Err(ServeError::option("issuer", "expected an https URL, or a http URL of this machine"));
        }
        if self.audience.is_empty() {
            return Err(ServeError::option("audience", "expected the audience that tokens have"));
        }
        Ok(())
    }

    /// Returns the issuer, the scopes and the audience.
    pub(super) fn resource(&self) -> (&str, &[String], &str) {
        (&self.issuer.url, &self.scopes, &self.audience)
    }

    /// Returns whose token it is.
    pub(super) async fn principal(&self, token: &[u8]) -> Result<Caller, NotAuthenticated> {
        let claims = self.claims(token).await?;
        let text = |key: &str| claims.get(key).and_then(Value::as_str).map(str::to_owned);
        let name = text("sub").or_else(|| text("client_id")).ok_or(NotAuthenticated::Invalid)?;
        let scopes = [words(&claims, "scope"), words(&claims, "scp")].concat();
        if !self.scopes.iter().all(|scope| scopes.contains(scope)) {
            return Err(NotAuthenticated::MissingScopes(self.scopes.clone()));
        }
        let groups = [words(&claims, "groups"), words(&claims, "roles")].concat();
        let mut caller = Caller::principal(name);
        (caller.groups, caller.scopes) = (groups, scopes);
        Ok(caller)
    }

    async fn claims(&self, token: &[u8]) -> Result<Value, NotAuthenticated> {
        let invalid = || NotAuthenticated::Invalid;
        let token = std::str::from_utf8(token).ok().filter(|token| token.len() <= LONGEST_TOKEN).ok_or_else(invalid)?;
        let (message, signature) = token.rsplit_once('.').ok_or_else(invalid)?;
        let (header, claims) = message.split_once('.').ok_or_else(invalid)?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| invalid());
        let json = |part: &str| serde_json::from_slice::<Value>(&bytes(part)?).map_err(|_| invalid());
        let (header, claims) = (json(header)?, json(claims)?);
        let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
        let algorithm = text(&header, "alg").ok_or_else(invalid)?;
        // An ID token is for the client, and no key of it may be used here; extensions that are critical are unknown.
        let kind = text(&header, "typ").unwrap_or_default().to_ascii_lowercase();
        let is_access = ["", "jwt", "at+jwt", "application/at+jwt"].contains(&kind.as_str());
        if !is_access || header.get("crit").is_some() || !self.are_current(&claims) {
            return Err(invalid());
        }
        let (key, signature) = (text(&header, "kid"), bytes(signature)?);
        self.issuer.verify((key.as_deref(), &algorithm), message.as_bytes(), &signature).await?;
        Ok(claims)
    }

    /// Returns `true` if the claims are of the issuer, for the audience, and neither too old nor too new.
    fn are_current(&self, claims: &Value) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let time = |key: &str| claims.get(key).and_then(Value::as_f64);
        let audience = match claims.get("aud") {
            Some(Value::String(audience)) => *audience == self.audience,
            Some(Value::Array(all)) => all.iter().any(|audience| *audience == self.audience),
            _ => false,
        };
        audience
            && claims.get("iss").and_then(Value::as_str) == Some(&self.issuer.url)
            && time("exp").is_some_and(|end| now < end + LEEWAY)
            && time("nbf").is_none_or(|begin| now + LEEWAY >= begin)
    }
}

/// Returns a claim of words: an array, or a text with spaces.
fn words(claims: &Value, key: &str) -> Vec<String> {
    match claims.get(key) {
        Some(Value::String(text)) => text.split_whitespace().map(str::to_owned).collect(),
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// The keys of an issuer, which are fetched when they are needed.
#[derive(Debug)]
struct Issuer {
    url: String,
    state: Mutex<State>,
    /// Locked while the keys are fetched.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// The keys, as the issuer gives them (JWK).
    keys: Arc<[Value]>,
    fetched: Option<Instant>,
    tried: Option<Instant>,
}

impl Issuer {
    fn new(url: String) -> Self {
        Self { url, state: Mutex::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// Verifies a signature with one of the keys. Only a signature with an unknown key waits until the keys are fetched.
    async fn verify(
        self: &Arc<Self>,
        (key, algorithm): (Option<&str>, &str),
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), NotAuthenticated> {
        let fits = |own: &&Value| fits(own, key, algorithm);
        let mut keys = lock(&self.state).keys.clone();
        if !keys.iter().any(|own| fits(&own)) {
            self.fetch_again().await;
            keys = lock(&self.state).keys.clone();
        } else if lock(&self.state).is_due() {
            let own = self.clone();
            tokio::spawn(async move { own.fetch_again().await });
        }
        if has_passed(lock(&self.state).fetched, LONGEST_USE) {
            return Err(NotAuthenticated::Unavailable);
        }
        let is_verified =
            keys.iter().filter(fits).any(|own| verifies(own, algorithm, message, signature) == Some(true));
        is_verified.then_some(()).ok_or(NotAuthenticated::Invalid)
    }

    /// Fetches the keys, unless that happened a moment ago.
    async fn fetch_again(&self) {
        let _alone = self.fetching.lock().await;
        if !has_passed(lock(&self.state).tried, PAUSE) {
            return;
        }
        lock(&self.state).tried = Some(Instant::now());
        match fetch(&self.url).await {
            Ok(keys) => {
                let mut state = lock(&self.state);
                (state.keys, state.fetched) = (keys, Some(Instant::now()));
            }
            Err(error) => {
                tracing::warn!(target: "mcp_bindgen_proxy", "failed to fetch the keys of {}: {error}", self.url);
            }
        }
    }
}

impl State {
    fn is_due(&self) -> bool {
        has_passed(self.fetched, FRESH) && has_passed(self.tried, PAUSE)
    }
}

fn has_passed(since: Option<Instant>, time: Duration) -> bool {
    since.is_none_or(|since| since.elapsed() >= time)
}

/// Returns `true` if a key of a set may have signed, by its purpose, its id and its only algorithm, as far as it names them.
fn fits(key: &Value, id: Option<&str>, algorithm: &str) -> bool {
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    text("use").is_none_or(|purpose| purpose == "sig")
        && (id.is_none() || text("kid") == id)
        && text("alg").is_none_or(|own| own == algorithm)
}

/// Returns `true` if a key has signed a message. Returns `None` for keys of another kind than the algorithm has.
fn verifies(key: &Value, algorithm: &str, message: &[u8], signature: &[u8]) -> Option<bool> {
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?.trim_end_matches('=')).ok();
    let point = || Some([vec![4], bytes("x")?, bytes("y")?].concat());
    let rsa = |parameters: &RsaParameters| {
        let key = RsaPublicKeyComponents { n: bytes("n")?, e: bytes("e")? };
        Some(key.verify(parameters, message, signature).is_ok())
    };
    let curve = |parameters: &'static dyn VerificationAlgorithm, point: Option<Vec<u8>>| {
        Some(UnparsedPublicKey::new(parameters, point?).verify(message, signature).is_ok())
    };
    match (text("kty")?, text("crv"), algorithm) {
        ("RSA", _, "RS256") => rsa(&RSA_PKCS1_2048_8192_SHA256),
        ("RSA", _, "RS384") => rsa(&RSA_PKCS1_2048_8192_SHA384),
        ("RSA", _, "RS512") => rsa(&RSA_PKCS1_2048_8192_SHA512),
        ("RSA", _, "PS256") => rsa(&RSA_PSS_2048_8192_SHA256),
        ("RSA", _, "PS384") => rsa(&RSA_PSS_2048_8192_SHA384),
        ("RSA", _, "PS512") => rsa(&RSA_PSS_2048_8192_SHA512),
        ("EC", Some("P-256"), "ES256") => curve(&ECDSA_P256_SHA256_FIXED, point()),
        ("EC", Some("P-384"), "ES384") => curve(&ECDSA_P384_SHA384_FIXED, point()),
        ("OKP", Some("Ed25519"), "EdDSA" | "Ed25519") => curve(&ED25519, bytes("x")),
        _ => None,
    }
}

/// Returns `true` if a key can verify signatures of any algorithm. Other keys count as unknown.
fn is_usable(key: &Value) -> bool {
    ["RS256", "ES256", "ES384", "EdDSA"].iter().any(|algorithm| verifies(key, algorithm, &[], &[]).is_some())
}

/// Fetches the usable keys that the metadata of an issuer names.
async fn fetch(issuer: &str) -> Result<Arc<[Value]>, String> {
    let mut reason = String::new();
    for place in places(issuer) {
        let metadata = match fetch_json(&place, LONGEST_DOCUMENT, PATIENCE).await {
            Ok(metadata) => metadata,
            Err(error) => {
                reason = format!("{place}: {error}");
                continue;
            }
        };
        if metadata.get("issuer").and_then(Value::as_str) != Some(issuer) {
            return Err(format!("{place} is the metadata of another issuer"));
        }
        let keys = metadata.get("jwks_uri").and_then(Value::as_str);
        let keys = keys.ok_or_else(|| format!("{place} has no `jwks_uri`"))?;
        if !is_safe(keys) {
            return Err(format!("{keys} does not use https"));
        }
        let set = fetch_json(keys, LONGEST_DOCUMENT, PATIENCE).await.map_err(|error| format!("{keys}: {error}"))?;
        let set = set.get("keys").and_then(Value::as_array).ok_or_else(|| format!("{keys} has no `keys`"))?;
        return Ok(set.iter().filter(|key| is_usable(key)).cloned().collect());
    }
    Err(reason)
}

/// Returns the places of the metadata: RFC 8414 puts it before the path, OpenID Connect after it.
fn places(issuer: &str) -> Vec<String> {
    let issuer = issuer.trim_end_matches('/');
    let path = issuer.parse::<Uri>().map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    let origin = issuer.strip_suffix(&path).unwrap_or(issuer);
    let mut places = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{issuer}/.well-known/openid-configuration"),
    ];
    if !path.is_empty() {
        places.push(format!("{origin}/.well-known/openid-configuration{path}"));
    }
    places
}

/// Returns `true` for https, and for plain HTTP on this machine.
fn is_safe(url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else { return false };
    let is_local =
        || url.authority().and_then(|host| Host::parse(host.as_str())).is_some_and(|host| host.is_loopback());
    url.scheme_str() == Some("https") || url.scheme_str() == Some("http") && is_local()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn incomplete_and_foreign_keys_are_unusable() {
        for (key, expected) in [
            (json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" }), true),
            (json!({ "kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB" }), true),
            (json!({ "kty": "EC", "crv": "P-384", "x": "AQAB", "y": "AQAB" }), true),
            (json!({ "kty": "OKP", "crv": "Ed25519", "x": "AQAB" }), true),
            (json!({ "kty": "RSA", "n": "AQAB" }), false),
            (json!({ "kty": "EC", "crv": "P-521", "x": "AQAB", "y": "AQAB" }), false),
            (json!({ "kty": "EC", "crv": "P-256", "x": "AQAB" }), false),
            (json!({ "kty": "OKP", "crv": "X25519", "x": "AQAB" }), false),
            (json!({ "kty": "oct", "k": "AQAB" }), false),
            (json!({ "kid": "1" }), false),
        ] {
            assert_eq!(is_usable(&key), expected, "{key}");
        }
    }

    #[test]
    fn metadata_urls_follow_both_standards() {
        assert_eq!(
            places("https://a.example/realms/x"),
            [
                "https://a.example/.well-known/oauth-authorization-server/realms/x",
                "https://a.example/realms/x/.well-known/openid-configuration",
                "https://a.example/.well-known/openid-configuration/realms/x",
            ]
        );
        assert_eq!(places("https://a.example").len(), 2);
    }

    #[test]
    fn plain_http_is_accepted_only_on_loopback() {
        for (url, expected) in [
            ("https://a.example", true),
            ("http://127.0.0.1:80/x", true),
            ("http://localhost", true),
            ("http://[::1]:9", true),
            ("http://a.example", false),
            ("http://localhost.example", false),
            ("http://127.0.0.1@a.example", false),
        ] {
            assert_eq!(is_safe(url), expected, "{url}");
        }
    }
}
