//! Obtains tokens: stored, refreshed, or new ones.
//!
//! Dropping `obtain`, or `renew`, `refresh` and `answer` inside it, releases the lock; tokens that were granted and
//! not yet adopted are lost. `load`, `lock` and `read` are cancel safe. A method of the store that `with_store` has
//! begun runs to its end, so that a `write` is whole.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use tokio::time::{Instant, sleep};

use super::challenge::BearerChallenge;
use super::client::Client;
use super::discovery::{authorization_server, discover};
use super::entry::{Entry, Issued, StoredAuthorization, Tokens};
use super::fetch::Fetch;
use super::grant::GrantError;
use super::metadata::AuthorizationServer;
use super::registration;
use super::scopes::{Known, covers, select};
use super::secret::Secret;
use super::settings::Settings;
use super::store::{StoreLock, TokenStore, TokenStoreError};
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::transports::http::network::Network;

const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// The number of requests for more scopes at one server.
const STEP_UPS: usize = 3;
/// How long a failed renewal is not repeated while the token is good.
const RENEWAL_PAUSE: Duration = Duration::from_secs(5);

/// Why tokens are needed.
#[derive(Clone, Debug)]
pub(super) enum Need {
    /// The current tokens expire.
    Renewal,
    /// The server refused a request.
    Refusal {
        challenge: BearerChallenge,
        /// The token was fine, but does not allow enough.
        is_step_up: bool,
        /// The token of the request.
        sent: Option<Secret>,
    },
}

impl Need {
    pub(super) fn sent(&self) -> Option<&Secret> {
        match self {
            Self::Renewal => None,
            Self::Refusal { sent, .. } => sent.as_ref(),
        }
    }

    fn is_met_by(&self, tokens: &Tokens) -> bool {
        let enough = match self {
            Self::Refusal { challenge, is_step_up: true, .. } => {
                covers(&tokens.scopes, &challenge.scopes().unwrap_or_default())
            }
            _ => true,
        };
        enough && tokens.is_fresh() && Some(&tokens.access) != self.sent()
    }
}

/// The authorization at one server.
pub(super) struct Core {
    pub(super) settings: Settings,
    pub(super) fetch: Fetch,
    key: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_loaded: bool,
    entry: Entry,
    servers: HashMap<String, AuthorizationServer>,
    step_ups: usize,
    waits_for: Option<String>,
    renewal_failed: Option<Instant>,
}

impl Core {
    pub(super) fn new(url: &str, settings: Settings, network: Network) -> Result<Self, String> {
        let fetch = Fetch::new(url, settings.redactor(), network)?;
        Ok(Self { key: settings.key(&fetch), settings, fetch, state: Mutex::default() })
    }

    /// Reads the stored state once.
    pub(super) async fn load(&self) -> Result<(), String> {
        if !lock(&self.state).is_loaded {
            let entry = self.read().await?;
            let mut state = lock(&self.state);
            if !state.is_loaded {
                state.adopt(entry, &self.fetch.redactor);
            }
        }
        Ok(())
    }

    /// Returns the token that a request can be sent with.
    pub(super) fn token(&self) -> Option<Secret> {
        lock(&self.state).entry.tokens().filter(|tokens| tokens.is_usable()).map(|tokens| tokens.access.clone())
    }

    /// Returns the stored tokens without their values.
    pub(super) async fn stored(&self) -> Result<Option<StoredAuthorization>, String> {
        self.load().await?;
        let entry = &lock(&self.state).entry;
        Ok(entry.tokens().zip(entry.current.clone()).map(|(tokens, issuer)| StoredAuthorization {
            issuer,
            scopes: tokens.scopes.clone(),
            expires: tokens.expires.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds))),
            is_renewable: tokens.refresh.is_some(),
        }))
    }

    /// Removes the stored state. Returns `true` if there were tokens.
    pub(super) async fn forget(&self) -> Result<bool, String> {
        let had_tokens = self.stored().await?.is_some();
        let _lock = self.lock().await?;
        self.with_store(|store, key| store.remove(key)).await?;
        lock(&self.state).adopt(Entry::default(), &self.fetch.redactor);
        Ok(had_tokens)
    }

    /// Returns `true` if the token expires soon and can be refreshed.
    pub(super) fn may_renew(&self) -> bool {
        let state = lock(&self.state);
        let pauses = state.renewal_failed.is_some_and(|failed| failed.elapsed() < RENEWAL_PAUSE);
        let ends = |tokens: &Tokens| !tokens.is_fresh() && tokens.refresh.is_some() && !(pauses && tokens.is_usable());
        state.entry.tokens().is_some_and(ends)
    }

    pub(super) fn renewal_failed(&self, error: &str) {
        tracing::warn!("failed to renew the tokens: {error}");
        lock(&self.state).renewal_failed = Some(Instant::now());
    }

    pub(super) fn has_what(&self, need: &Need) -> bool {
        lock(&self.state).entry.tokens().is_some_and(|tokens| need.is_met_by(tokens))
    }

    pub(super) fn has_other_than(&self, sent: Option<&Secret>) -> bool {
        self.token().is_some_and(|token| Some(&token) != sent)
    }

    pub(super) fn waits_for(&self) -> Option<String> {
        lock(&self.state).waits_for.clone()
    }

    pub(super) fn wait_for(&self, what: Option<String>) {
        lock(&self.state).waits_for = what;
    }

    /// Obtains tokens. A lock excludes other tasks and other processes that share the store.
    pub(super) async fn obtain(&self, need: Need) -> Result<(), String> {
        let _lock = self.lock().await?;
        let mut entry = self.read().await?;
        if entry.tokens().is_some_and(|tokens| need.is_met_by(tokens)) {
            // Somebody else was faster.
            lock(&self.state).adopt(entry, &self.fetch.redactor);
            return Ok(());
        }
        let before = entry.clone();
        let outcome = match &need {
            Need::Renewal => self.renew(&mut entry).await,
            Need::Refusal { challenge, is_step_up, .. } => self.answer(&mut entry, challenge, *is_step_up).await,
        };
        lock(&self.state).adopt(entry.clone(), &self.fetch.redactor);
        if entry != before {
            self.write(&entry).await?;
        }
        outcome
    }

    async fn renew(&self, entry: &mut Entry) -> Result<(), String> {
        let Some(issuer) = entry.current.clone() else { return Ok(()) };
        let known = lock(&self.state).servers.get(&issuer).cloned();
        let server = match known {
            Some(server) => server,
            None => authorization_server(&self.fetch, &issuer).await?,
        };
        self.refresh(entry.issued(&issuer), &server).await?;
        lock(&self.state).servers.insert(issuer, server);
        Ok(())
    }

    /// Refreshes tokens. If the server refuses, the access token is used until it expires, and the next request
    /// receives a challenge.
    async fn refresh(&self, issued: &mut Issued, server: &AuthorizationServer) -> Result<bool, String> {
        let Some(tokens) = issued.tokens.clone() else { return Ok(false) };
        let (Some(refresh), Some(client)) = (&tokens.refresh, self.known_client(issued, &tokens, server)) else {
            return Ok(false);
        };
        let grant = vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", refresh.expose().to_owned())];
        match self.tokens(&client, server, (&tokens.resource, &tokens.scopes), grant).await {
            Ok(mut renewed) => {
                renewed.refresh = renewed.refresh.or(tokens.refresh);
                issued.tokens = Some(renewed);
                Ok(true)
            }
            Err(GrantError::Refused { code, error }) => {
                tracing::info!("failed to renew the tokens, requesting new ones: {error}");
                issued.tokens = Some(Tokens { refresh: None, ..tokens }).filter(Tokens::is_usable);
                if code == "invalid_client" || code == "unauthorized_client" {
                    issued.client = None;
                }
                Ok(false)
            }
            Err(GrantError::Failed(error)) => Err(error),
        }
    }

    /// Returns the client that tokens were given to.
    fn known_client(&self, issued: &Issued, tokens: &Tokens, server: &AuthorizationServer) -> Option<Client> {
        let clients = [
            registration::configured(&self.settings, server),
            registration::by_metadata(&self.settings),
            issued.client.clone(),
        ];
        clients.into_iter().flatten().find(|client| client.id == tokens.client_id)
    }

    async fn answer(&self, entry: &mut Entry, challenge: &BearerChallenge, is_step_up: bool) -> Result<(), String> {
        // Discovery runs each time, because a server may have moved to another authorization server.
        let found = discover(&self.fetch, challenge, self.settings.issuer.as_deref()).await?;
        let issuer = found.server.issuer.clone();
        lock(&self.state).servers.insert(issuer.clone(), found.server.clone());
        entry.current = Some(issuer.clone());
        let issued = entry.issued(&issuer);
        let granted = issued.tokens.as_ref().map(|tokens| tokens.scopes.clone()).unwrap_or_default();
        let challenged = challenge.scopes();
        if is_step_up {
            self.may_step_up(&granted, challenged.as_deref().unwrap_or_default())?;
        } else {
            let covers = covers(&granted, challenged.as_deref().unwrap_or_default());
            if covers && self.refresh(issued, &found.server).await? {
                return Ok(());
            }
            // The access token is useless. The refresh token stays, because no user may be present to grant another.
            let renewable = issued.tokens.take().filter(|tokens| !covers && tokens.refresh.is_some());
            issued.tokens = renewable.map(|tokens| Tokens { expires: Some(0), ..tokens });
        }
        let scopes = select(Known {
            configured: self.settings.scopes.as_deref(),
            challenged,
            of_resource: found.scopes.as_deref(),
            of_server: found.server.scopes.as_deref(),
            granted: &granted,
        });
        issued.tokens = Some(self.ask(issued, &found, &scopes).await?);
        Ok(())
    }

    fn may_step_up(&self, granted: &[String], wanted: &[String]) -> Result<(), String> {
        if covers(granted, wanted) {
            return Err(
                "the server rejected the token's scopes (insufficient_scope), but requires no other scope".to_owned()
            );
        }
        let mut state = lock(&self.state);
        state.step_ups += 1;
        if state.step_ups > STEP_UPS {
            return Err(format!(
                "the server asked for more scopes more than {STEP_UPS} times; set all of them with `OAuth::scopes`"
            ));
        }
        Ok(())
    }

    async fn lock(&self) -> Result<StoreLock, String> {
        let patience = self.settings.patience;
        let until = Instant::now().checked_add(patience);
        loop {
            if let Some(lock) = self.with_store(|store, key| store.try_lock(key)).await? {
                return Ok(lock);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(format!(
                    "another process has been requesting tokens for this server for {patience:?}; wait for it, or end \
                     it"
                ));
            }
            sleep(LOCK_PAUSE).await;
        }
    }

    async fn read(&self) -> Result<Entry, String> {
        let stored = self.with_store(|store, key| store.load(key)).await?;
        Ok(stored.as_ref().map(Entry::parse).unwrap_or_default())
    }

    async fn write(&self, entry: &Entry) -> Result<(), String> {
        let text = entry.print();
        self.with_store(move |store, key| store.save(key, &text)).await
    }

    async fn with_store<T: Send + 'static>(
        &self,
        run: impl FnOnce(&dyn TokenStore, &str) -> Result<T, TokenStoreError> + Send + 'static,
    ) -> Result<T, String> {
        let (store, key): (Arc<dyn TokenStore>, _) = (self.settings.store.clone(), self.key.clone());
        let run = tokio::task::spawn_blocking(move || run(store.as_ref(), &key));
        let failed = |why: String| format!("the token store failed: {why}");
        run.await.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))
    }
}

impl State {
    fn adopt(&mut self, entry: Entry, redactor: &Redactor) {
        self.is_loaded = true;
        for issued in entry.issuers.values() {
            let client = issued.client.as_ref().and_then(|client| client.secret.as_ref());
            let tokens = issued.tokens.iter().flat_map(|tokens| [Some(&tokens.access), tokens.refresh.as_ref()]);
            tokens.chain([client]).flatten().for_each(|secret| redactor.learn(secret.expose()));
        }
        self.entry = entry;
    }
}
