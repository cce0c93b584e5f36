//! All layers in their order.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tower::Service;

#[cfg(feature = "validation")]
use super::Validate;
use super::demands::{Admission, Announced, Consent, Sameness, Views};
use super::layer::Called;
use super::limits::{TotalCap, TryTimeout};
use super::{Approval, Cache, Policy, RateLimit, Retry, SequentialDependency, Transaction};
use crate::call::events::{Events, Observer};
use crate::call::{Offer, ServiceFuture};
use crate::{
    CallError, CallTool, Client, GetPrompt, PromptRequest, PromptResult, ReadResource, ResourceRequest, ResourceResult,
    ToolCall, ToolResult,
};

/// Layers around a client, in a fixed order, outermost first:
///
/// 1. events: a call is reported once, whatever the layers below do,
/// 2. the cap on the whole call,
/// 3. policies: first those of the configuration (`tools`, `exclude`), then those of the program,
/// 4. sequential dependencies,
/// 5. approvals: first those of the configuration (`approve`), then those of the program,
/// 6. validation,
/// 7. drift, as configured,
/// 8. transactions,
/// 9. caches,
/// 10. retries,
/// 11. rate limits: each attempt counts,
/// 12. the timeout of each attempt,
/// 13. the client.
///
/// Thus a denied call asks for no approval, and a call without approval never waits for the server. Cached results are
/// governed like fresh ones. Among several layers of one kind, the first is outermost. The shortest cap and timeout
/// apply, and the last retry and validation. A transaction or a cache inside a clone of itself passes calls through.
/// Prompts and resources are passed through.
///
/// ```
/// use std::time::Duration;
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{Approval, ApprovalAnswer, Cache, Policy, Retry, Stack};
///
/// let stack = Stack::new(Client::new(ServerConfig::stdio("files", "my-mcp-server")))
///     .policy(Policy::deny(["delete_*"]))
///     .approval(Approval::of_destructive(async |_| ApprovalAnswer::Decline("not today".to_owned())))
///     .cache(Cache::new(Duration::from_secs(60)))
///     .retry(Retry::new())
///     .try_timeout(Duration::from_secs(10))
///     .total_cap(Duration::from_secs(60));
/// // Files::with(stack).list(params).await?
/// # let _ = stack;
/// ```
#[must_use]
pub struct Stack<C> {
    inner: Arc<C>,
    layers: Layers,
    service: Called,
}

/// Those of a program; of each kind in the order in which they were given.
#[derive(Clone, Default)]
struct Layers {
    /// The observer of calls if the inner service has none: a fake, or a stack.
    observer: Arc<Observer>,
    total_cap: Option<TotalCap>,
    policies: Vec<Policy>,
    sequences: Vec<SequentialDependency>,
    approvals: Vec<Approval>,
    #[cfg(feature = "validation")]
    validate: Option<Validate>,
    transactions: Vec<Transaction>,
    caches: Vec<Cache>,
    retry: Option<Retry>,
    rate_limits: Vec<RateLimit>,
    try_timeout: Option<TryTimeout>,
}

impl<C: CallTool + 'static> Stack<C> {
    /// Creates a stack with the layers that the client's configuration requires.
    pub fn new(client: C) -> Self {
        let inner = Arc::new(client);
        let layers = Layers::default();
        Self { service: layers.around(&inner), inner, layers }
    }

    /// Limits a whole call, including approvals, waiting for other calls, all attempts and the pauses between them. A
    /// call that exceeds it ends with [`CallError::Timeout`], which shows whether the server may have received it.
    /// Timeouts of the call and of the configuration still apply.
    pub fn total_cap(self, cap: Duration) -> Self {
        self.with(|layers| layers.total_cap = Some(TotalCap::shortest(cap, layers.total_cap)))
    }

    /// Adds a policy. All policies must allow a call.
    pub fn policy(self, policy: Policy) -> Self {
        self.with(|layers| layers.policies.push(policy))
    }

    /// Adds a dependency. With several, a call must satisfy all of them.
    pub fn sequential(self, dependency: SequentialDependency) -> Self {
        self.with(|layers| layers.sequences.push(dependency))
    }

    /// Adds an approval. All approvals for a call must be granted.
    pub fn approval(self, approval: Approval) -> Self {
        self.with(|layers| layers.approvals.push(approval))
    }

    /// Checks arguments and results against their schemas.
    #[cfg(feature = "validation")]
    pub fn validate(self, validate: Validate) -> Self {
        self.with(|layers| layers.validate = Some(validate))
    }

    /// Adds a transaction.
    pub fn transaction(self, transaction: Transaction) -> Self {
        self.with(|layers| layers.transactions.push(transaction))
    }

    /// Adds a cache.
    pub fn cache(self, cache: Cache) -> Self {
        self.with(|layers| layers.caches.push(cache))
    }

    /// Tries calls again.
    pub fn retry(self, retry: Retry) -> Self {
        self.with(|layers| layers.retry = Some(retry))
    }

    /// Limits the attempts of calls in a time; with several, all of them hold.
    pub fn rate_limit(self, limit: RateLimit) -> Self {
        self.with(|layers| layers.rate_limits.push(limit))
    }

    /// Limits each attempt of a call, including connecting, in addition to the timeouts of the call and the
    /// configuration.
    pub fn try_timeout(self, timeout: Duration) -> Self {
        self.with(|layers| layers.try_timeout = Some(TryTimeout::shortest(timeout, layers.try_timeout)))
    }

    fn with(mut self, add: impl FnOnce(&mut Layers)) -> Self {
        add(&mut self.layers);
        self.service = self.layers.around(&self.inner);
        self
    }
}

impl<C: CallTool> Stack<C> {
    /// Subscribes to events of this stack's calls, one for each call. Around a client these are the client's
    /// [`events`](crate::Client::events), around another stack those of that stack; around anything else, such as a
    /// [`Fake`](crate::Fake), they are the stack's own.
    ///
    /// ```
    /// use mcp_bindgen_runtime::Fake;
    /// use mcp_bindgen_runtime::middleware::Stack;
    ///
    /// let events = Stack::new(Fake::new()).events();
    /// # let _ = events;
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        self.layers.observer_of(&self.inner).subscribe()
    }
}

impl<C> Stack<C> {
    /// Returns the service inside the layers.
    pub fn inner(&self) -> &C {
        &self.inner
    }
}

impl Layers {
    /// Returns the observer of this stack.
    fn observer_of(&self, inner: &impl CallTool) -> Arc<Observer> {
        inner.offer().observer().unwrap_or(&self.observer).clone()
    }

    /// Builds the layers in their order, from the client outwards.
    fn around<C: CallTool + 'static>(&self, inner: &Arc<C>) -> Called {
        let viewing = inner.offer().client::<Client>().filter(|client| !client.config().views.is_empty()).cloned();
        let client = inner.offer().ungoverned::<Client>().cloned();
        let service = Called::new(inner.clone())
            .within_all(self.try_timeout.as_slice())
            .within_all(&self.rate_limits)
            .within_all(self.retry.as_slice())
            .within_all(&self.caches)
            .within_all(&self.transactions)
            .within_all(client.clone().map(Sameness).as_slice());
        #[cfg(feature = "validation")]
        let service = service.within_all(self.validate.as_slice());
        service
            .within_all(client.clone().map(Consent).as_slice())
            .within_all(&self.approvals)
            .within_all(&self.sequences)
            .within_all(&self.policies)
            .within_all(client.map(Admission).as_slice())
            .within_all(self.total_cap.as_slice())
            .within(Announced(self.observer_of(inner)))
            .within_all(viewing.map(Views).as_slice())
    }
}

impl<C: CallTool> CallTool for Stack<C> {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        self.service.call(call).await
    }

    fn offer(&self) -> Offer {
        let policies = self.layers.policies.clone();
        let offer = self.inner.offer().governed().observed_by(self.layers.observer.clone());
        offer.if_admitted(move |tool| policies.iter().all(|policy| policy.admits(tool)))
    }
}

impl<C> Service<ToolCall> for Stack<C> {
    type Response = ToolResult;
    type Error = CallError;
    type Future = ServiceFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> ServiceFuture {
        self.service.call(call)
    }
}

impl<C> Clone for Stack<C> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layers: self.layers.clone(), service: self.service.clone() }
    }
}

impl<C: GetPrompt> GetPrompt for Stack<C> {
    fn get_prompt(&self, request: PromptRequest) -> impl Future<Output = Result<PromptResult, CallError>> + Send {
        self.inner.get_prompt(request)
    }
}

impl<C: ReadResource> ReadResource for Stack<C> {
    fn read_resource(
        &self,
        request: ResourceRequest,
    ) -> impl Future<Output = Result<ResourceResult, CallError>> + Send {
        self.inner.read_resource(request)
    }
}

impl<C: fmt::Debug> fmt::Debug for Stack<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("inner", &self.inner).finish_non_exhaustive()
    }
}
