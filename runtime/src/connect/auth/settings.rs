//! The program's settings of its authorization.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt};
use mcp_bindgen_model::{AuthConfig, GrantType};
use serde_json::json;
use url::Url;

use super::discovery::AuthorizationServer;
use super::entry::{AuthMethod, Client};
use super::fetch::Fetch;
use super::secret::{Secret, hash, parse};
use super::store::{MemoryTokenStore, TokenStore};
use crate::ground::redact::{PrivateValues, Redactor};

const PATIENCE: Duration = Duration::from_secs(300);

/// A function of the program that returns a value on request, or an error.
pub(super) type Source = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// A function of the program that shows a URL.
type Show = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Clone, Default)]
pub(super) struct Settings {
    pub(super) grant: Grant,
    pub(super) client: Option<Client>,
    pub(super) metadata_url: Option<String>,
    pub(super) name: Option<String>,
    pub(super) issuer: Option<String>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) store: Store,
    pub(super) patience: Option<Duration>,
    pub(super) port: Option<u16>,
    pub(super) opens_browser: bool,
    /// Connecting waits for the user beyond its timeout.
    pub(super) waits_for_user: bool,
    pub(super) show: Option<Show>,
    pub(super) redirect: Option<(String, Source)>,
}

/// The store that all sessions share.
#[derive(Clone)]
pub(super) struct Store(pub(super) Arc<dyn TokenStore>);

impl Default for Store {
    fn default() -> Self {
        Self(Arc::new(MemoryTokenStore::new()))
    }
}

/// The way to obtain authorization.
#[derive(Clone, Default)]
pub(super) enum Grant {
    #[default]
    User,
    Client,
    Workload(Source),
    Enterprise(IdentityProvider),
}

impl Settings {
    /// Returns the settings with those of a configuration, which has no placeholders any more, in their place.
    pub(super) fn with(&self, auth: Option<&AuthConfig>) -> Self {
        let mut settings = self.clone();
        let Some(auth) = auth else { return settings };
        if let Some(id) = &auth.client {
            settings.client = Some(Client::new(id, auth.client_secret.clone().map(Secret::new)));
        }
        settings.issuer = auth.issuer.clone().or(settings.issuer);
        settings.scopes = auth.scopes.clone().or(settings.scopes);
        settings.port = auth.redirect_port.or(settings.port);
        if auth.grant == GrantType::ClientCredentials {
            settings.grant = Grant::Client;
        }
        settings
    }

    /// Returns how long to wait for a user, or for another process.
    pub(super) fn patience(&self) -> Duration {
        self.patience.unwrap_or(PATIENCE)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(key) = self.client.as_ref().and_then(|client| client.key.as_ref()) {
            drop(parse(key)?);
        }
        let has_secret = self.client.as_ref().is_some_and(|client| client.secret.is_some() || client.key.is_some());
        if self.issuer.is_none() && (has_secret || !matches!(self.grant, Grant::User)) {
            return Err("client credentials require `OAuth::issuer`; without it the server chooses who receives them"
                .to_owned());
        }
        let is_document = |url: &str| Url::parse(url).is_ok_and(|url| url.scheme() == "https" && url.path() != "/");
        if self.metadata_url.as_deref().is_some_and(|url| !is_document(url)) {
            return Err("`OAuth::client_metadata_url` requires an https URL with a path".to_owned());
        }
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"\"\\".contains(&byte);
        let is_scope = |scope: &String| !scope.is_empty() && scope.bytes().all(is_allowed);
        if !self.scopes.iter().flatten().all(is_scope) {
            return Err("`OAuth::scopes` takes one scope at a time, without spaces, quotes and backslashes".to_owned());
        }
        if self.redirect.as_ref().is_some_and(|(redirect, _)| Url::parse(redirect).is_err()) {
            return Err("`OAuth::on_redirect` requires a redirect URL".to_owned());
        }
        Ok(())
    }

    /// Creates a redactor of the secrets that the program configured.
    pub(super) fn redactor(&self) -> Redactor {
        let mut values = PrivateValues::default();
        let secrets = self.client.iter().flat_map(|client| [&client.secret, &client.key]).flatten();
        secrets.for_each(|secret| values.secret(secret.expose()));
        Redactor::new(&values)
    }

    /// Returns the clients that need no registration, in the protocol's order: the program's own, one with a metadata
    /// document, an earlier registration.
    pub(super) fn clients(&self, server: &AuthorizationServer, registered: Option<Client>) -> Vec<Client> {
        let own = self.client.clone().map(|client| {
            let method = AuthMethod::choose(server, client.secret.is_some());
            Client { method, ..client }
        });
        let takes_urls = server.has_flag("client_id_metadata_document_supported");
        let by_url = self.metadata_url.clone().filter(|_| takes_urls).map(|url| Client::new(url, None));
        [own, by_url, registered].into_iter().flatten().collect()
    }

    /// Returns the key of a server's entry in the store: other credentials or another query are another account.
    pub(super) fn key(&self, server: &Fetch) -> String {
        let grant = match &self.grant {
            Grant::User => json!("user"),
            Grant::Client => json!("client credentials"),
            Grant::Workload(_) => json!("workload"),
            Grant::Enterprise(provider) => json!(["enterprise", provider.token_endpoint, provider.client_id]),
        };
        let client = self.client.as_ref().map(|client| (&client.id, &client.secret, &client.key));
        let account = json!([server.server.query(), grant, client, self.metadata_url, self.issuer]);
        format!("{}#{}", server.identifier(), hash(&account.to_string()))
    }
}

/// The identity provider of an enterprise, for [`OAuth::enterprise`](crate::OAuth::enterprise).
#[derive(Clone)]
pub struct IdentityProvider {
    pub(super) token_endpoint: String,
    pub(super) client_id: String,
    pub(super) id_token: Source,
}

impl IdentityProvider {
    /// Creates a provider with this token endpoint and the program's `client_id` there; `id_token` returns the user's
    /// ID token from the login there.
    pub fn new<F, A, E>(token_endpoint: impl Into<String>, client_id: impl Into<String>, id_token: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<String, E>> + Send + 'static,
        E: fmt::Display,
    {
        let id_token = source(move |_| id_token());
        Self { token_endpoint: token_endpoint.into(), client_id: client_id.into(), id_token }
    }
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("IdentityProvider");
        debug.field("token_endpoint", &self.token_endpoint).field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// Returns a function of the program's as a source.
pub(super) fn source<A, E>(give: impl Fn(String) -> A + Send + Sync + 'static) -> Source
where
    A: Future<Output = Result<String, E>> + Send + 'static,
    E: fmt::Display,
{
    Arc::new(move |argument| give(argument).map_err(|error| error.to_string()).boxed())
}
