//! OAuth options of a program.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::{AuthConfig, ServerConfig, Transport};

use super::entry::{Client, StoredAuthorization};
use super::fetch::Fetch;
use super::secret::Secret;
use super::session::Session;
use super::settings::{Grant, IdentityProvider, Settings, Store, source};
use super::store::TokenStore;
use crate::ground::sync::lock;
use crate::rpc::transports::http::network::{Customize, Network};
use crate::{ConnectError, ConnectErrorKind};

/// OAuth for servers over HTTP: set it with [`ClientOptions::authorization`](crate::ClientOptions::authorization).
///
/// [`OAuth::new`] asks a user in a browser. The authorization server is discovered from the MCP server, and the
/// program is registered there dynamically if possible. The redirect goes to a port of this machine and its origin is
/// verified. Tokens are refreshed when they expire, and requested again if a call needs more scopes.
///
/// ```no_run
/// # fn run() {
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::{Client, ClientOptions, FileTokenStore, OAuth};
///
/// let oauth = OAuth::new()
///     .client_name("My agent")
///     .store(FileTokenStore::new("/home/me/.local/state/my-agent"))
///     .open_browser()
///     .on_url(|url| eprintln!("to go on, open {url}"));
/// let options = ClientOptions::new().authorization(oauth);
/// let client = Client::with_options(ServerConfig::http("tracker", "https://mcp.example.com/mcp"), options);
/// # }
/// ```
///
/// For programs without a user there are [`OAuth::client_credentials`], [`OAuth::workload`] and [`OAuth::enterprise`].
/// Clones share tokens; one value may serve several servers, which never see each other's tokens.
#[derive(Clone, Default)]
#[must_use]
pub struct OAuth {
    settings: Settings,
    sessions: Arc<Mutex<Sessions>>,
}

/// The sessions, each with the URL of its server, the `auth` and the network path.
type Sessions = Vec<((String, Option<AuthConfig>, Network), Arc<Session>)>;

impl OAuth {
    /// Asks a user. Choose how the user learns the URL: [`open_browser`](Self::open_browser),
    /// [`on_url`](Self::on_url) or [`on_redirect`](Self::on_redirect).
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests tokens for the program itself, with the client ID and secret from the authorization server. Set that
    /// server too: [`issuer`](Self::issuer).
    pub fn client_credentials(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self::of(Grant::Client, Client::new(id, Some(Secret::new(secret))))
    }

    /// Authenticates the program itself with a private key: PKCS #8 in PEM, for ES256, ES384, EdDSA or RS256. Also
    /// set the authorization server that knows the key: [`issuer`](Self::issuer).
    pub fn client_credentials_with_key(id: impl Into<String>, key: impl Into<String>) -> Self {
        Self::of(Grant::Client, Client { key: Some(Secret::new(key)), ..Client::new(id, None) })
    }

    /// Authenticates the program through the platform that it runs on (workload identity federation): `token` returns
    /// a JWT of the platform for an audience, which is the issuer. Also set the [`issuer`](Self::issuer).
    pub fn workload<A, E>(id: impl Into<String>, token: impl Fn(String) -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = Result<String, E>> + Send + 'static,
        E: fmt::Display,
    {
        Self::of(Grant::Workload(source(token)), Client::new(id, None))
    }

    /// Uses an enterprise's identity provider, which decides what its users may access (enterprise-managed
    /// authorization). `id` and `secret` are those of the program at the server's authorization server, which
    /// [`issuer`](Self::issuer) must name.
    pub fn enterprise(provider: IdentityProvider, id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self::of(Grant::Enterprise(provider), Client::new(id, Some(Secret::new(secret))))
    }

    /// Uses a client id without a secret, for programs that are already registered. Also set the authorization server:
    /// [`issuer`](Self::issuer).
    pub fn client(self, id: impl Into<String>) -> Self {
        self.set(|settings| settings.client = Some(Client::new(id, None)))
    }

    /// Sets the registered client ID and secret of the program. They require an [`issuer`](Self::issuer).
    pub fn confidential_client(self, id: impl Into<String>, secret: impl Into<String>) -> Self {
        self.set(|settings| settings.client = Some(Client::new(id, Some(Secret::new(secret)))))
    }

    /// Sets the only authorization server to use, whatever the MCP server announces. Required for clients with a
    /// secret or a key, and for programs without a user: otherwise the MCP server would choose who receives the
    /// secret.
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        self.set(|settings| settings.issuer = Some(issuer.into()))
    }

    /// Sets the URL of the program's published metadata (a client ID metadata document). It is the client id if the
    /// authorization server supports this.
    pub fn client_metadata_url(self, url: impl Into<String>) -> Self {
        self.set(|settings| settings.metadata_url = Some(url.into()))
    }

    /// Sets the program's name on the consent page; "mcp-bindgen" by default.
    pub fn client_name(self, name: impl Into<String>) -> Self {
        self.set(|settings| settings.name = Some(name.into()))
    }

    /// Sets the requested scopes; the default are those that the server names.
    pub fn scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.set(|settings| settings.scopes = Some(scopes.into_iter().map(Into::into).collect()))
    }

    /// Sets the store for tokens; by default they are in memory until the program ends. Stores distinguish URLs and
    /// configured clients, but not users: use a store for each user of the program.
    pub fn store(self, store: impl TokenStore + 'static) -> Self {
        self.set(|settings| settings.store = Store(Arc::new(store)))
    }

    /// Sets the port of 127.0.0.1 for the redirect to `/callback`; by default any free port. Use it for clients that
    /// are registered for one port.
    pub fn redirect_port(self, port: u16) -> Self {
        self.set(|settings| settings.port = Some(port))
    }

    /// Opens the user's browser. If that fails, and nothing else shows the URL ([`on_url`](Self::on_url)), connecting
    /// fails.
    pub fn open_browser(self) -> Self {
        self.set(|settings| settings.opens_browser = true)
    }

    /// Shows the URL to the user, who must use a browser on this machine, because the redirect goes to a port of it.
    /// The URL is shown even if a browser opens.
    pub fn on_url(self, show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.set(|settings| settings.show = Some(Arc::new(show)))
    }

    /// Handles the redirect in the program, for users on another machine: `authorize` receives the URL to open, and
    /// returns the complete URL that the user was redirected to, below `redirect`. A user can also paste it.
    ///
    /// ```no_run
    /// # async fn pasted() -> std::io::Result<String> { unimplemented!() }
    /// use mcp_bindgen_runtime::OAuth;
    ///
    /// let oauth = OAuth::new().on_redirect("https://app.example.com/oauth/callback", async |url| {
    ///     eprintln!("open {url}, and paste where it leads you");
    ///     pasted().await
    /// });
    /// ```
    pub fn on_redirect<F, A, E>(self, redirect: impl Into<String>, authorize: F) -> Self
    where
        F: Fn(String) -> A + Send + Sync + 'static,
        A: Future<Output = Result<String, E>> + Send + 'static,
        E: fmt::Display,
    {
        self.set(|settings| settings.redirect = Some((redirect.into(), source(authorize))))
    }

    /// Sets how long to wait for a user, and for another process that refreshes the same tokens; 5 minutes by
    /// default.
    pub fn patience(self, patience: Duration) -> Self {
        self.set(|settings| settings.patience = Some(patience))
    }

    /// Makes connecting wait for the user beyond the connect timeout, for [`patience`](Self::patience). By default an
    /// attempt fails at its timeout, and the next one continues the user's authorization.
    pub fn wait_for_user(self) -> Self {
        self.set(|settings| settings.waits_for_user = true)
    }

    /// Returns the stored authorization of a server, or `None` if there are no tokens. The configuration must have no
    /// placeholders left ([`with_secrets`](crate::with_secrets)). It sends no request.
    ///
    /// ```no_run
    /// # async fn run(server: mcp_bindgen_model::ServerConfig) -> Result<(), mcp_bindgen_runtime::ConnectError> {
    /// use mcp_bindgen_runtime::{LocalTokenStore, OAuth};
    ///
    /// let oauth = OAuth::new().store(LocalTokenStore::new());
    /// if let Some(tokens) = oauth.stored(&server).await? {
    ///     println!("authorized by {} for {}", tokens.issuer, tokens.scopes.join(" "));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the configuration cannot be used with OAuth, or the store cannot be read.
    pub async fn stored(&self, server: &ServerConfig) -> Result<Option<StoredAuthorization>, ConnectError> {
        let invalid = |error| ConnectError::new(&server.name, ConnectErrorKind::Config, error);
        let stored = self.session(server, None).map_err(invalid)?.core.read().await.map_err(invalid)?;
        Ok(stored.authorization())
    }

    /// Removes the stored authorization of a server. Returns `true` if there was any. The tokens are not revoked.
    ///
    /// # Errors
    /// Fails if the configuration cannot be used with OAuth, or the store cannot be changed.
    pub async fn forget(&self, server: &ServerConfig) -> Result<bool, ConnectError> {
        let invalid = |error| ConnectError::new(&server.name, ConnectErrorKind::Config, error);
        let session = self.session(server, None).map_err(invalid)?;
        let had_tokens = session.core.forget().await.map_err(invalid)?;
        lock(&self.sessions).retain(|(_, other)| !Arc::ptr_eq(other, &session));
        Ok(had_tokens)
    }

    fn of(grant: Grant, client: Client) -> Self {
        Self::default().set(|settings| (settings.grant, settings.client) = (grant, Some(client)))
    }

    /// Changes the settings, which then need new sessions.
    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self.sessions = Arc::default();
        self
    }

    /// Returns the session that authorizes the requests to a server. Its configuration overrides the program's settings.
    pub(crate) fn session(&self, server: &ServerConfig, customize: Option<Customize>) -> Result<Arc<Session>, String> {
        let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &server.transport else {
            return Err("OAuth requires a `url`; use `env` for a child process".to_owned());
        };
        let network = Network::of(server, customize)?;
        let place = (url.clone(), server.auth.clone(), network.clone());
        let mut sessions = lock(&self.sessions);
        if let Some((_, session)) = sessions.iter().find(|(other, _)| *other == place) {
            return Ok(session.clone());
        }
        let settings = self.settings.with(server.auth.as_ref());
        settings.check()?;
        let fetch = Fetch::new(url, settings.redactor(), network)?;
        let session = Arc::new(Session::new(settings, fetch));
        // Drops unused sessions of earlier configurations.
        sessions.retain(|((other, ..), session)| other != url || Arc::strong_count(session) > 1);
        sessions.push((place, session.clone()));
        Ok(session)
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = self.settings.client.as_ref();
        f.debug_struct("OAuth")
            .field("client", &client.map(|client| &client.id))
            .field("client_metadata_url", &self.settings.metadata_url)
            .field("issuer", &self.settings.issuer)
            .field("scopes", &self.settings.scopes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(oauth: &OAuth, url: &str) -> Result<Arc<Session>, String> {
        oauth.session(&ServerConfig::http("s", url), None)
    }

    #[test]
    fn invalid_oauth_settings_are_refused_before_any_request() {
        let url = "https://mcp.example/mcp";
        let key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----";
        for (oauth, expected) in [
            (OAuth::client_credentials("me", "sk-1"), "OAuth::issuer"),
            (OAuth::client_credentials_with_key("me", key), "OAuth::issuer"),
            (OAuth::new().confidential_client("me", "sk-1"), "OAuth::issuer"),
            (OAuth::new().client_metadata_url("http://a.example/x"), "client_metadata_url"),
            (OAuth::new().client_metadata_url("https://a.example"), "client_metadata_url"),
            (OAuth::new().scopes(["a b"]), "scopes"),
            (OAuth::new().on_redirect("not a url", async |url| Ok::<_, String>(url)), "on_redirect"),
            (OAuth::client_credentials_with_key("me", "sk-1"), "PKCS #8"),
        ] {
            let error = session(&oauth, url).map(drop).expect_err(expected);
            assert!(error.contains(expected) && !error.contains("sk-1"), "{error}");
        }
        let error = session(&OAuth::new(), "http://mcp.example/mcp").map(drop).expect_err("no https");
        assert!(error.contains("https"), "{error}");
    }

    #[test]
    fn debug_output_hides_oauth_secrets() {
        let provider =
            IdentityProvider::new("https://idp.example/token", "me", async || Ok::<_, String>("sk-1".to_owned()));
        let debug =
            format!("{provider:?} {:?}", OAuth::enterprise(provider.clone(), "me", "sk-2").issuer("https://a.example"));
        assert!(!debug.contains("sk-"), "{debug}");
        assert!(debug.contains("https://idp.example/token") && debug.contains("https://a.example"), "{debug}");
    }

    #[test]
    fn clones_share_a_session_but_other_settings_do_not() {
        let oauth = OAuth::new();
        let get = |oauth: &OAuth, url: &str| session(oauth, url).expect("a session");
        let first = get(&oauth, "https://a.example/mcp");
        assert!(Arc::ptr_eq(&first, &get(&oauth.clone(), "https://a.example/mcp")));
        assert!(!Arc::ptr_eq(&first, &get(&oauth, "https://b.example/mcp")));
        let server = ServerConfig::http("s", "https://a.example/mcp").auth(AuthConfig::default().scopes(["x"]));
        let configured = oauth.session(&server, None).expect("a session");
        assert!(!Arc::ptr_eq(&first, &configured));
        assert!(!Arc::ptr_eq(&first, &get(&oauth.scopes(["x"]), "https://a.example/mcp")));
    }

    #[tokio::test]
    async fn forgetting_ends_the_session_whatever_headers_are_configured() {
        let oauth = OAuth::new();
        let server = ServerConfig::http("s", "https://a.example/mcp").header("authorization", "Bearer x");
        let first = oauth.session(&server, None).expect("a session");
        assert_eq!(oauth.stored(&server).await.ok(), Some(None));
        assert_eq!(oauth.forget(&server).await.ok(), Some(false));
        assert!(!Arc::ptr_eq(&first, &oauth.session(&server, None).expect("a session")));
    }

    #[test]
    fn each_setter_keeps_what_the_others_set() {
        let oauth = OAuth::new().issuer("https://a.example").client("me").redirect_port(8123).open_browser();
        let settings = oauth.wait_for_user().settings;
        assert_eq!(settings.issuer.as_deref(), Some("https://a.example"));
        assert_eq!((settings.client.map(|client| client.id).as_deref(), settings.port), (Some("me"), Some(8123)));
        assert!(settings.opens_browser && settings.waits_for_user);
    }

    #[test]
    fn unused_session_ends_with_the_next_one_for_its_url() {
        let oauth = OAuth::new();
        let get = |url: &str, scope: &str| {
            let server = ServerConfig::http("s", url).auth(AuthConfig::default().scopes([scope]));
            oauth.session(&server, None).expect("a session")
        };
        let count = || lock(&oauth.sessions).len();
        drop(get("https://a.example/mcp", "one"));
        let used = get("https://a.example/mcp", "two");
        assert_eq!(count(), 1, "the first is unused");
        let other = get("https://a.example/mcp", "three");
        assert_eq!(count(), 2, "the second is in use");
        drop((used, other));
        drop(get("https://b.example/mcp", "one"));
        assert_eq!(count(), 3, "those of another URL stay");
    }

    #[test]
    fn redactor_knows_the_configured_secret_before_any_request() {
        let oauth = OAuth::client_credentials("me", "client-secret-2").issuer("https://a.example");
        let session = session(&oauth, "https://mcp.example/mcp").expect("a session");
        assert!(session.core.fetch.redactor.knows("it repeats client-secret-2"));
    }
}
