//! Access tokens of an authorization server, as JWTs (RFC 9068).

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_bindgen_runtime::Caller;
use serde_json::Value;

use super::NotAuthenticated;
use super::issuer::{Issuer, is_safe};
use crate::ServeError;

/// Clocks differ by at most this, in seconds.
const LEEWAY: f64 = 60.0;
const LONGEST: usize = 16 * 1024;

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
        let missing = |scope: &&String| !scopes.contains(scope);
        if self.scopes.iter().any(|scope| missing(&scope)) {
            return Err(NotAuthenticated::MissingScopes(self.scopes.clone()));
        }
        let groups = [words(&claims, "groups"), words(&claims, "roles")].concat();
        let mut caller = Caller::principal(name);
        (caller.groups, caller.scopes) = (groups, scopes);
        Ok(caller)
    }

    async fn claims(&self, token: &[u8]) -> Result<Value, NotAuthenticated> {
        let invalid = || NotAuthenticated::Invalid;
        let token = std::str::from_utf8(token).ok().filter(|token| token.len() <= LONGEST).ok_or_else(invalid)?;
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
        let verified = self.issuer.verify((key.as_deref(), &algorithm), message.as_bytes(), &signature);
        match verified.await {
            Ok(true) => Ok(claims),
            Ok(false) => Err(invalid()),
            Err(()) => Err(NotAuthenticated::Unavailable),
        }
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
