//! OAuth against an authorization server in this process.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod grants;
mod issuers;
mod server;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{
    Client, ClientOptions, ConnectErrorKind as Kind, FileTokenStore, IdentityProvider, MemoryTokenStore, OAuth,
    StoredTokens, TokenStore, TokenStoreError,
};
use serde_json::{Map, json};

use self::server::{Server, agree, redirect_of, value};

fn client(server: &Server, oauth: &OAuth) -> Client {
    let options = ClientOptions::new().authorization(oauth.clone()).protocol_version("2025-11-25");
    Client::with_options(ServerConfig::http("guarded", server.url()), options)
}

async fn call(client: &Client) -> Result<String, String> {
    client.call("work", Map::new()).await.map(|result| result.text()).map_err(|error| error.to_string())
}

async fn refused(server: &Server, oauth: &OAuth) -> String {
    let error = client(server, oauth).connect().await.expect_err("no connection");
    assert_eq!(error.kind, Kind::Auth, "{error}");
    error.to_string()
}

#[tokio::test]
async fn user_authorizes_once_for_all_connections() {
    let server = Server::start().await;
    let oauth = OAuth::new().client_name("Tester").on_url(agree);
    let first = client(&server, &oauth);
    assert_eq!(call(&first).await, Ok("done".to_owned()));
    first.close().await;
    let (second, third) = (client(&server, &oauth), client(&server, &oauth));
    let (a, b) = tokio::join!(call(&second), call(&third));
    assert!(a.is_ok() && b.is_ok(), "{a:?} {b:?}");
    let state = server.state();
    assert_eq!((state.registrations.len(), state.authorizations.len(), state.grants.len()), (1, 1, 1));
    assert_eq!(state.registrations[0]["client_name"], "Tester");
    let (asked, form) = (&state.authorizations[0], &state.grants[0].1);
    assert_eq!((value(asked, "scope"), value(asked, "code_challenge_method")), ("read", "S256"));
    for pairs in [asked, form] {
        assert_eq!(value(pairs, "resource"), server.url());
    }
    assert_eq!(value(asked, "redirect_uri"), value(form, "redirect_uri"));
}

#[tokio::test]
async fn concurrent_requests_share_one_authorization_and_one_refresh() {
    let server = Server::start().await;
    // The first token ends at once.
    server.state().lifetimes = vec![1];
    let oauth = OAuth::new().on_url(agree);
    let clients: Vec<Client> = (0..8).map(|_| client(&server, &oauth)).collect();
    let calls: Vec<_> = clients
        .iter()
        .map(|client| {
            tokio::spawn({
                let client = client.clone();
                async move { call(&client).await }
            })
        })
        .collect();
    for outcome in calls {
        assert_eq!(outcome.await.expect("no panic"), Ok("done".to_owned()));
    }
    let state = server.state();
    assert_eq!(state.authorizations.len(), 1);
    assert_eq!(state.grants_of("refresh_token"), 1, "a refresh token is good for one use");
    assert_eq!(value(&state.grants[1].1, "resource"), server.url());
}

#[tokio::test]
async fn processes_sharing_a_token_store_refresh_once() {
    let server = Server::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    // As another process has it: nothing is shared but the folder.
    let process = || OAuth::new().store(FileTokenStore::new(folder.path().join("tokens"))).on_url(agree);
    client(&server, &process()).connect().await.expect("a connection");
    server.state().revoke();
    let others: Vec<Client> = (0..4).map(|_| client(&server, &process())).collect();
    let (a, b, c, d) = tokio::join!(call(&others[0]), call(&others[1]), call(&others[2]), call(&others[3]));
    for outcome in [a, b, c, d] {
        assert_eq!(outcome, Ok("done".to_owned()));
    }
    let state = server.state();
    assert_eq!((state.registrations.len(), state.authorizations.len()), (1, 1), "what is kept is used");
    assert_eq!(state.grants_of("refresh_token"), 1, "a refresh token is good for one use");
}

#[tokio::test]
async fn short_lived_tokens_are_refreshed_and_used() {
    let server = Server::start().await;
    server.state().lifetimes = vec![20; 9];
    let client = client(&server, &OAuth::new().on_url(agree));
    for _ in 0..2 {
        assert_eq!(call(&client).await, Ok("done".to_owned()));
    }
    let state = server.state();
    assert!(state.authorizations.len() == 1 && state.grants_of("refresh_token") >= 2, "{}", state.grants.len());
}

#[tokio::test]
async fn revoked_token_is_refreshed_and_the_call_is_retried() {
    let server = Server::start().await;
    let client = client(&server, &OAuth::new().on_url(agree));
    client.connect().await.expect("a connection");
    server.state().revoke();
    assert_eq!(call(&client).await, Ok("done".to_owned()));
    let calls = server.state().calls;
    assert_eq!((server.state().grants_of("refresh_token"), calls), (1, 1));
    // The user authorizes again if the server refuses the refresh token.
    server.state().revoke();
    server.state().refuses_refresh = true;
    assert_eq!(call(&client).await, Ok("done".to_owned()));
    let state = server.state();
    assert_eq!((state.authorizations.len(), state.registrations.len(), state.calls), (2, 1, 2));
    let redirect = |at: usize| value(&state.authorizations[at], "redirect_uri");
    assert_eq!(redirect(0), redirect(1), "the client was registered for this redirect");
}

#[tokio::test]
async fn insufficient_scope_triggers_a_bounded_number_of_step_ups() {
    let server = Server::start().await;
    server.state().scope_of_calls = Some("write".to_owned());
    let client = client(&server, &OAuth::new().on_url(agree));
    assert_eq!(call(&client).await, Ok("done".to_owned()));
    assert_eq!(value(&server.state().authorizations[1], "scope"), "read write");
    server.state().wants_ever_more = true;
    let mut errors = Vec::new();
    for _ in 0..4 {
        errors.push(call(&client).await.expect_err("never enough"));
    }
    assert!(errors[3].contains("3 times") && errors[3].contains("OAuth::scopes"), "{errors:?}");
    assert_eq!(server.state().authorizations.len(), 4, "one for the connection, and three for more");
}

#[tokio::test]
async fn forgotten_tokens_are_requested_again() {
    let server = Server::start().await;
    let oauth = OAuth::new().on_url(agree);
    let config = ServerConfig::http("guarded", server.url());
    assert!(!oauth.forget(&config).await.expect("the store can be changed"));
    assert_eq!(call(&client(&server, &oauth)).await, Ok("done".to_owned()));
    let stored = oauth.stored(&config).await.expect("the store can be read").expect("an authorization");
    assert_eq!(stored.scopes, ["read"]);
    assert!(oauth.forget(&config).await.expect("the store can be changed"));
    assert_eq!(oauth.stored(&config).await.expect("the store can be read"), None);
    assert_eq!(call(&client(&server, &oauth)).await, Ok("done".to_owned()));
    assert_eq!(server.state().authorizations.len(), 2);
}

#[tokio::test]
async fn missing_authorization_handler_is_an_error_with_alternatives() {
    let server = Server::start().await;
    let error = refused(&server, &OAuth::new()).await;
    for way in ["OAuth::on_url", "OAuth::open_browser", "OAuth::store", "OAuth::client_credentials"] {
        assert!(error.contains(way), "{error}");
    }
    assert!(server.state().registrations.is_empty());
    let without = Client::new(ServerConfig::http("guarded", server.url()));
    let error = without.connect().await.expect_err("no authorization");
    assert_eq!(error.kind, Kind::Auth);
    assert!(error.to_string().contains("ClientOptions::authorization"), "{error}");
}

#[tokio::test]
async fn denied_or_timed_out_authorization_is_an_error() {
    let server = Server::start().await;
    server.state().refuses_user = true;
    let error = refused(&server, &OAuth::new().on_url(agree)).await;
    assert!(error.contains("access_denied"), "{error}");
    let error = refused(&server, &OAuth::new().on_url(|_| {}).patience(Duration::from_millis(50))).await;
    assert!(error.contains("was not authorized") && error.contains("50ms"), "{error}");
    assert!(server.state().grants.is_empty());
}

#[tokio::test]
async fn authorization_may_outlast_the_connect_timeout() {
    let server = Server::start().await;
    let shown = Arc::new(Mutex::new(Vec::new()));
    let urls = shown.clone();
    let oauth = OAuth::new().on_url(move |url| urls.lock().expect("a list").push(url.to_owned()));
    let options = || ClientOptions::new().authorization(oauth.clone()).protocol_version("2025-11-25");
    let config = || ServerConfig::http("guarded", server.url());
    let hasty = Client::with_options(config(), options().connect_timeout(Duration::from_millis(1500)));
    let error = hasty.connect().await.expect_err("the user is slow");
    assert_eq!(error.kind, Kind::Auth, "{error}");
    assert!(error.message.contains("the authorization continues") && error.message.contains("127.0.0.1"), "{error}");
    let patient = Client::with_options(config(), options());
    let connecting = tokio::spawn(async move { patient.connect().await });
    let url = shown.lock().expect("a list").first().cloned().expect("a URL");
    agree(&url);
    connecting.await.expect("no panic").expect("a connection");
    assert_eq!((shown.lock().expect("a list").len(), server.state().grants.len()), (1, 1));
}

#[tokio::test]
async fn client_sends_no_requests_after_metadata_of_another_issuer() {
    let server = Server::start().await;
    server.state().names_issuer = Some("https://auth.example");
    let error = refused(&server, &OAuth::new().on_url(agree)).await;
    assert!(error.contains("another issuer") && error.contains("https://auth.example"), "{error}");
    server.state().names_issuer = None;
    let pinned = OAuth::client_credentials("me", "client-secret-2").issuer("https://auth.example");
    let error = refused(&server, &pinned).await;
    assert!(error.contains("OAuth::issuer") && !error.contains("client-secret-2"), "{error}");
    let state = server.state();
    assert!(state.registrations.is_empty() && state.authorizations.is_empty() && state.grants.is_empty());
}

#[tokio::test]
async fn new_authorization_server_receives_no_tokens_of_the_previous_one() {
    let server = Server::start().await;
    let client = client(&server, &OAuth::new().on_url(agree));
    client.connect().await.expect("a connection");
    server.state().tenant = "/moved";
    server.state().revoke();
    assert_eq!(call(&client).await, Ok("done".to_owned()));
    let state = server.state();
    assert_eq!(state.registrations.len(), 2);
    let moved: Vec<_> = state.grants.iter().filter(|(tenant, _)| tenant == "/moved").collect();
    assert_eq!(moved.len(), 1, "no refresh token of the first is sent to the second");
    assert_eq!(value(&moved[0].1, "grant_type"), "authorization_code");
    assert_eq!(value(&state.authorizations[1], "client_id"), "client-moved-2");
}

#[tokio::test]
async fn errors_and_debug_output_hide_tokens() {
    let server = Server::start().await;
    let oauth = OAuth::new().on_url(agree);
    let client = client(&server, &oauth);
    // The message is cut after 300 characters in the one error, after 2,000 in the other.
    for (tool, after) in [("work", 0), ("explain", 0), ("work", 265), ("explain", 1980)] {
        server.state().calls_echo_after = Some(after);
        let error = client.call(tool, Map::new()).await.expect_err("the server says no");
        let shown = format!("{error} {error:?} {client:?} {oauth:?}");
        assert!(shown.contains("[redact"), "{shown}");
        for secret in server.state().secrets().iter().map(String::as_str).chain(["access-token"]) {
            assert!(!shown.contains(&secret[..8]), "{secret} in {shown}");
        }
    }
}

#[tokio::test]
async fn authorization_server_cannot_repeat_a_secret_in_an_error() {
    let server = Server::start().await;
    // An example of RFC 8410.
    let key = format!(
        "-----BEGIN {0}-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END {0}-----\n",
        "PRIVATE KEY"
    );
    let ways = [
        OAuth::new().confidential_client("me", "client-secret-2").on_url(agree),
        OAuth::client_credentials("me", "client-secret-2"),
        OAuth::client_credentials_with_key("me", key),
        OAuth::workload("me", async |_| Ok::<_, String>("workload-jwt-1".to_owned())),
        // A registered client, with a secret.
        OAuth::new().on_url(agree),
    ];
    let basic = "bWU6Y2xpZW50LXNlY3JldC0y";
    for (way, after) in ways.iter().flat_map(|way| [0, 30, 170, 185, 192].map(|after| (way, after))) {
        server.state().grants_echo_after = Some(after);
        let error = refused(&server, &way.clone().issuer(&server.base)).await;
        assert!(error.contains("invalid_client"), "{error}");
        for secret in server.state().secrets().iter().map(String::as_str).chain([basic, "client-secret-2"]) {
            assert!(!error.contains(&secret[..8]), "{secret} in {error}");
        }
    }
}

#[tokio::test]
async fn secret_without_an_issuer_is_refused_before_any_request() {
    let server = Server::start().await;
    let id_token = async || Ok::<_, String>("id-token-1".to_owned());
    let provider = IdentityProvider::new("https://idp.example/token", "me", id_token);
    for oauth in [
        OAuth::client_credentials("me", "client-secret-2"),
        OAuth::new().confidential_client("me", "client-secret-2").on_url(agree),
        OAuth::workload("me", async |_| Ok::<_, String>("workload-jwt-1".to_owned())),
        OAuth::enterprise(provider, "me", "client-secret-2"),
    ] {
        let error = client(&server, &oauth).connect().await.expect_err("no issuer");
        assert_eq!(error.kind, Kind::Config, "{error}");
        assert!(error.message.contains("`OAuth::issuer`") && !error.message.contains("client-secret"), "{error}");
    }
    assert_eq!(server.state().requests, 0);
}

#[tokio::test]
async fn metadata_without_the_expected_resource_is_refused() {
    let server = Server::start().await;
    let other = format!("{}/another", server.base);
    // A long text hides no warning.
    let long = format!("{other}/{}", "x".repeat(2_100));
    for (resource, expected) in [
        (json!(null), "`resource`"),
        (json!(""), "`resource`"),
        (json!(other), "/another"),
        (json!(long), "it may be an attack, and is not used"),
    ] {
        server.state().resource = Some(resource);
        let error = refused(&server, &OAuth::new().on_url(agree)).await;
        assert!(error.contains(expected), "{error}");
    }
    let state = server.state();
    assert!(state.registrations.is_empty() && state.authorizations.is_empty());
}

#[tokio::test]
async fn metadata_falls_back_to_the_next_url_after_an_error_or_redirect() {
    for status in [302, 500, 503] {
        let server = Server::start().await;
        let first = ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"];
        server.state().broken = first.map(|path| (path, status)).to_vec();
        let oauth = OAuth::new().on_url(agree);
        assert_eq!(call(&client(&server, &oauth)).await, Ok("done".to_owned()), "{status}");
        // A server whose metadata cannot be read is not taken for one that has none.
        server.state().broken.push(("/.well-known/oauth-protected-resource", status));
        let error = refused(&server, &OAuth::new().on_url(agree)).await;
        let reason = if status == 302 { "redirects".to_owned() } else { format!("HTTP {status}") };
        assert!(error.contains(first[0]) && error.contains(&reason), "{error}");
    }
}

#[tokio::test]
async fn failed_refresh_does_not_fail_calls_while_the_token_is_valid() {
    for status in [503, 0] {
        let server = Server::start().await;
        server.state().lifetimes = vec![20; 9];
        let client = client(&server, &OAuth::new().on_url(agree));
        client.connect().await.expect("a connection");
        server.state().fails_refresh = Some(status);
        let outcome = tokio::time::timeout(Duration::from_secs(5), call(&client)).await;
        assert_eq!(outcome.expect("no call waits until a renewal ends"), Ok("done".to_owned()), "{status}");
        assert_eq!(server.state().authorizations.len(), 1);
    }
}

#[tokio::test]
async fn failed_refresh_of_an_expired_token_is_an_error_without_another_authorization() {
    let server = Server::start().await;
    server.state().lifetimes = vec![3];
    server.state().fails_refresh = Some(503);
    let client = client(&server, &OAuth::new().on_url(agree));
    client.connect().await.expect("a connection");
    tokio::time::sleep(Duration::from_millis(3100)).await;
    let error = call(&client).await.expect_err("no token");
    assert!(error.contains("the token endpoint") && error.contains("HTTP 503"), "{error}");
    assert_eq!(server.state().anonymous, 1, "only the first request is sent without a token");
    server.state().fails_refresh = None;
    assert_eq!(call(&client).await, Ok("done".to_owned()));
    assert_eq!(server.state().authorizations.len(), 1);
}

#[tokio::test]
async fn refused_refresh_retains_a_valid_token() {
    let server = Server::start().await;
    server.state().lifetimes = vec![20];
    server.state().refuses_refresh = true;
    let client = client(&server, &OAuth::new().on_url(agree));
    for _ in 0..3 {
        assert_eq!(call(&client).await, Ok("done".to_owned()));
    }
    let state = server.state();
    assert_eq!((state.authorizations.len(), state.grants_of("refresh_token")), (1, 1));
}

#[tokio::test]
async fn accounts_do_not_share_stored_tokens() {
    let server = Server::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..2 {
        for oauth in [
            OAuth::client_credentials("me", "client-secret-2"),
            OAuth::client_credentials("you", "client-secret-3"),
            OAuth::client_credentials("me", "client-secret-4"),
            OAuth::new().client("me").on_url(agree),
        ] {
            let oauth = oauth.issuer(&server.base).store(FileTokenStore::new(folder.path().join("tokens")));
            assert_eq!(call(&client(&server, &oauth)).await, Ok("done".to_owned()));
        }
    }
    assert_eq!(server.state().grants.len(), 4, "each has its own, and keeps them");
}

#[tokio::test]
async fn urls_with_different_queries_do_not_share_stored_tokens() {
    let server = Server::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    for query in ["", "?tenant=1", "?tenant=2"].repeat(2) {
        let oauth = OAuth::new().store(FileTokenStore::new(folder.path().join("tokens"))).on_url(agree);
        let options = ClientOptions::new().authorization(oauth).protocol_version("2025-11-25");
        let client = Client::with_options(ServerConfig::http("guarded", server.url() + query), options);
        assert_eq!(call(&client).await, Ok("done".to_owned()));
    }
    assert_eq!(server.state().grants.len(), 3, "each has its own, and keeps them");
}

#[tokio::test]
async fn client_credentials_require_no_user() {
    let server = Server::start().await;
    let oauth = OAuth::client_credentials("me", "client-secret-2").issuer(&server.base).scopes(["work"]);
    let client = client(&server, &oauth);
    assert_eq!(call(&client).await, Ok("done".to_owned()));
    server.state().revoke();
    server.state().refuses_refresh = true;
    assert_eq!(call(&client).await, Ok("done".to_owned()));
    let state = server.state();
    assert_eq!((state.grants_of("client_credentials"), state.authorizations.len()), (2, 0));
    assert_eq!(value(&state.grants[0].1, "scope"), "work");
}

#[tokio::test]
async fn custom_redirect_handler_is_used_and_its_state_is_checked() {
    let server = Server::start().await;
    let oauth = OAuth::new()
        .client("web-app")
        .on_redirect("https://app.example/callback", async |url: String| Ok::<_, String>(redirect_of(&url).await));
    assert_eq!(call(&client(&server, &oauth)).await, Ok("done".to_owned()));
    assert_eq!(value(&server.state().grants[0].1, "redirect_uri"), "https://app.example/callback");
    let forged = OAuth::new().client("web-app").on_redirect("https://app.example/callback", async |_| {
        Ok::<_, String>("https://app.example/callback?code=the-code&state=guessed".to_owned())
    });
    assert!(refused(&server, &forged).await.contains("`state`"));
    let failing = OAuth::new()
        .client("web-app")
        .on_redirect("https://app.example/callback", async |_| Err::<String, _>("nobody pasted anything"));
    assert!(refused(&server, &failing).await.contains("nobody pasted anything"));
}

#[tokio::test]
async fn oauth_is_refused_for_stdio_plain_http_or_a_configured_header() {
    let options = || ClientOptions::new().authorization(OAuth::new().on_url(agree));
    let child = ServerConfig::stdio("child", "no-such-program");
    let key = ServerConfig::http("remote", "https://mcp.example/mcp").header("authorization", "Bearer sk-very-secret");
    let plain = ServerConfig::http("remote", "http://mcp.example/mcp");
    for (config, expected) in [(child, "`url`"), (key, "headers.Authorization"), (plain, "https")] {
        let error = Client::with_options(config, options()).connect().await.expect_err(expected);
        assert_eq!(error.kind, Kind::Config, "{error}");
        assert!(error.message.contains(expected) && !error.message.contains("sk-very"), "{error}");
    }
}

/// A store that breaks after a while.
struct Breaking {
    inside: MemoryTokenStore,
    saves: AtomicUsize,
}

impl TokenStore for Breaking {
    fn load(&self, key: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        self.inside.load(key)
    }

    fn save(&self, key: &str, tokens: &StoredTokens) -> Result<(), TokenStoreError> {
        assert!(!key.contains('?'), "a key holds no secret: {key}");
        match self.saves.fetch_add(1, Ordering::Relaxed) {
            0 => Err(TokenStoreError::new("the disk is full")),
            _ => self.inside.save(key, tokens),
        }
    }

    fn remove(&self, key: &str) -> Result<(), TokenStoreError> {
        self.inside.remove(key)
    }
}

#[tokio::test]
async fn store_error_is_reported_and_authorization_is_not_repeated() {
    let server = Server::start().await;
    let store = Breaking { inside: MemoryTokenStore::new(), saves: AtomicUsize::new(0) };
    let oauth = OAuth::new().store(store).on_url(agree);
    let error = refused(&server, &oauth).await;
    assert!(error.contains("the disk is full"), "{error}");
    assert_eq!(call(&client(&server, &oauth)).await, Ok("done".to_owned()));
    assert_eq!(server.state().authorizations.len(), 1);
}
