//! The stored state of a server: the OAuth client, with its authentication and its registration at an authorization
//! server, and the tokens that were granted.
//!
//! Dropping `register` ends the request; the server may keep an unused registration.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use super::discovery::AuthorizationServer;
use super::fetch::{Fetch, quoted, text};
use super::secret::{Secret, assertion, now};
use super::store::StoredTokens;

/// A token that expires this soon may expire before the server reads it.
const LEEWAY: Duration = Duration::from_secs(30);
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The stored state of one server, all from one issuer. Nothing that one issuer gave is ever shown to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) issuer: String,
    /// Registered by this library. A client that the program sets is never stored.
    pub(super) client: Option<Client>,
    pub(super) tokens: Option<Tokens>,
}

/// An access token, with its refresh token, its expiry and its scopes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// Seconds since 1970.
    pub(super) expires: Option<u64>,
    pub(super) scopes: Vec<String>,
    pub(super) resource: String,
    /// The client that they were given to.
    pub(super) client_id: String,
}

/// The stored authorization of a server, without its tokens: [`OAuth::stored`](crate::OAuth::stored).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredAuthorization {
    /// The authorization server that granted it.
    pub issuer: String,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// The expiry of the access token, if known.
    pub expires: Option<SystemTime>,
    /// Renewing needs no user.
    pub is_renewable: bool,
}

impl Tokens {
    /// Returns `true` if a request can be sent with them.
    pub(super) fn is_usable(&self) -> bool {
        self.expires.is_none_or(|expires| expires > now())
    }

    /// Returns `true` if they need not be renewed yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.expires.is_none_or(|expires| expires > now().saturating_add(LEEWAY.as_secs()))
    }
}

impl Entry {
    /// Parses the stored state. An unreadable state counts as empty, which only costs another authorization.
    pub(super) fn parse(stored: &StoredTokens) -> Self {
        serde_json::from_str(stored.expose()).unwrap_or_default()
    }

    pub(super) fn print(&self) -> StoredTokens {
        StoredTokens::new(serde_json::to_string(self).unwrap_or_default())
    }

    /// Returns the authorization without the tokens themselves.
    pub(super) fn authorization(self) -> Option<StoredAuthorization> {
        let tokens = self.tokens?;
        Some(StoredAuthorization {
            issuer: self.issuer,
            scopes: tokens.scopes,
            expires: tokens.expires.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds))),
            is_renewable: tokens.refresh.is_some(),
        })
    }
}

/// The parameters of a request to a token endpoint.
pub(super) type Form = Vec<(&'static str, String)>;

/// The authentication of a client at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AuthMethod {
    /// Without authentication: the code and its verifier identify the client.
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

impl AuthMethod {
    /// Chooses the best supported method (RFC 8414: `client_secret_basic` if the server lists none).
    pub(super) fn choose(server: &AuthorizationServer, has_secret: bool) -> Self {
        if !has_secret {
            return Self::None;
        }
        let supported = Self::supported(server).unwrap_or_default();
        let best = [Self::ClientSecretBasic, Self::ClientSecretPost, Self::None]
            .into_iter()
            .find(|method| supported.contains(method));
        best.unwrap_or(Self::ClientSecretBasic)
    }

    fn supported(server: &AuthorizationServer) -> Option<Vec<Self>> {
        let listed = server.metadata.get("token_endpoint_auth_methods_supported")?.as_array()?;
        Some(listed.iter().filter_map(|name| Self::deserialize(name).ok()).collect())
    }
}

/// A client that an authorization server knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    /// PKCS #8 in PEM, which proves who the client is in place of a secret.
    #[serde(skip)]
    pub(super) key: Option<Secret>,
    pub(super) method: AuthMethod,
    /// The registered redirect URL.
    pub(super) redirect: Option<String>,
}

impl Client {
    /// Creates a client that is not registered for a redirect URL.
    pub(super) fn new(id: impl Into<String>, secret: Option<Secret>) -> Self {
        Self { id: id.into(), secret, key: None, method: AuthMethod::None, redirect: None }
    }

    /// Adds the proof of who the client is to a form for `issuer`, or returns it as a header.
    pub(super) fn authenticate(&self, issuer: &str, form: &mut Form) -> Result<Option<String>, String> {
        let secret = self.secret.as_ref().map(Secret::expose).unwrap_or_default();
        match (&self.key, self.method) {
            (Some(key), _) => form.extend([
                ("client_assertion_type", JWT_BEARER.to_owned()),
                ("client_assertion", assertion(&self.id, key, issuer)?),
            ]),
            (None, AuthMethod::None) => {}
            (None, AuthMethod::ClientSecretPost) => form.push(("client_secret", secret.to_owned())),
            (None, AuthMethod::ClientSecretBasic) => {
                // Both are encoded as in a form before they are joined (RFC 6749, 2.3.1).
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encoded(&self.id), encoded(secret));
                return Ok(Some(format!("Basic {}", BASE64_STANDARD.encode(pair))));
            }
        }
        form.push(("client_id", self.id.clone()));
        Ok(None)
    }
}

/// Registers a client with this name for a redirect URL.
pub(super) async fn register(
    fetch: &Fetch,
    server: &AuthorizationServer,
    name: &str,
    redirect: &str,
) -> Result<Client, String> {
    let endpoint = text(&server.metadata, "registration_endpoint").ok_or_else(|| {
        format!(
            "the authorization server {} does not register clients automatically; register the program there, and set \
             `OAuth::client`",
            quoted(&server.issuer, &fetch.redactor)
        )
    })?;
    let request = request(server, name, redirect).to_string();
    let body = fetch.post(&endpoint, "the registration endpoint", "application/json", request, None).await?;
    // The redactor otherwise learns it only from a later request, and in its encoded form.
    text(&body, "client_secret").iter().for_each(|secret| fetch.redactor.learn(secret));
    Ok(read(&body, server, redirect).ok_or("the authorization server registered the client without a `client_id`")?)
}

fn request(server: &AuthorizationServer, name: &str, redirect: &str) -> Value {
    // A distributed program has no secret; a server that requires one can issue it.
    let needs_secret = AuthMethod::supported(server).is_some_and(|methods| !methods.contains(&AuthMethod::None));
    json!({
        "client_name": name,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": AuthMethod::choose(server, needs_secret),
        "application_type": if redirect.starts_with("http://127.0.0.1") { "native" } else { "web" },
    })
}

fn read(body: &Value, server: &AuthorizationServer, redirect: &str) -> Option<Client> {
    let secret = text(body, "client_secret").map(Secret::new);
    let given = body.get("token_endpoint_auth_method").and_then(|name| AuthMethod::deserialize(name).ok());
    let method = given
        .filter(|method| *method == AuthMethod::None || secret.is_some())
        .unwrap_or_else(|| AuthMethod::choose(server, secret.is_some()));
    let redirect = Some(redirect.to_owned());
    Some(Client { method, redirect, ..Client::new(text(body, "client_id")?, secret) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(expires: Option<u64>) -> Tokens {
        Tokens {
            access: Secret::new("access-1"),
            refresh: Some(Secret::new("refresh-1")),
            expires,
            scopes: vec!["read".to_owned()],
            resource: "https://a.example/mcp".to_owned(),
            client_id: "me".to_owned(),
        }
    }

    #[test]
    fn stored_entry_round_trips_and_debug_output_hides_secrets() {
        let entry = Entry {
            issuer: "https://auth.example".to_owned(),
            client: Some(Client {
                method: AuthMethod::ClientSecretBasic,
                redirect: Some("http://127.0.0.1:1/callback".to_owned()),
                ..Client::new("me", Some(Secret::new("hunter22")))
            }),
            tokens: Some(tokens(Some(7))),
        };
        let kept = entry.print();
        assert_eq!(Entry::parse(&kept), entry);
        let debug = format!("{entry:?} {kept:?}");
        for secret in ["access-1", "refresh-1", "hunter22"] {
            assert!(kept.expose().contains(secret) && !debug.contains(secret), "{debug}");
        }
    }

    #[test]
    fn unreadable_entry_loads_as_empty() {
        for text in [
            "",
            "{",
            "[]",
            r#"{"format": 1, "current": "i", "issuers": {}}"#,
            r#"{"issuer": 5}"#,
            r#"{"issuer": "i", "tokens": {"access": ""}}"#,
            r#"{"issuer": "i", "client": {"id": "me", "method": "of a later version"}}"#,
        ] {
            assert_eq!(Entry::parse(&StoredTokens::new(text)), Entry::default(), "{text}");
        }
    }

    #[test]
    fn token_is_stale_before_it_expires() {
        assert!(tokens(None).is_fresh());
        assert!(tokens(Some(now() + 60)).is_fresh());
        assert!(!tokens(Some(now() + LEEWAY.as_secs())).is_fresh());
        assert!(!tokens(Some(now() + 10)).is_fresh() && tokens(Some(now() + 10)).is_usable());
        assert!(!tokens(Some(0)).is_fresh() && !tokens(Some(0)).is_usable());
        assert!(!tokens(Some(now())).is_usable(), "it ends with the beginning of this second");
    }

    fn server(metadata: Value) -> AuthorizationServer {
        AuthorizationServer { issuer: "https://a.example".to_owned(), metadata }
    }

    fn with_methods(methods: &[&str]) -> AuthorizationServer {
        server(json!({ "token_endpoint_auth_methods_supported": methods }))
    }

    #[test]
    fn client_authenticates_with_the_selected_method() {
        let authenticate = |method| {
            let client = Client { method, ..Client::new("a:b", Some(Secret::new("p w/"))) };
            let mut form = Form::new();
            let header = client.authenticate("https://a.example", &mut form).expect("a proof");
            (form, header)
        };
        let id = ("client_id", "a:b".to_owned());
        assert_eq!(authenticate(AuthMethod::ClientSecretBasic), (vec![], Some("Basic YSUzQWI6cCt3JTJG".to_owned())));
        let secret = ("client_secret", "p w/".to_owned());
        assert_eq!(authenticate(AuthMethod::ClientSecretPost), (vec![secret, id.clone()], None));
        assert_eq!(authenticate(AuthMethod::None), (vec![id], None));
    }

    #[test]
    fn auth_method_is_one_the_server_supports() {
        let choose = |supported: &[&str], has_secret| AuthMethod::choose(&with_methods(supported), has_secret);
        assert_eq!(choose(&["none", "client_secret_post"], true), AuthMethod::ClientSecretPost);
        assert_eq!(choose(&["client_secret_post", "client_secret_basic"], true), AuthMethod::ClientSecretBasic);
        assert_eq!(choose(&["none"], true), AuthMethod::None);
        assert_eq!(choose(&["private_key_jwt"], true), AuthMethod::ClientSecretBasic);
        assert_eq!(choose(&["client_secret_basic"], false), AuthMethod::None);
        assert_eq!(AuthMethod::choose(&server(json!({})), true), AuthMethod::ClientSecretBasic);
    }

    #[test]
    fn registered_auth_method_is_used() {
        let read = |methods: &[&str], body| read(&body, &with_methods(methods), "r").expect("a client").method;
        let with_secret = json!({"client_id": "x", "client_secret": "s"});
        assert_eq!(read(&["none"], with_secret.clone()), AuthMethod::None);
        assert_eq!(read(&["client_secret_post"], with_secret), AuthMethod::ClientSecretPost);
        let chosen =
            json!({"client_id": "x", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post"});
        assert_eq!(read(&["client_secret_basic"], chosen), AuthMethod::ClientSecretPost);
        let empty = json!({"client_id": "x", "client_secret": "", "token_endpoint_auth_method": "client_secret_basic"});
        assert_eq!(read(&["client_secret_basic"], empty), AuthMethod::None);
        assert!(super::read(&json!({"client_secret": "s"}), &with_methods(&[]), "r").is_none());
    }

    #[test]
    fn registration_request_states_the_application_type() {
        let request = |methods, redirect| request(&with_methods(methods), "mcp-bindgen", redirect);
        let native = request(&["client_secret_basic"], "http://127.0.0.1:9/callback");
        assert_eq!(native["application_type"], "native");
        assert_eq!(native["token_endpoint_auth_method"], "client_secret_basic");
        assert_eq!(native["grant_types"], json!(["authorization_code", "refresh_token"]));
        let web = request(&["none", "client_secret_basic"], "https://app.example/callback");
        assert_eq!((&web["application_type"], &web["token_endpoint_auth_method"]), (&json!("web"), &json!("none")));
    }
}
