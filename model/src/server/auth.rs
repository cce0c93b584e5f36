//! OAuth settings of a server.

use std::fmt;

use serde_json::Value;

use super::may_be_url;
use crate::FileError;
use crate::config::key::Form;
use crate::config::read::{Node, Reader};
use crate::config::table::{Change, ConfigValue, Table, table};
use crate::secrets::{ConfigField, find_literals, hide};
use crate::setters::setters;
use crate::words::words;

table! {
    /// The OAuth settings of a server at a URL: `[servers.NAME.auth]`. Unset settings are discovered from the server.
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
        pub issuer: Option<String> => "issuer", "of the server", "URL of the only authorization server to use";
        /// The client id of a program that is registered there.
        pub client: Option<String> => "client", "registered on demand", "id of a client that is registered at `issuer`";
        /// Its secret, which requires `issuer` and `client`.
        pub client_secret: Option<String> => "client_secret", "",
            "secret of `client` as a placeholder; requires `issuer`";
        /// The scopes to ask for; by default those that the server names.
        pub scopes: Option<Vec<String>> => "scopes", "of the server", "scopes to ask for";
        /// The party that is authorized.
        pub grant: GrantType => "grant", "\"authorization_code\"",
            "who is authorized: a user in a browser, or the program itself with `client_secret`";
        /// The port of this machine that the browser returns to, for clients that are registered for one port.
        pub redirect_port: Option<u16> => "redirect_port", "any",
            "port of 127.0.0.1 that the browser returns to, at `/callback`";
    }
}

words! {
    /// The party that is authorized: a user, or the program itself.
    #[non_exhaustive]
    pub enum GrantType {
        /// A user, in a browser.
        #[default]
        AuthorizationCode = "authorization_code",
        /// The program itself, with its `client_secret`.
        ClientCredentials = "client_credentials",
    }
}

impl AuthConfig {
    /// Uses only this authorization server.
    #[must_use]
    pub fn new(issuer: impl Into<String>) -> Self {
        Self { issuer: Some(issuer.into()), ..Self::default() }
    }

    /// Sets the scopes to ask for.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }
}

impl ConfigValue for AuthConfig {
    const FORM: Form = Form::Table(Self::KEYS);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let auth = Self::default().filled(reader, node, what)?;
        let (key, problem, help) = match &auth {
            Self { issuer: Some(issuer), .. } if !may_be_url(issuer) => {
                ("issuer", "is not a URL", "start it with `https://`")
            }
            Self { client_secret: Some(_), issuer: None, .. } => (
                "client_secret",
                "requires `issuer`: otherwise the server would choose who receives the secret",
                "add the `issuer` that the client is registered at",
            ),
            Self { client_secret: Some(_), client: None, .. } => {
                ("client_secret", "requires `client`", "add the id of the client")
            }
            Self { grant: GrantType::ClientCredentials, client_secret: None, .. } => (
                "grant",
                "requires `client_secret`",
                "add the secret of the client as a placeholder: `client_secret = \"${CLIENT_SECRET}\"`",
            ),
            Self { grant: GrantType::ClientCredentials, redirect_port: Some(_), .. } => (
                "redirect_port",
                "has no effect beside `grant = \"client_credentials\"`, which opens no browser",
                "remove one of them",
            ),
            _ => return Ok(auth),
        };
        let at = node.get(key).map_or(node.at, |value| value.key_at);
        Err(reader.error(at, format!("`{key}` in {what} {problem}")).with_help(help))
    }

    fn to_json(&self) -> Value {
        self.members().into()
    }

    fn change_texts(&mut self, _: ConfigField<'static>, change: &mut Change<'_>) {
        self.fields_mut().into_iter().for_each(|(key, field)| field.change(ConfigField::Auth(key), change));
    }
}

setters! {
    AuthConfig {
        /// Sets the client id of a program that is registered at the authorization server.
        client(id: impl Into<String>) { client = Some(id.into()) }
        /// Sets the secret of the client, best as a placeholder.
        client_secret(secret: impl Into<String>) { client_secret = Some(secret.into()) }
        /// Sets the party that is authorized.
        grant(grant: GrantType) { grant = grant }
        /// Sets the port of this machine that the browser returns to.
        redirect_port(port: u16) { redirect_port = Some(port) }
    }
}

/// Omits the secret, even after its placeholder was replaced.
impl fmt::Debug for AuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.clone();
        let secret = shown.client_secret.iter_mut();
        secret.for_each(|text| *text = hide(text, &find_literals("client_secret", text)));
        let mut fields = f.debug_struct("AuthConfig");
        shown.fields_mut().iter().for_each(|(key, field)| _ = fields.field(key, field));
        fields.finish()
    }
}
