//! Asking for new tokens: of a user, or for the program itself.
//!
//! All here runs in the task of `Core::obtain`. Dropping `ask`, `ask_user` or `redirected` stops waiting for the user
//! and closes the port; dropping `tokens`, `exchange` or `given` loses the answer. A browser that `show` opened stays
//! open.

use tokio::time::timeout;
use url::Url;

use super::authorization_code::{AuthorizationRequest, code};
use super::client::Client;
use super::discovery::Found;
use super::entry::{Issued, Tokens};
use super::fetch::quoted;
use super::grant::{self, GrantError, TokenRequest};
use super::loopback::Loopback;
use super::metadata::{AuthorizationServer, text};
use super::obtain::Core;
use super::registration::{self, proof};
use super::secret::{Pkce, random};
use super::settings::{Grant, IdentityProvider, Source};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The channel on which the user's answer arrives.
enum Inbox<'a> {
    Loopback(Loopback),
    /// The program takes it.
    Program(&'a str, &'a Source),
}

impl Inbox<'_> {
    fn redirect(&self) -> &str {
        match self {
            Self::Loopback(loopback) => &loopback.redirect,
            Self::Program(redirect, _) => redirect,
        }
    }
}

impl Core {
    /// Requests new tokens with the grant that the program chose.
    pub(super) async fn ask(&self, issued: &mut Issued, found: &Found, scopes: &[String]) -> Result<Tokens, String> {
        let grant = match &self.settings.grant {
            Grant::User => return self.ask_user(issued, found, scopes).await,
            Grant::Client => vec![("grant_type", "client_credentials".to_owned())],
            Grant::Workload(token) => assertion(self.given("the workload's token", token, &found.server.issuer).await?),
            Grant::Enterprise(provider) => assertion(self.exchange(provider, found, scopes).await?),
        };
        let client =
            registration::configured(&self.settings, &found.server).ok_or("the client is not set (`OAuth::client`)")?;
        let grant = grant.into_iter().chain(grant::scope(scopes)).collect();
        Ok(self.tokens(&client, &found.server, (&found.resource, scopes), grant).await?)
    }

    /// Requests tokens for a resource with a grant.
    pub(super) async fn tokens(
        &self,
        client: &Client,
        server: &AuthorizationServer,
        (resource, scopes): (&str, &[String]),
        grant: Vec<(&'static str, String)>,
    ) -> Result<Tokens, GrantError> {
        let (endpoint, client_id, proof) = (&*server.token_endpoint, &*client.id, proof(client, server)?);
        grant::tokens(&self.fetch, &TokenRequest { endpoint, client_id, proof, resource, scopes, grant }).await
    }

    /// Returns the identity provider's word that the user may reach the server (an ID-JAG).
    async fn exchange(&self, provider: &IdentityProvider, found: &Found, scopes: &[String]) -> Result<String, String> {
        let id_token = self.given("the user's ID token", &provider.id_token, "").await?;
        let exchange = [
            ("grant_type", TOKEN_EXCHANGE.to_owned()),
            ("requested_token_type", ID_JAG.to_owned()),
            ("subject_token", id_token),
            ("subject_token_type", ID_TOKEN.to_owned()),
            ("audience", found.server.issuer.clone()),
        ];
        let request = TokenRequest {
            endpoint: &provider.token_endpoint,
            client_id: &provider.client_id,
            proof: (vec![("client_id", provider.client_id.clone())], None),
            resource: &found.resource,
            scopes,
            grant: exchange.into_iter().chain(grant::scope(scopes)).collect(),
        };
        let answer = grant::answer(&self.fetch, &request).await?;
        match (text(&answer, "issued_token_type").as_deref(), text(&answer, "access_token")) {
            (Some(ID_JAG), Some(token)) => Ok(token),
            _ => Err("the identity provider's response has no ID-JAG".to_owned()),
        }
    }

    async fn ask_user(&self, issued: &mut Issued, found: &Found, scopes: &[String]) -> Result<Tokens, String> {
        let settings = &self.settings;
        let server = &found.server;
        if !settings.opens_browser && settings.show.is_none() && settings.redirect.is_none() {
            return Err(format!(
                "the server requires a user to authorize this program at {}: set `OAuth::on_url`, \
                 `OAuth::open_browser` or `OAuth::on_redirect`, reuse stored tokens with `OAuth::store`, or use \
                 `OAuth::client_credentials`",
                quoted(&server.issuer, &self.fetch.redactor)
            ));
        }
        let inbox = match &settings.redirect {
            Some((redirect, program)) => Inbox::Program(redirect, program),
            None => {
                let before = issued.client.as_ref().and_then(|client| client.redirect.as_deref());
                Inbox::Loopback(Loopback::open(settings.port, before).await?)
            }
        };
        let redirect = inbox.redirect().to_owned();
        let client = registration::client(&self.fetch, settings, server, &redirect, issued.client.as_ref()).await?;
        if client.redirect.is_some() {
            issued.client = Some(client.clone());
        }
        let (pkce, state) = (Pkce::new()?, random()?);
        let request = AuthorizationRequest {
            client_id: &client.id,
            redirect: &redirect,
            scopes,
            resource: &found.resource,
            state: &state,
            challenge: &pkce.challenge,
        };
        let url = request.url(&self.fetch, server)?;
        let redirected = self.redirected(inbox, &url, &state).await?;
        let code = code(&redirected, &state, server, &self.fetch.redactor)?;
        let grant = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.expose().to_owned()),
            ("redirect_uri", redirect),
            ("code_verifier", pkce.verifier.expose().to_owned()),
        ];
        Ok(self.tokens(&client, server, (&found.resource, scopes), grant).await?)
    }

    /// Asks the program.
    async fn given(&self, what: &str, source: &Source, argument: &str) -> Result<String, String> {
        let given = source(argument.to_owned()).await;
        given.map_err(|why| format!("failed to get {what} from the program: {}", quoted(&why, &self.fetch.redactor)))
    }

    /// Sends the user to the URL, and waits for the redirect.
    async fn redirected(&self, inbox: Inbox<'_>, url: &Url, state: &str) -> Result<String, String> {
        let patience = self.settings.patience;
        let host = url.host_str().unwrap_or_default();
        let _waiting = Waiting::begin(self, format!("waiting for a user to authorize this program at {host}"));
        let answer = async {
            match inbox {
                Inbox::Loopback(loopback) => {
                    self.show(url).await?;
                    loopback.receive(state).await
                }
                Inbox::Program(_, program) => self.given("the redirect", program, url.as_str()).await,
            }
        };
        let answer = timeout(patience, answer).await;
        answer.unwrap_or_else(|_| {
            Err(format!("this program was not authorized at {host} within {patience:?}; connect again to retry"))
        })
    }

    async fn show(&self, url: &Url) -> Result<(), String> {
        if self.settings.opens_browser {
            let url = url.to_string();
            let opened = tokio::task::spawn_blocking(move || open::that_detached(url)).await;
            match opened.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
                Ok(()) => {}
                Err(error) if self.settings.show.is_none() => {
                    return Err(format!("failed to open a browser ({error}); show the URL with `OAuth::on_url`"));
                }
                Err(error) => tracing::debug!("failed to open a browser: {error}"),
            }
        }
        if let Some(show) = &self.settings.show {
            show(url.as_str());
        }
        Ok(())
    }
}

/// The program's wait for something, as long as it lasts.
struct Waiting<'a>(&'a Core);

impl<'a> Waiting<'a> {
    fn begin(core: &'a Core, what: String) -> Self {
        core.wait_for(Some(what));
        Self(core)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.wait_for(None);
    }
}

fn assertion(assertion: String) -> Vec<(&'static str, String)> {
    vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion)]
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;
    use crate::rpc::transports::http::network::Network;

    #[test]
    fn program_waits_no_longer_once_the_user_has_answered() {
        let core = Core::new("https://a.example/mcp", Settings::default(), Network::default());
        let core = core.unwrap_or_else(|error| panic!("{error}"));
        let waiting = Waiting::begin(&core, "waiting for a user".to_owned());
        assert_eq!(core.waits_for().as_deref(), Some("waiting for a user"));
        drop(waiting);
        assert_eq!(core.waits_for(), None);
    }
}
