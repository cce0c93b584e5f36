//! Grants of an enterprise's identity provider, and grants that the authorization server refuses.

use mcp_bindgen_runtime::{IdentityProvider, OAuth};

use super::server::{Server, agree, value};
use super::{call, client, refused};

#[tokio::test]
async fn enterprise_exchanges_an_id_token_for_access() {
    let server = Server::start().await;
    let oauth = || {
        let id_token = async || Ok::<_, String>("id-token-1".to_owned());
        let provider = IdentityProvider::new(format!("{}/idp", server.base), "at-the-provider", id_token);
        OAuth::enterprise(provider, "me", "client-secret-2").issuer(&server.base)
    };
    assert_eq!(call(&client(&server, &oauth())).await, Ok("done".to_owned()));
    {
        let state = server.state();
        assert_eq!((state.exchanges.len(), state.grants.len(), state.authorizations.len()), (1, 1, 0));
        let url = server.url();
        for (name, expected) in [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", "id-token-1"),
            ("client_id", "at-the-provider"),
            ("audience", &server.base),
            ("resource", &url),
        ] {
            assert_eq!(value(&state.exchanges[0], name), expected, "{name}");
        }
        let form = &state.grants[0].1;
        assert_eq!(value(form, "grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer");
        assert_eq!(value(form, "assertion"), "id-jag-1");
    }
    server.state().provides = Some("urn:ietf:params:oauth:token-type:access_token");
    let error = refused(&server, &oauth()).await;
    assert!(error.contains("the identity provider's response has no ID-JAG"), "{error}");
    assert_eq!(server.state().grants.len(), 1);
}

#[tokio::test]
async fn client_that_the_server_forgot_is_registered_again() {
    for (code, registrations) in [("invalid_client", 2), ("unauthorized_client", 2), ("invalid_grant", 1)] {
        let server = Server::start().await;
        let client = client(&server, &OAuth::new().on_url(agree));
        client.connect().await.expect("a connection");
        server.state().revoke();
        server.state().refresh_refusal = Some(code);
        assert_eq!(call(&client).await, Ok("done".to_owned()), "{code}");
        let state = server.state();
        assert_eq!((state.registrations.len(), state.authorizations.len()), (registrations, 2), "{code}");
    }
}
