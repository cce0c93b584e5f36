//! Requests for tokens: the requests to token endpoints, the grants of programs without a user, and the authorization by a
//! user with its redirect.
//!
//! All here runs in the task of `Core::obtain`, so a caller that is dropped loses no tokens. Dropping `ask`, `tokens` or
//! `request` loses tokens that the server granted meanwhile, and maybe the refresh token that they replace. Dropping
//! `ask_user` stops waiting for the user and closes the port, or loses the tokens of the code; a browser that `show` opened
//! stays open.

use std::io;

use serde_json::Value;
use tokio::time::timeout;
use url::Url;
use url::form_urlencoded::Serializer;

use super::discovery::{AuthorizationServer, Found, texts};
use super::entry::{Client, Entry, Form, Tokens, register};
use super::fetch::{Fetch, Refusal, quoted, text};
use super::loopback::Loopback;
use super::secret::{Secret, code_challenge, now, random};
use super::session::{Core, OFFLINE_ACCESS};
use super::settings::{Grant, IdentityProvider, Source};
use crate::ground::on_drop::OnDrop;
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// The name of programs that set none, on the consent page.
const NAME: &str = "mcp-bindgen";
/// The parameters that no message shows.
const SECRET: [&str; 7] =
    ["assertion", "client_assertion", "client_secret", "code", "code_verifier", "refresh_token", "subject_token"];

/// The channel on which the user's answer arrives.
enum Inbox<'a> {
    Loopback(Loopback),
    /// The program takes it.
    Program(&'a Source),
}

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
    fn token_endpoint(&self, server: &AuthorizationServer) -> Result<Url, String> {
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
        let form = Serializer::new(String::new()).extend_pairs(form).append_pair("resource", resource).finish();
        self.fetch.post(url, "the token endpoint", "application/x-www-form-urlencoded", form, header).await
    }

    /// Asks the program.
    async fn given(&self, what: &str, source: &Source, argument: &str) -> Result<String, String> {
        source(argument.to_owned()).await.map_err(|why| format!("failed to get {what} from the program: {why}"))
    }

    /// Requests tokens for a user, with a client that is registered if necessary.
    async fn ask_user(&self, entry: &mut Entry, found: &Found, scopes: &[String]) -> Result<Tokens, String> {
        let (settings, server) = (&self.settings, &found.server);
        if !settings.opens_browser && settings.show.is_none() && settings.redirect.is_none() {
            return Err(format!(
                "the server requires a user to authorize this program at {}: set `OAuth::on_url`, \
                 `OAuth::open_browser` or `OAuth::on_redirect`, reuse stored tokens with `OAuth::store`, or use \
                 `OAuth::client_credentials`",
                quoted(&server.issuer, &self.fetch.redactor)
            ));
        }
        // No user is asked for a code that cannot be exchanged.
        self.token_endpoint(server)?;
        let (redirect, inbox) = match &settings.redirect {
            Some((redirect, program)) => (redirect.clone(), Inbox::Program(program)),
            None => {
                let registered = entry.client.as_ref().and_then(|client| client.redirect.as_deref());
                let loopback = Loopback::open(settings.port, registered).await?;
                (loopback.redirect.clone(), Inbox::Loopback(loopback))
            }
        };
        let known = settings
            .clients(server, entry.client.clone())
            .into_iter()
            .find(|client| client.redirect.as_ref().is_none_or(|registered| *registered == redirect));
        let client = match known {
            Some(client) => client,
            None => entry
                .client
                .insert(register(&self.fetch, server, settings.name.as_deref().unwrap_or(NAME), &redirect).await?)
                .clone(),
        };
        let (verifier, state) = (random()?, random()?);
        let challenge = code_challenge(&verifier);
        let request: [(&str, &str); 4] =
            [("client_id", &client.id), ("redirect_uri", &redirect), ("state", &state), ("code_challenge", &challenge)];
        let url = authorization_url(&self.fetch, found, scopes, request)?;
        let redirected = self.redirected(inbox, &url, &state).await?;
        let grant = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code(&redirected, &state, server, &self.fetch.redactor)?),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
        ];
        Ok(self.tokens(&client, server, &found.resource, scopes, grant).await?)
    }

    /// Sends the user to the URL, and waits for the redirect.
    async fn redirected(&self, inbox: Inbox<'_>, url: &Url, state: &str) -> Result<String, String> {
        let patience = self.settings.patience();
        let host = url.host_str().unwrap_or_default();
        *lock(&self.waits_for) = Some(format!("waiting for a user to authorize this program at {host}"));
        // Also if a function of the program panics.
        let _waiting = OnDrop::new(|| *lock(&self.waits_for) = None);
        let answer = async {
            match inbox {
                Inbox::Loopback(loopback) => {
                    self.show(url).await?;
                    Ok(loopback.receive(state).await)
                }
                Inbox::Program(program) => self.given("the redirect", program, url.as_str()).await,
            }
        };
        timeout(patience, answer).await.unwrap_or_else(|_| {
            Err(format!("this program was not authorized at {host} within {patience:?}; connect again to retry"))
        })
    }

    async fn show(&self, url: &Url) -> Result<(), String> {
        if self.settings.opens_browser {
            let url = url.to_string();
            let opened = tokio::task::spawn_blocking(move || open::that_detached(url)).await;
            let opened = opened.unwrap_or_else(|error| Err(io::Error::other(error)));
            if let (Err(error), None) = (opened, &self.settings.show) {
                return Err(format!("failed to open a browser ({error}); show the URL with `OAuth::on_url`"));
            }
        }
        self.settings.show.iter().for_each(|show| show(url.as_str()));
        Ok(())
    }
}

/// Returns the parameter `scope`, unless no scope is requested.
fn scope(scopes: &[String]) -> Option<(&'static str, String)> {
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

/// Returns the URL at which the user grants or denies access.
fn authorization_url(
    fetch: &Fetch,
    found: &Found,
    scopes: &[String],
    request: [(&str, &str); 4],
) -> Result<Url, String> {
    let metadata = &found.server.metadata;
    let has_s256 = texts(metadata, "code_challenge_methods_supported").iter().any(|method| method == "S256");
    let endpoint = text(metadata, "authorization_endpoint").filter(|_| has_s256).ok_or_else(|| {
        format!(
            "the authorization server {} cannot authorize users: it needs an `authorization_endpoint`, and PKCE \
             (`code_challenge_methods_supported` with S256); without a user, use `OAuth::client_credentials`",
            quoted(&found.server.issuer, &fetch.redactor)
        )
    })?;
    let mut url = fetch.allowed(&endpoint, "the authorization endpoint")?;
    // OpenID Connect ignores the scope without it.
    let prompt = scopes.iter().any(|scope| scope == OFFLINE_ACCESS).then_some(("prompt", "consent"));
    url.query_pairs_mut()
        .extend_pairs(request)
        .extend_pairs([
            ("response_type", "code"),
            ("code_challenge_method", "S256"),
            ("resource", found.resource.as_str()),
        ])
        .extend_pairs(scope(scopes))
        .extend_pairs(prompt);
    Ok(url)
}

/// Returns the code of a redirect, once it is known to come from this server in answer to this request.
fn code(redirected: &str, state: &str, server: &AuthorizationServer, redactor: &Redactor) -> Result<String, String> {
    let quoted = |text: &str| quoted(text, redactor);
    let url = Url::parse(redirected).map_err(|_| "the redirect is not a URL")?;
    let parameter = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    if parameter("state").as_deref() != Some(state) {
        return Err("the redirect does not belong to this authorization (`state`); try again".to_owned());
    }
    let code = parameter("code").filter(|code| !code.is_empty());
    code.iter().for_each(|code| redactor.learn(code));
    // The issuer is compared exactly (RFC 9207): a similar one is another server.
    let issuer = parameter("iss");
    let may_omit_issuer = !server.has_flag("authorization_response_iss_parameter_supported");
    if !issuer.as_ref().map_or(may_omit_issuer, |issuer| *issuer == server.issuer) {
        return Err(format!(
            "the redirect is from another authorization server (`iss` is {}), and not from {}; it may be an attack, and \
             its code is not used",
            quoted(issuer.as_deref().unwrap_or("missing")),
            quoted(&server.issuer)
        ));
    }
    if let Some(error) = parameter("error") {
        let why = parameter("error_description").map(|why| format!(": {}", quoted(&why))).unwrap_or_default();
        return Err(format!("the authorization was refused: {}{why}", quoted(&error)));
    }
    Ok(code.ok_or("the redirect has no code")?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::super::settings::{Settings, source};
    use super::*;
    use crate::rpc::transports::http::network::Network;

    fn server(more: Value) -> AuthorizationServer {
        let mut metadata = json!({
            "authorization_endpoint": "https://auth.example/authorize?tenant=1",
            "code_challenge_methods_supported": ["plain", "S256"],
        });
        metadata.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        AuthorizationServer { issuer: "https://auth.example".to_owned(), metadata }
    }

    fn fetch() -> Fetch {
        Fetch::new("https://mcp.example/mcp", Redactor::default(), Network::default()).expect("a server")
    }

    fn code(redirected: &str, state: &str, server: &AuthorizationServer) -> Result<String, String> {
        let fetch = fetch();
        super::code(redirected, state, server, &fetch.redactor).map_err(|error| fetch.shown(&error))
    }

    #[test]
    fn redirect_from_another_issuer_is_refused() {
        let (says, silent) =
            (server(json!({"authorization_response_iss_parameter_supported": true})), server(json!({})));
        let right = "http://127.0.0.1:1/callback?code=c&state=s&iss=https%3A%2F%2Fauth.example";
        for server in [&says, &silent] {
            assert_eq!(code(right, "s", server).expect("the code"), "c");
            for wrong in ["https://evil.example", "https://auth.example/", "", "HTTPS://auth.example"] {
                let url = format!("http://127.0.0.1:1/callback?code=c&state=s&iss={wrong}");
                let error = code(&url, "s", server).expect_err(wrong).to_string();
                assert!(error.contains("another authorization server"), "{error}");
            }
        }
        let without = "http://127.0.0.1:1/callback?code=c&state=s";
        assert!(code(without, "s", &silent).is_ok());
        assert!(code(without, "s", &says).expect_err("no issuer").to_string().contains("`iss` is missing"));
    }

    #[test]
    fn redirect_with_wrong_state_or_an_error_yields_no_code() {
        let server = server(json!({}));
        for (query, expected) in [
            ("code=c&state=other", "`state`"),
            ("code=c", "`state`"),
            ("state=s", "no code"),
            ("code=&state=s", "no code"),
            ("state=s&error=access_denied&error_description=not%20%1b%5B31myou", r"access_denied: not \u{1b}[31myou"),
            ("state=s&error=no&error_description=a%20sk-code-1&code=sk-code-1", "no: a [redacted]"),
        ] {
            let error =
                code(&format!("http://127.0.0.1:1/callback?{query}"), "s", &server).expect_err(query).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn authorization_url_contains_all_parameters_and_requires_s256() {
        let url = |more, scopes: &[&str]| {
            let scopes: Vec<String> = scopes.iter().map(ToString::to_string).collect();
            let found = Found { resource: "https://mcp.example".to_owned(), scopes: Vec::new(), server: server(more) };
            let request = [
                ("client_id", "me"),
                ("redirect_uri", "http://127.0.0.1:1/callback"),
                ("state", "s"),
                ("code_challenge", "c"),
            ];
            authorization_url(&fetch(), &found, &scopes, request)
        };
        let complete = url(json!({}), &["read", "offline_access"]).expect("a URL");
        let has = |pair: &str| complete.query().is_some_and(|query| query.split('&').any(|one| one == pair));
        let online = url(json!({}), &["read"]).expect("a URL");
        assert!(!online.as_str().contains("prompt"), "consent is only for `offline_access`: {online}");
        for pair in [
            "tenant=1",
            "client_id=me",
            "redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback",
            "response_type=code",
            "code_challenge_method=S256",
            "code_challenge=c",
            "scope=read+offline_access",
            "prompt=consent",
            "resource=https%3A%2F%2Fmcp.example",
            "state=s",
        ] {
            assert!(has(pair), "{pair} in {complete}");
        }
        for methods in [json!(["plain"]), json!(null)] {
            let error = url(json!({"code_challenge_methods_supported": methods}), &[]).expect_err("no S256");
            assert!(error.contains("S256"), "{error}");
        }
    }

    #[tokio::test]
    async fn program_waits_no_longer_once_the_user_has_answered() {
        let core = Arc::new(Core::new(Settings::default(), fetch()));
        let (waiting, url) = (core.clone(), Url::parse("https://auth.example/x").expect("a URL"));
        let program = source(move |url: String| {
            let waits_for = lock(&waiting.waits_for).clone();
            async move {
                assert!(waits_for.is_some_and(|waits_for| waits_for.contains("auth.example")));
                Ok::<_, String>(url)
            }
        });
        let redirected = core.redirected(Inbox::Program(&program), &url, "s").await;
        assert_eq!(redirected.as_deref(), Ok("https://auth.example/x"));
        assert_eq!(*lock(&core.waits_for), None);
    }

    #[tokio::test]
    async fn panic_of_the_program_ends_the_wait_for_a_user() {
        let core = Arc::new(Core::new(Settings::default(), fetch()));
        let (waiting, url) = (core.clone(), Url::parse("https://auth.example/x").expect("a URL"));
        let program = source(async |url: String| {
            assert!(url.is_empty(), "a fault of the program");
            Ok::<_, String>(url)
        });
        let wait = async move { waiting.redirected(Inbox::Program(&program), &url, "s").await };
        assert!(tokio::spawn(wait).await.is_err());
        assert_eq!(*lock(&core.waits_for), None);
    }

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
