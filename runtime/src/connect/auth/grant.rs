//! The token endpoint.
//!
//! Dropping `answer` or `tokens` ends the request; tokens that the server granted are lost, and the refresh token
//! that they replace may be too.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::Method;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::entry::{Tokens, now};
use super::fetch::{Fetch, quoted};
use super::metadata::text;
use super::secret::Secret;
use crate::ground::redact::Redactor;

/// The client's authentication: parameters, and a header.
pub(super) type Proof = (Vec<(&'static str, String)>, Option<String>);

/// A request for tokens.
pub(super) struct TokenRequest<'a> {
    pub(super) endpoint: &'a str,
    pub(super) client_id: &'a str,
    pub(super) proof: Proof,
    pub(super) resource: &'a str,
    /// The requested scopes. They count as granted if the response names no scopes.
    pub(super) scopes: &'a [String],
    /// The grant and its parameters.
    pub(super) grant: Vec<(&'static str, String)>,
}

/// Why there are no tokens.
pub(super) enum GrantError {
    /// The server refused, and would refuse again.
    Refused { code: String, error: String },
    /// No definite refusal arrived.
    Failed(String),
}

impl From<GrantError> for String {
    fn from(error: GrantError) -> Self {
        match error {
            GrantError::Refused { error, .. } | GrantError::Failed(error) => error,
        }
    }
}

impl From<String> for GrantError {
    fn from(error: String) -> Self {
        Self::Failed(error)
    }
}

/// The parameters that no message shows.
const SECRET: [&str; 7] =
    ["assertion", "client_assertion", "client_secret", "code", "code_verifier", "refresh_token", "subject_token"];

/// Returns the whole answer to a request for tokens.
pub(super) async fn answer(fetch: &Fetch, request: &TokenRequest<'_>) -> Result<Value, GrantError> {
    let endpoint = fetch.allowed(request.endpoint, "the token endpoint")?;
    let (parameters, header) = &request.proof;
    let secrets = request.grant.iter().chain(parameters).filter(|(name, _)| SECRET.contains(name));
    secrets.for_each(|(_, value)| fetch.redactor.learn(value));
    header.iter().for_each(|header| fetch.redactor.learn(header));
    let form = Serializer::new(String::new())
        .extend_pairs(&request.grant)
        .extend_pairs(parameters)
        .append_pair("resource", request.resource)
        .finish();
    let mut post =
        fetch.request(Method::POST, &endpoint)?.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
    if let Some(header) = header {
        post = post.header(AUTHORIZATION, header);
    }
    let host = endpoint.host_str().unwrap_or_default();
    let (status, body) = fetch
        .answer(post)
        .await
        .map_err(|why| GrantError::Failed(format!("failed to reach the token endpoint at {host}: {why}")))?;
    if status.is_success() {
        return Ok(body);
    }
    let code = text(&body, "error").unwrap_or_default();
    let mut message = format!("the authorization server at {host} returned no token: HTTP {}", status.as_u16());
    for reason in [Some(code.as_str()), body.get("error_description").and_then(Value::as_str)].into_iter().flatten() {
        message.push_str(": ");
        message.push_str(&quoted(reason, &fetch.redactor));
    }
    let is_final = status.is_client_error() && !code.is_empty() && code != "temporarily_unavailable";
    Err(if is_final { GrantError::Refused { code, error: message } } else { GrantError::Failed(message) })
}

/// Tokens for a grant.
pub(super) async fn tokens(fetch: &Fetch, request: &TokenRequest<'_>) -> Result<Tokens, GrantError> {
    let body = answer(fetch, request).await?;
    Ok(read(&body, request, &fetch.redactor)?)
}

fn read(body: &Value, request: &TokenRequest<'_>, redactor: &Redactor) -> Result<Tokens, String> {
    let kind = text(body, "token_type").unwrap_or_default();
    let access = text(body, "access_token").filter(|token| token.bytes().all(|byte| byte.is_ascii_graphic()));
    let Some(access) = access else {
        return Err("the authorization server's response has no access token".to_owned());
    };
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(format!(
            "the authorization server returned a token of type `{}`; only `Bearer` is supported",
            quoted(&kind, redactor)
        ));
    }
    let lifetime = body.get("expires_in");
    // Some write it as text.
    let lifetime = lifetime.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
    let granted = text(body, "scope").map(|scopes| scopes.split_whitespace().map(str::to_owned).collect());
    Ok(Tokens {
        access: Secret::new(access),
        refresh: text(body, "refresh_token").map(Secret::new),
        expires: lifetime.map(|seconds| now().saturating_add(seconds)),
        scopes: granted.unwrap_or_else(|| request.scopes.to_vec()),
        resource: request.resource.to_owned(),
        client_id: request.client_id.to_owned(),
    })
}

/// Returns the parameter `scope`, unless no scope is requested.
pub(super) fn scope(scopes: &[String]) -> Option<(&'static str, String)> {
    (!scopes.is_empty()).then(|| ("scope", scopes.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value) -> Result<Tokens, String> {
        let requested = ["read".to_owned()];
        let request = TokenRequest {
            endpoint: "https://a.example/token",
            client_id: "me",
            proof: (Vec::new(), None),
            resource: "https://a.example/mcp",
            scopes: &requested,
            grant: Vec::new(),
        };
        super::read(&body, &request, &Redactor::default())
    }

    #[test]
    fn requested_scopes_apply_if_the_response_omits_them() {
        let tokens = read(json!({"access_token": "t", "token_type": "bearer", "expires_in": "60"})).expect("tokens");
        assert_eq!(tokens.scopes, ["read"]);
        assert!(tokens.expires.is_some_and(|expires| expires > now() + 50));
        let tokens = read(json!({"access_token": "t", "token_type": "Bearer", "scope": "a b"})).expect("tokens");
        assert_eq!((tokens.scopes.join("+"), tokens.expires, tokens.refresh), ("a+b".to_owned(), None, None));
    }

    #[test]
    fn response_without_a_usable_token_is_refused_and_redacted() {
        for body in [
            json!(null),
            json!({"token_type": "Bearer"}),
            json!({"access_token": "", "token_type": "Bearer"}),
            json!({"access_token": "sk-1\r\nX: y", "token_type": "Bearer"}),
            json!({"access_token": "sk-1", "token_type": "mac"}),
            json!({"access_token": "sk-1"}),
        ] {
            let error = read(body.clone()).expect_err("no token").to_string();
            assert!(!error.contains("sk-1"), "{error}");
        }
    }
}
