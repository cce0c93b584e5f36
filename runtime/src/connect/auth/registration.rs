//! Registers a client with an authorization server: by a known ID, a metadata URL, or a registration request.
//!
//! Dropping `client` or `register` ends the request; the server may keep an unused registration.

use http::header::CONTENT_TYPE;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{AuthMethod, Client};
use super::fetch::{Fetch, quoted};
use super::grant::Proof;
use super::metadata::{AuthorizationServer, text};
use super::secret::Secret;
use super::settings::Settings;
use super::signing;

/// Returns the client for a user's authorization, in the protocol's order: the program's own, one with a metadata
/// document, an earlier registration, a new registration.
pub(super) async fn client(
    fetch: &Fetch,
    settings: &Settings,
    server: &AuthorizationServer,
    redirect: &str,
    registered: Option<&Client>,
) -> Result<Client, String> {
    if let Some(client) = configured(settings, server) {
        return Ok(client);
    }
    if let Some(client) = by_metadata(settings).filter(|_| server.takes_metadata_urls) {
        return Ok(client);
    }
    if let Some(client) = registered.filter(|client| client.redirect.as_deref() == Some(redirect)) {
        return Ok(client.clone());
    }
    match &server.registration_endpoint {
        Some(endpoint) => register(fetch, settings, server, endpoint, redirect).await,
        None => Err(format!(
            "the authorization server {} does not register clients automatically; register the program there, and set \
             `OAuth::client`",
            quoted(&server.issuer, &fetch.redactor)
        )),
    }
}

/// Returns the client that the program names.
pub(super) fn configured(settings: &Settings, server: &AuthorizationServer) -> Option<Client> {
    let client = settings.client.clone()?;
    let method = AuthMethod::choose(server.auth_methods.as_deref(), client.secret.is_some());
    Some(Client { method, ..client })
}

/// Returns the client whose name is the URL of its metadata.
pub(super) fn by_metadata(settings: &Settings) -> Option<Client> {
    Some(Client::new(settings.metadata_url.clone()?, None))
}

/// Returns the client's authentication for `server`.
pub(super) fn proof(client: &Client, server: &AuthorizationServer) -> Result<Proof, String> {
    match &client.key {
        Some(key) => Ok((signing::proof(&client.id, key, &server.issuer)?, None)),
        None => Ok(client.proof()),
    }
}

async fn register(
    fetch: &Fetch,
    settings: &Settings,
    server: &AuthorizationServer,
    endpoint: &str,
    redirect: &str,
) -> Result<Client, String> {
    let endpoint = fetch.allowed(endpoint, "the registration endpoint")?;
    let host = endpoint.host_str().unwrap_or_default().to_owned();
    let post = fetch
        .request(Method::POST, &endpoint)?
        .header(CONTENT_TYPE, "application/json")
        .body(request(settings, server, redirect).to_string());
    let failed = |why: &str| format!("failed to register the client at {host}: {why}");
    let (status, body) = fetch.answer(post).await.map_err(|why| failed(&why))?;
    if !status.is_success() {
        let reasons = ["error", "error_description"].iter().filter_map(|key| text(&body, key));
        let reasons = reasons.map(|text| format!(": {}", quoted(&text, &fetch.redactor))).collect::<String>();
        return Err(failed(&format!("HTTP {}{reasons}", status.as_u16())));
    }
    read(&body, server, redirect).ok_or_else(|| failed("the response has no `client_id`"))
}

fn request(settings: &Settings, server: &AuthorizationServer, redirect: &str) -> Value {
    // A distributed program has no secret; a server that requires one can issue it.
    let takes = |method: AuthMethod| {
        server.auth_methods.as_ref().is_none_or(|methods| methods.iter().any(|name| name == method.as_str()))
    };
    let method = if takes(AuthMethod::None) {
        AuthMethod::None
    } else {
        AuthMethod::choose(server.auth_methods.as_deref(), true)
    };
    json!({
        "client_name": settings.name,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.as_str(),
        "application_type": if redirect.starts_with("http://127.0.0.1") { "native" } else { "web" },
    })
}

fn read(body: &Value, server: &AuthorizationServer, redirect: &str) -> Option<Client> {
    let secret = text(body, "client_secret").map(Secret::new);
    let given = body.get("token_endpoint_auth_method").and_then(|name| AuthMethod::deserialize(name).ok());
    let method = given
        .filter(|method| *method == AuthMethod::None || secret.is_some())
        .unwrap_or_else(|| AuthMethod::choose(server.auth_methods.as_deref(), secret.is_some()));
    let redirect = Some(redirect.to_owned());
    Some(Client { method, redirect, ..Client::new(text(body, "client_id")?, secret) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::redact::Redactor;

    fn server(methods: &[&str]) -> AuthorizationServer {
        let document = json!({
            "issuer": "https://a.example",
            "token_endpoint": "https://a.example/token",
            "token_endpoint_auth_methods_supported": methods,
        });
        AuthorizationServer::parse(&document, "https://a.example", &Redactor::default()).expect("metadata")
    }

    #[test]
    fn registered_auth_method_is_used() {
        let read = |methods: &[&str], body| read(&body, &server(methods), "r").expect("a client").method;
        let with_secret = json!({"client_id": "x", "client_secret": "s"});
        assert_eq!(read(&["none"], with_secret.clone()), AuthMethod::None);
        assert_eq!(read(&["client_secret_post"], with_secret), AuthMethod::Post);
        let chosen =
            json!({"client_id": "x", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post"});
        assert_eq!(read(&["client_secret_basic"], chosen), AuthMethod::Post);
        let empty = json!({"client_id": "x", "client_secret": "", "token_endpoint_auth_method": "client_secret_basic"});
        assert_eq!(read(&["client_secret_basic"], empty), AuthMethod::None);
        assert!(super::read(&json!({"client_secret": "s"}), &server(&[]), "r").is_none());
    }

    #[test]
    fn registration_request_states_the_application_type() {
        let settings = Settings::default();
        let native = request(&settings, &server(&["client_secret_basic"]), "http://127.0.0.1:9/callback");
        assert_eq!(native["application_type"], "native");
        assert_eq!(native["token_endpoint_auth_method"], "client_secret_basic");
        assert_eq!(native["grant_types"], json!(["authorization_code", "refresh_token"]));
        let web = request(&settings, &server(&["none", "client_secret_basic"]), "https://app.example/callback");
        assert_eq!((&web["application_type"], &web["token_endpoint_auth_method"]), (&json!("web"), &json!("none")));
    }
}
