//! OAuth with authorization servers that change, or have unusual metadata.

use mcp_bindgen_runtime::OAuth;
use serde_json::json;

use super::server::{Server, agree};
use super::{call, client, refused};

#[tokio::test]
async fn failed_authorization_at_another_issuer_keeps_the_tokens_of_the_first() {
    let server = Server::start().await;
    let client = client(&server, &OAuth::new().on_url(agree));
    client.connect().await.expect("a connection");
    server.state().tenant = "/moved";
    server.state().refuses_user = true;
    server.state().revoke();
    let error = call(&client).await.expect_err("the user disagrees");
    assert!(error.contains("access_denied"), "{error}");
    server.state().tenant = "";
    assert_eq!(call(&client).await, Ok("done".to_owned()));
    let state = server.state();
    assert_eq!((state.authorizations.len(), state.grants_of("refresh_token")), (2, 1));
}

#[tokio::test]
async fn client_of_a_metadata_url_renews_at_a_server_that_takes_no_new_ones() {
    let server = Server::start().await;
    server.state().metadata = json!({"client_id_metadata_document_supported": true});
    let oauth = OAuth::new().client_metadata_url("https://app.example/client.json").on_url(agree);
    let client = client(&server, &oauth);
    client.connect().await.expect("a connection");
    server.state().metadata = json!({});
    server.state().revoke();
    assert_eq!(call(&client).await, Ok("done".to_owned()));
    let state = server.state();
    assert_eq!((state.registrations.len(), state.authorizations.len()), (0, 1));
    assert_eq!(state.grants_of("refresh_token"), 1);
}

#[tokio::test]
async fn unusable_token_endpoint_is_an_error_before_a_user_is_asked() {
    for (endpoint, expected) in [(json!(null), "no token endpoint"), (json!("http://auth.example/token"), "https")] {
        let server = Server::start().await;
        server.state().metadata = json!({"token_endpoint": endpoint});
        let error = refused(&server, &OAuth::new().on_url(agree)).await;
        assert!(error.contains(expected), "{error}");
        let state = server.state();
        assert!(state.registrations.is_empty() && state.authorizations.is_empty(), "{endpoint}");
    }
}
