//! What a program sets on a client beyond the configuration of its server.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::handler::{ElicitationAnswer, ElicitationRequest, Elicitor};

/// How long a connection and a call may take where nothing else is said.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Options of a [`Client`](crate::Client).
#[derive(Clone, Default)]
pub struct ClientOptions {
    timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    protocol_version: Option<String>,
    capabilities: Option<Value>,
    elicitor: Option<Elicitor>,
}

impl ClientOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long a call may take where the server's configuration does not say; 30 seconds by default.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long connecting may take; as long as a call by default.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// The protocol version to try first.
    #[must_use]
    pub fn protocol_version(mut self, version: impl Into<String>) -> Self {
        self.protocol_version = Some(version.into());
        self
    }

    /// The client capabilities to declare, as JSON; the list of tools may depend on them.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Answers what the server asks of the user in the middle of a call, and declares that it can be asked.
    #[must_use]
    pub fn on_elicitation<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(ElicitationRequest) -> A + Send + Sync + 'static,
        A: Future<Output = ElicitationAnswer> + Send + 'static,
    {
        self.elicitor = Some(Arc::new(move |request| Box::pin(answer(request))));
        self
    }

    pub(crate) fn call_timeout(&self, configured: Option<Duration>) -> Duration {
        configured.or(self.timeout).unwrap_or(DEFAULT_TIMEOUT)
    }

    pub(crate) fn connect_timeout_or(&self, call_timeout: Duration) -> Duration {
        self.connect_timeout.unwrap_or(call_timeout)
    }

    pub(crate) fn version_hint(&self) -> Option<&str> {
        self.protocol_version.as_deref()
    }

    pub(crate) fn declared_capabilities(&self) -> Value {
        let mut capabilities = self.capabilities.clone().unwrap_or_else(|| json!({}));
        if let (Some(_), Value::Object(declared)) = (&self.elicitor, &mut capabilities) {
            declared.entry("elicitation").or_insert_with(|| json!({}));
        }
        capabilities
    }

    pub(crate) fn elicitor(&self) -> Option<&Elicitor> {
        self.elicitor.as_ref()
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("timeout", &self.timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("protocol_version", &self.protocol_version)
            .field("capabilities", &self.capabilities)
            .field("on_elicitation", &self.elicitor.is_some())
            .finish()
    }
}
