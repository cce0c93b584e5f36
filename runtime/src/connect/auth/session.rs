//! The authorization of the requests to one server: one task at a time obtains tokens, and all requests wait for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderValue, StatusCode};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::challenge::BearerChallenge;
use super::obtain::{Core, Need};
use super::secret::Secret;
use super::settings::Settings;
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::transports::http::authorization::{Authorizer, Challenge};
use crate::rpc::transports::http::network::Network;

const SCHEME: &str = "Bearer ";
/// The number of attempts to wait for: another request's attempt may have had a different purpose.
const ATTEMPTS: usize = 2;
/// How long a request waits for a renewal while its token is good.
const RENEWAL_WAIT: Duration = Duration::from_secs(1);

type Outcome = Option<Result<(), String>>;

/// Authorizes the requests to one server, over all its connections.
pub(crate) struct Session {
    pub(super) core: Arc<Core>,
    attempt: Mutex<Option<Attempt>>,
}

/// An attempt to obtain tokens. It continues without waiting requests, because a user may take longer than a request.
struct Attempt {
    is_renewal: bool,
    outcome: watch::Receiver<Outcome>,
    task: AbortHandle,
}

impl Attempt {
    fn is_running(&self) -> bool {
        self.outcome.borrow().is_none() && self.outcome.has_changed().is_ok()
    }
}

impl Session {
    pub(super) fn new(url: &str, settings: Settings, network: Network) -> Result<Self, String> {
        Ok(Self { core: Arc::new(Core::new(url, settings, network)?), attempt: Mutex::default() })
    }

    async fn obtain(&self, need: Need) -> Result<(), String> {
        let is_renewal = matches!(need, Need::Renewal);
        let (mut outcome, is_of_others) = {
            let mut slot = lock(&self.attempt);
            match slot.as_ref().filter(|attempt| attempt.is_running()) {
                Some(attempt) => (attempt.outcome.clone(), attempt.is_renewal && !is_renewal),
                None => (slot.insert(self.begin(need)).outcome.clone(), false),
            }
        };
        let given_up = || "the authorization was cancelled".to_owned();
        let settled = outcome.wait_for(Option::is_some).await.map_err(|_| given_up())?;
        // A failed refresh does not show whether another way to obtain tokens works.
        if is_of_others { Ok(()) } else { settled.clone().unwrap_or_else(|| Err(given_up())) }
    }

    fn begin(&self, need: Need) -> Attempt {
        let (sender, outcome) = watch::channel(None);
        let core = self.core.clone();
        let is_renewal = matches!(need, Need::Renewal);
        let task = tokio::spawn(async move {
            let settled = core.obtain(need).await;
            if let (true, Err(error)) = (is_renewal, &settled) {
                core.renewal_failed(error);
            }
            sender.send_replace(Some(settled));
        });
        Attempt { is_renewal, outcome, task: task.abort_handle() }
    }

    async fn next_header(&self) -> Result<Option<HeaderValue>, String> {
        self.core.load().await?;
        if self.core.may_renew() {
            let renewal = self.obtain(Need::Renewal);
            if self.core.token().is_none() {
                renewal.await?;
            } else {
                // However it ends, the token is still good.
                let _ = timeout(RENEWAL_WAIT, renewal).await;
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
        let sent = challenge.sent.as_ref().and_then(|header| header.to_str().ok());
        let sent = sent.and_then(|header| header.strip_prefix(SCHEME)).map(Secret::new);
        let need = Need::Refusal { challenge: bearer, is_step_up, sent };
        if self.core.has_what(&need) {
            return Ok(true);
        }
        for _ in 0..ATTEMPTS {
            self.obtain(need.clone()).await?;
            if self.core.has_other_than(need.sent()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Authorizer for Session {
    fn header(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, String>> {
        Box::pin(self.next_header())
    }

    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<bool, String>> {
        Box::pin(self.answer(challenge))
    }

    fn waits_for(&self) -> Option<String> {
        self.core.waits_for()
    }

    fn extra_time(&self) -> Option<Duration> {
        let settings = &self.core.settings;
        (settings.waits_for_user && self.core.waits_for().is_some()).then_some(settings.patience)
    }

    fn redactor(&self) -> &Redactor {
        &self.core.fetch.redactor
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(attempt) = lock(&self.attempt).take() {
            attempt.task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connecting_takes_longer_only_while_a_user_must_act_and_is_waited_for() {
        let session = |waits_for_user| {
            let settings = Settings { waits_for_user, ..Settings::default() };
            Session::new("https://a.example/mcp", settings, Network::default()).expect("a session")
        };
        let (waiting, other) = (session(true), session(false));
        assert_eq!(waiting.extra_time(), None);
        for session in [&waiting, &other] {
            session.core.wait_for(Some("waiting for a user".to_owned()));
        }
        assert_eq!((waiting.extra_time(), other.extra_time()), (Some(Settings::default().patience), None));
    }
}
