//! Requests to token endpoints, and the grants of programs without a user.
//!
//! Dropping `ask`, `tokens` or `request` loses tokens that the server granted meanwhile, and maybe the refresh token that
//! they replace.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;

use super::client::{Client, Form};
use super::discovery::{AuthorizationServer, Found};
use super::entry::{Entry, Tokens};
use super::fetch::{Refusal, quoted, text};
use super::secret::Secret;
use super::session::Core;
use super::settings::{Grant, IdentityProvider, Source};
use super::signing::now;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// The parameters that no message shows.
const SECRET: [&str; 7] =
    ["assertion", "client_assertion", "client_secret", "code", "code_verifier", "refresh_token", "subject_token"];

impl Core {
    /// Requests new tokens with the grant that the program chose.
    pub(super) async fn ask(&self, entry: &mut Entry, found: &Found, scopes: &[String]) -> Result<Tokens, String> {
        let assertion = |jwt| vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", jwt)];
        let mut grant = match &self.settings.grant {
            Grant::User => return self.ask_user(entry, found, scopes).await,
            Grant::Client => vec![("grant_type", "client_credentials".to_owned())],
            Grant::Workload(token) => assertion(self.given("the workload's token", token, &found.server.issuer).await?),
            Grant::Enterprise(provider) => assertion(self.exchange(provider, found, scopes).await?),
        };
        grant.extend(scope(scopes));
        let clients = self.settings.clients(&found.server, None);
        let client = clients.first().ok_or("the client is not set (`OAuth::client`)")?;
        Ok(self.tokens(client, &found.server, &found.resource, scopes, grant).await?)
    }

    /// Requests tokens for a resource with a grant. The scopes count as granted if the response names none.
    pub(super) async fn tokens(
        &self,
        client: &Client,
        server: &AuthorizationServer,
        resource: &str,
        scopes: &[String],
        mut grant: Form,
    ) -> Result<Tokens, Refusal> {
        let endpoint = self.token_endpoint(server)?;
        let header = client.authenticate(&server.issuer, &mut grant)?;
        let body = self.request(endpoint.as_str(), resource, grant, header).await?;
        Ok(granted(&body, &client.id, resource, scopes)?)
    }

    /// Returns the URL to request tokens at.
    pub(super) fn token_endpoint(&self, server: &AuthorizationServer) -> Result<Url, String> {
        let endpoint = text(&server.metadata, "token_endpoint").ok_or_else(|| {
            format!("the authorization server {} has no token endpoint", quoted(&server.issuer, &self.fetch.redactor))
        })?;
        self.fetch.allowed(&endpoint, "the token endpoint")
    }

    /// Returns the identity provider's word that the user may reach the server (an ID-JAG).
    async fn exchange(&self, provider: &IdentityProvider, found: &Found, scopes: &[String]) -> Result<String, String> {
        let id_token = self.given("the user's ID token", &provider.id_token, "").await?;
        let mut grant = vec![
            ("grant_type", TOKEN_EXCHANGE.to_owned()),
            ("requested_token_type", ID_JAG.to_owned()),
            ("subject_token", id_token),
            ("subject_token_type", ID_TOKEN.to_owned()),
            ("audience", found.server.issuer.clone()),
            ("client_id", provider.client_id.clone()),
        ];
        grant.extend(scope(scopes));
        let body = self.request(&provider.token_endpoint, &found.resource, grant, None).await?;
        let is_jag = text(&body, "issued_token_type").as_deref() == Some(ID_JAG);
        let token = text(&body, "access_token").filter(|_| is_jag);
        Ok(token.ok_or("the identity provider's response has no ID-JAG")?)
    }

    /// Sends a form to a token endpoint. The redactor knows its secrets before they are sent.
    async fn request(&self, url: &str, resource: &str, form: Form, header: Option<String>) -> Result<Value, Refusal> {
        let secrets = form.iter().filter(|(name, _)| SECRET.contains(name)).map(|(_, value)| value);
        secrets.chain(&header).for_each(|secret| self.fetch.redactor.learn(secret));
        let body = Serializer::new(String::new()).extend_pairs(form).append_pair("resource", resource).finish();
        let fill = |post: reqwest::RequestBuilder| {
            let post = post.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body);
            header.into_iter().fold(post, |post, header| post.header(AUTHORIZATION, header))
        };
        self.fetch.post(url, "the token endpoint", fill).await
    }

    /// Asks the program.
    pub(super) async fn given(&self, what: &str, source: &Source, argument: &str) -> Result<String, String> {
        let given = source(argument.to_owned()).await;
        given.map_err(|why| format!("failed to get {what} from the program: {}", quoted(&why, &self.fetch.redactor)))
    }
}

/// Returns the parameter `scope`, unless no scope is requested.
pub(super) fn scope(scopes: &[String]) -> Option<(&'static str, String)> {
    (!scopes.is_empty()).then(|| ("scope", scopes.join(" ")))
}

/// Returns the tokens of a response to a request of this client.
fn granted(body: &Value, client_id: &str, resource: &str, requested: &[String]) -> Result<Tokens, String> {
    let is_bearer = text(body, "token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    let is_token = |token: &String| is_bearer && token.bytes().all(|byte| byte.is_ascii_graphic());
    let access = text(body, "access_token").filter(is_token);
    let access = access.ok_or("the authorization server's response has no access token of type `Bearer`")?;
    // Some write it as text.
    let lifetime = body.get("expires_in").and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
    let scopes = text(body, "scope").map(|scopes| scopes.split_whitespace().map(str::to_owned).collect());
    Ok(Tokens {
        access: Secret::new(access),
        refresh: text(body, "refresh_token").map(Secret::new),
        expires: lifetime.map(|seconds| now().saturating_add(seconds)),
        scopes: scopes.unwrap_or_else(|| requested.to_vec()),
        resource: resource.to_owned(),
        client_id: client_id.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value) -> Result<Tokens, String> {
        granted(&body, "me", "https://a.example/mcp", &["read".to_owned()])
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
