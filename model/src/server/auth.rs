//! OAuth settings of a server.

use std::fmt;

use serde_json::{Map, Value};

use crate::secrets::{find_literals, hidden, replace};

/// The OAuth settings of a server at a URL: `[servers.NAME.auth]`. What is not set is found out from the server.
///
/// ```
/// use mcp_bindgen_model::{AuthConfig, ServerConfig};
///
/// let auth = AuthConfig::new("https://login.example.com").client("my-agent").client_secret("${CLIENT_SECRET}");
/// let server = ServerConfig::http("tracker", "https://mcp.example.com/mcp").auth(auth.scopes(["read"]));
/// assert_eq!(server.to_json()["auth"]["client_secret"], "${CLIENT_SECRET}");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthConfig {
    /// The only authorization server to use.
    pub issuer: Option<String>,
    /// The client id of a program that is registered there.
    pub client: Option<String>,
    /// Its secret, which requires `issuer` and `client`.
    pub client_secret: Option<String>,
    /// The scopes to ask for; by default those that the server names.
    pub scopes: Option<Vec<String>>,
    /// The party that is authorized.
    pub grant: GrantType,
    /// The port of this machine that the browser returns to, for clients that are registered for one port.
    pub redirect_port: Option<u16>,
}

/// The party that is authorized: a user, or the program itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrantType {
    /// A user, in a browser.
    #[default]
    AuthorizationCode,
    /// The program itself, with its `client_secret`.
    ClientCredentials,
}

impl GrantType {
    /// All variants.
    pub const ALL: [Self; 2] = [Self::AuthorizationCode, Self::ClientCredentials];

    /// Returns the word in `mcp.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::ClientCredentials => "client_credentials",
        }
    }
}

impl AuthConfig {
    /// Uses only this authorization server.
    #[must_use]
    pub fn new(issuer: impl Into<String>) -> Self {
        Self { issuer: Some(issuer.into()), ..Self::default() }
    }

    /// Sets the client id of a program that is registered at the authorization server.
    #[must_use]
    pub fn client(mut self, id: impl Into<String>) -> Self {
        self.client = Some(id.into());
        self
    }

    /// Sets the secret of the client, best as a placeholder.
    #[must_use]
    pub fn client_secret(mut self, secret: impl Into<String>) -> Self {
        self.client_secret = Some(secret.into());
        self
    }

    /// Sets the scopes to ask for.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the party that is authorized.
    #[must_use]
    pub fn grant(mut self, grant: GrantType) -> Self {
        self.grant = grant;
        self
    }

    /// Sets the port of this machine that the browser returns to.
    #[must_use]
    pub fn redirect_port(mut self, port: u16) -> Self {
        self.redirect_port = Some(port);
        self
    }

    /// Returns what is wrong with the settings together, if anything: the key, the fact, and what to do.
    pub(crate) fn problem(&self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Self { client_secret: Some(_), issuer: None, .. } => Some((
                "client_secret",
                "requires `issuer`: otherwise the server would choose who receives the secret",
                "add the `issuer` that the client is registered at",
            )),
            Self { client_secret: Some(_), client: None, .. } => {
                Some(("client_secret", "requires `client`", "add the id of the client"))
            }
            Self { grant: GrantType::ClientCredentials, client_secret: None, .. } => Some((
                "grant",
                "requires `client_secret`",
                "add the secret of the client as a placeholder: `client_secret = \"${CLIENT_SECRET}\"`",
            )),
            Self { grant: GrantType::ClientCredentials, redirect_port: Some(_), .. } => Some((
                "redirect_port",
                "has no effect beside `grant = \"client_credentials\"`, which opens no browser",
                "remove one of them",
            )),
            _ => None,
        }
    }

    /// The texts, by their keys.
    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut String)> {
        let texts =
            [("issuer", &mut self.issuer), ("client", &mut self.client), ("client_secret", &mut self.client_secret)];
        let scopes = self.scopes.iter_mut().flatten().map(|scope| ("scopes", scope));
        texts.into_iter().filter_map(|(key, text)| Some((key, text.as_mut()?))).chain(scopes)
    }

    pub(super) fn to_json(&self) -> Value {
        let mut json = Map::new();
        let texts = [("issuer", &self.issuer), ("client", &self.client), ("client_secret", &self.client_secret)];
        for (key, text) in texts {
            json.extend(text.as_deref().map(|text| (key.to_owned(), text.into())));
        }
        if let Some(scopes) = &self.scopes {
            json.insert("scopes".to_owned(), scopes.clone().into());
        }
        if self.grant != GrantType::default() {
            json.insert("grant".to_owned(), self.grant.name().into());
        }
        json.extend(self.redirect_port.map(|port| ("redirect_port".to_owned(), port.into())));
        json.into()
    }
}

/// Without the secret, also where its placeholder has been replaced.
impl fmt::Debug for AuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = self.client_secret.as_deref();
        let secret = secret.map(|text| replace(text, &find_literals("client_secret", text), hidden));
        f.debug_struct("AuthConfig")
            .field("issuer", &self.issuer)
            .field("client", &self.client)
            .field("client_secret", &secret)
            .field("scopes", &self.scopes)
            .field("grant", &self.grant)
            .field("redirect_port", &self.redirect_port)
            .finish()
    }
}
