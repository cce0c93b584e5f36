//! The authorization at one server: one task at a time obtains tokens, stored, renewed or new ones, and all requests wait
//! for it.
//!
//! Dropping a future of `Session` only stops waiting. Dropping `Core::obtain`, as the end of the session does, releases
//! the lock; tokens that were granted and not yet adopted are lost. A method of the store that `with_store` has begun runs
//! to its end, so that saving is whole.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use http::{HeaderValue, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::discovery::{
    AuthorizationServer, BearerChallenge, Found, authorization_server, discover, is_same_issuer, texts,
};
use super::entry::{Client, Entry, Tokens};
use super::fetch::{Fetch, Refusal};
use super::secret::Secret;
use super::settings::Settings;
use super::store::{StoreLock, TokenStore, TokenStoreError};
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::transports::http::authorization::{Authorizer, Challenge};

/// The scope for a refresh token.
pub(super) const OFFLINE_ACCESS: &str = "offline_access";
const SCHEME: &str = "Bearer ";
/// The number of attempts to wait for: another request's attempt may have had a different purpose.
const ATTEMPTS: usize = 2;
/// The time that a request waits for a renewal while its token is good.
const RENEWAL_WAIT: Duration = Duration::from_secs(1);
/// The pause after a failed renewal while the token is good.
const RENEWAL_PAUSE: Duration = Duration::from_secs(5);
/// The number of requests for more scopes at one server.
const STEP_UPS: usize = 3;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Authorizes the requests to one server, over all its connections.
pub(crate) struct Session {
    pub(super) core: Arc<Core>,
    /// The latest attempt to obtain tokens, and whether it is a renewal. It continues without waiting requests, because a
    /// user may take longer than a request. Dropping it ends its task.
    attempt: Mutex<Option<(bool, Attempt)>>,
}

type Attempt = Shared<BoxFuture<'static, Result<(), String>>>;

/// The reason to obtain tokens.
#[derive(Clone)]
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
    fn is_met_by(&self, tokens: Option<&Tokens>) -> bool {
        match self {
            // Without tokens, as after a logout in another process, there is nothing to renew.
            Self::Renewal => tokens.is_none_or(Tokens::is_fresh),
            Self::Refusal { challenge, is_step_up, sent } => tokens.is_some_and(|tokens| {
                let is_enough = !is_step_up || covers(&tokens.scopes, &challenge.scopes);
                is_enough && tokens.is_fresh() && Some(&tokens.access) != sent.as_ref()
            }),
        }
    }
}

impl Session {
    pub(super) fn new(settings: Settings, fetch: Fetch) -> Self {
        Self { core: Arc::new(Core::new(settings, fetch)), attempt: Mutex::default() }
    }

    /// Waits for the running attempt, or for a new one.
    async fn obtain(&self, need: Need) -> Result<(), String> {
        let is_renewal = matches!(need, Need::Renewal);
        let (renews, attempt) = {
            let mut latest = lock(&self.attempt);
            let running = latest.clone().filter(|(_, attempt)| attempt.clone().now_or_never().is_none());
            running.unwrap_or_else(|| latest.insert((is_renewal, self.begin(need))).clone())
        };
        let outcome = attempt.await;
        // A failed renewal does not show whether another way to obtain tokens works.
        if renews && !is_renewal { Ok(()) } else { outcome }
    }

    fn begin(&self, need: Need) -> Attempt {
        let core = self.core.clone();
        let mut task = JoinSet::new();
        task.spawn(async move { core.obtain(&need).await });
        let outcome = async move {
            let outcome = task.join_next().await.and_then(Result::ok);
            outcome.unwrap_or_else(|| Err("the authorization was cancelled".to_owned()))
        };
        outcome.boxed().shared()
    }

    async fn next_header(&self) -> Result<Option<HeaderValue>, String> {
        self.core.load().await?;
        if self.core.may_renew() {
            let renewal = self.obtain(Need::Renewal);
            match self.core.token() {
                None => renewal.await?,
                // However it ends, the token is still good.
                Some(_) => drop(timeout(RENEWAL_WAIT, renewal).await),
            }
        }
        let Some(token) = self.core.token() else { return Ok(None) };
        let header = HeaderValue::from_str(&format!("{SCHEME}{}", token.expose()));
        let mut header = header.map_err(|_| "the access token has characters that a header cannot contain")?;
        header.set_sensitive(true);
        Ok(Some(header))
    }

    async fn answer(&self, challenge: Challenge) -> Result<bool, String> {
        let bearer = BearerChallenge::parse(&challenge.values);
        let is_step_up = challenge.status == StatusCode::FORBIDDEN;
        if is_step_up && bearer.error.as_deref() != Some("insufficient_scope") {
            return Ok(false);
        }
        let sent = challenge.sent.as_ref().and_then(|header| header.to_str().ok()?.strip_prefix(SCHEME));
        let sent = sent.map(Secret::new);
        let need = Need::Refusal { challenge: bearer, is_step_up, sent: sent.clone() };
        // A late refusal of an earlier token waits for nobody.
        if need.is_met_by(lock(&self.core.entry).as_ref().and_then(|entry| entry.tokens.as_ref())) {
            return Ok(true);
        }
        for _ in 0..ATTEMPTS {
            self.obtain(need.clone()).await?;
            let token = self.core.token();
            if token.is_some() && token != sent {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Authorizer for Session {
    fn header(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, String>> {
        self.next_header().boxed()
    }

    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<bool, String>> {
        self.answer(challenge).boxed()
    }

    fn waits_for(&self) -> Option<String> {
        lock(&self.core.waits_for).clone()
    }

    fn extra_time(&self) -> Option<Duration> {
        let settings = &self.core.settings;
        (settings.waits_for_user && self.waits_for().is_some()).then_some(settings.patience())
    }

    fn redactor(&self) -> &Redactor {
        &self.core.fetch.redactor
    }
}

/// The part of a session that its task shares.
pub(super) struct Core {
    pub(super) settings: Settings,
    pub(super) fetch: Fetch,
    /// The action of a user that the task waits for.
    pub(super) waits_for: Mutex<Option<String>>,
    /// The state that requests use: `None` until it is read from the store.
    entry: Mutex<Option<Entry>>,
    step_ups: AtomicUsize,
    renewal_failed: Mutex<Option<Instant>>,
}

impl Core {
    pub(super) fn new(settings: Settings, fetch: Fetch) -> Self {
        let (waits_for, entry, step_ups, renewal_failed) = Default::default();
        Self { settings, fetch, waits_for, entry, step_ups, renewal_failed }
    }

    /// Reads the stored state once.
    async fn load(&self) -> Result<(), String> {
        if lock(&self.entry).is_none() {
            let stored = self.read().await?;
            lock(&self.entry).get_or_insert(stored);
        }
        Ok(())
    }

    /// Returns the token that a request can be sent with.
    fn token(&self) -> Option<Secret> {
        let entry = lock(&self.entry);
        let tokens = entry.as_ref()?.tokens.as_ref()?;
        tokens.is_usable().then(|| tokens.access.clone())
    }

    /// Returns `true` if the token expires soon and can be renewed.
    fn may_renew(&self) -> bool {
        let pauses = lock(&self.renewal_failed).is_some_and(|failed| failed.elapsed() < RENEWAL_PAUSE);
        let ends = |tokens: &Tokens| !tokens.is_fresh() && tokens.refresh.is_some() && !(pauses && tokens.is_usable());
        lock(&self.entry).as_ref().and_then(|entry| entry.tokens.as_ref()).is_some_and(ends)
    }

    /// Removes the stored state. Returns `true` if there were tokens.
    pub(super) async fn forget(&self) -> Result<bool, String> {
        let _lock = self.lock().await?;
        let had_tokens = self.read().await?.tokens.is_some();
        self.with_store(|store, key| store.remove(key)).await?;
        // A request that reads the stored state meanwhile does not bring it back.
        *lock(&self.entry) = Some(Entry::default());
        Ok(had_tokens)
    }

    /// Obtains tokens. A failed renewal is not repeated for a while, because the token may still be good. Errors are
    /// redacted here, logs where they are written.
    async fn obtain(&self, need: &Need) -> Result<(), String> {
        let outcome = self.obtain_locked(need).await.map_err(|error| self.fetch.shown(&error));
        if let (Err(error), Need::Renewal) = (&outcome, need) {
            tracing::warn!("failed to renew the tokens: {error}");
            *lock(&self.renewal_failed) = Some(Instant::now());
        }
        outcome
    }

    /// Obtains tokens under a lock, which excludes other tasks and other processes that share the store.
    async fn obtain_locked(&self, need: &Need) -> Result<(), String> {
        let _lock = self.lock().await?;
        let mut entry = self.read().await?;
        let before = entry.clone();
        let outcome = match need {
            // Somebody else was faster.
            _ if need.is_met_by(entry.tokens.as_ref()) => Ok(()),
            Need::Renewal => match authorization_server(&self.fetch, &entry.issuer).await {
                Ok(server) => self.refresh(&mut entry, &server).await.map(drop),
                Err(error) => Err(error),
            },
            Need::Refusal { challenge, is_step_up, .. } => self.answer(&mut entry, challenge, *is_step_up).await,
        };
        // Discovery may name another issuer by mistake, so tokens stay until that one has granted some.
        if outcome.is_err() && entry.issuer != before.issuer && before.tokens.is_some() {
            entry = before.clone();
        }
        self.learn(&entry);
        *lock(&self.entry) = Some(entry.clone());
        if entry != before {
            let text = entry.print();
            self.with_store(move |store, key| store.save(key, &text)).await?;
        }
        outcome
    }

    /// Refreshes tokens, and returns `false` if that is not possible. If the server refuses, the access token is used until
    /// it expires, and the next request receives a challenge.
    async fn refresh(&self, entry: &mut Entry, server: &AuthorizationServer) -> Result<bool, String> {
        let Some(tokens) = entry.tokens.clone() else { return Ok(false) };
        // Tokens of a client with a metadata URL are renewed even if the server takes no new ones.
        let by_url = self.settings.metadata_url.clone().map(|url| Client::new(url, None));
        let mut clients = self.settings.clients(server, entry.client.clone()).into_iter().chain(by_url);
        let client = clients.find(|client| client.id == tokens.client_id);
        let (Some(refresh), Some(client)) = (&tokens.refresh, client) else { return Ok(false) };
        let grant = vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", refresh.expose().to_owned())];
        match self.tokens(&client, server, &tokens.resource, &tokens.scopes, grant).await {
            Ok(renewed) => {
                entry.tokens = Some(Tokens { refresh: renewed.refresh.or(tokens.refresh), ..renewed });
                Ok(true)
            }
            Err(Refusal { message, code: Some(code) }) => {
                tracing::info!("failed to renew the tokens, requesting new ones: {}", self.fetch.shown(&message));
                entry.tokens = Some(Tokens { refresh: None, ..tokens }).filter(Tokens::is_usable);
                if code == "invalid_client" || code == "unauthorized_client" {
                    entry.client = None;
                }
                Ok(false)
            }
            Err(refusal) => Err(refusal.message),
        }
    }

    /// Obtains tokens that answer a challenge: refreshed ones, or those of a new authorization.
    async fn answer(&self, entry: &mut Entry, challenge: &BearerChallenge, is_step_up: bool) -> Result<(), String> {
        // Discovery runs each time, because a server may have moved to another authorization server.
        let found = discover(&self.fetch, challenge, self.settings.issuer.as_deref()).await?;
        if !is_same_issuer(&entry.issuer, &found.server.issuer) {
            *entry = Entry { issuer: found.server.issuer.clone(), ..Entry::default() };
        }
        let granted = entry.tokens.as_ref().map(|tokens| tokens.scopes.clone()).unwrap_or_default();
        match (is_step_up, covers(&granted, &challenge.scopes)) {
            (true, true) => {
                return Err(
                    "the server rejected the token's scopes (insufficient_scope), but requires no other scope".into()
                );
            }
            (true, false) if self.step_ups.fetch_add(1, Ordering::Relaxed) >= STEP_UPS => {
                return Err(format!(
                    "the server asked for more scopes more than {STEP_UPS} times; set all of them with `OAuth::scopes`"
                ));
            }
            (true, false) => {}
            (false, true) if self.refresh(entry, &found.server).await? => return Ok(()),
            (false, true) => entry.tokens = None,
            // The access token is useless. The refresh token stays, because no user may be present to grant another.
            (false, false) => entry.tokens.iter_mut().for_each(|tokens| tokens.expires = Some(0)),
        }
        let scopes = select(self.settings.scopes.as_deref(), &challenge.scopes, &found, &granted);
        entry.tokens = Some(self.ask(entry, &found, &scopes).await?);
        Ok(())
    }

    async fn lock(&self) -> Result<StoreLock, String> {
        let patience = self.settings.patience();
        let begun = Instant::now();
        loop {
            if let Some(lock) = self.with_store(|store, key| store.try_lock(key)).await? {
                return Ok(lock);
            }
            if begun.elapsed() >= patience {
                return Err(format!(
                    "another process has been requesting tokens for this server for {patience:?}; wait for it, or end it"
                ));
            }
            sleep(LOCK_PAUSE).await;
        }
    }

    /// Reads the stored state. An entry that is missing is an empty one.
    pub(super) async fn read(&self) -> Result<Entry, String> {
        let stored = self.with_store(|store, key| store.load(key)).await?;
        let entry = stored.as_ref().map(Entry::parse).unwrap_or_default();
        self.learn(&entry);
        Ok(entry)
    }

    async fn with_store<T: Send + 'static>(
        &self,
        run: impl FnOnce(&dyn TokenStore, &str) -> Result<T, TokenStoreError> + Send + 'static,
    ) -> Result<T, String> {
        let (store, key) = (self.settings.store.0.clone(), self.settings.key(&self.fetch));
        let run = tokio::task::spawn_blocking(move || run(store.as_ref(), &key)).await;
        let outcome = run.unwrap_or_else(|error| Err(TokenStoreError::new(error)));
        outcome.map_err(|error| format!("the token store failed: {error}"))
    }

    /// Adds the secrets of an entry to the redactor, before any of them is sent.
    fn learn(&self, entry: &Entry) {
        let client = entry.client.as_ref().and_then(|client| client.secret.as_ref());
        let tokens = entry.tokens.iter().flat_map(|tokens| [Some(&tokens.access), tokens.refresh.as_ref()]);
        tokens.chain([client]).flatten().for_each(|secret| self.fetch.redactor.learn(secret.expose()));
    }
}

/// Returns the scopes of a request, in the protocol's order: those that the program sets, or else those of the challenge,
/// or else all that the resource names, or none. Granted scopes are requested again, or one operation's token would lose
/// the scopes of another.
fn select(configured: Option<&[String]>, challenged: &[String], found: &Found, granted: &[String]) -> Vec<String> {
    let named = if challenged.is_empty() { &found.scopes } else { challenged };
    // A token that was not enough has to get the scopes of the challenge in any case.
    let missing: &[String] = if granted.is_empty() { &[] } else { challenged };
    let mut scopes = [granted, configured.unwrap_or(named), missing].concat();
    // Without any scope the server gives its default ones; naming this one alone would lose them.
    if !scopes.is_empty() {
        let supported = texts(&found.server.metadata, "scopes_supported");
        scopes.extend(supported.into_iter().filter(|scope| scope == OFFLINE_ACCESS));
    }
    let mut seen = HashSet::new();
    scopes.retain(|scope| seen.insert(scope.clone()));
    scopes
}

/// Returns `true` if `granted` contains all of `wanted`.
fn covers(granted: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|scope| granted.contains(scope))
}

#[cfg(test)]
mod tests;
