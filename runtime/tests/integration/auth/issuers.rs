//! OAuth with authorization servers that change, or have unusual metadata.

use mcp_bindgen_runtime::OAuth;

use super::server::{Server, agree};
use super::{call, client};

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
