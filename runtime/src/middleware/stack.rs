//! All layers in their order, and callers behind layers of tower. A stack itself has the layers for events, and for the
//! demands of a client's configuration.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tower::{BoxError, Service, ServiceExt};
use tracing::Instrument;

#[cfg(feature = "validation")]
use super::Validate;
use super::attempts::Bounded;
use super::layer::{Around, Below, Layer};
use super::{Approval, Cache, Policy, RateLimit, Retry, SequentialDependency, Transaction};
use crate::call::events::{CallSpan, Events, Observer, report};
use crate::call::{LayerKind, Limit, Offer, ServiceFuture, wait};
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
/// 5. approvals: first those of the program, then that of the configuration (`approve`), unless one of them applied,
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
    /// The observer of the inner client, or a new one if it has none, as a fake.
    observer: Arc<Observer>,
    /// The layers in their order; those of one kind in the order in which they were added.
    layers: Arc<Vec<Layer>>,
    policies: Arc<Vec<Policy>>,
}

impl<C: CallTool + 'static> Stack<C> {
    /// Creates a stack with the layers that the client's configuration requires.
    pub fn new(client: C) -> Self {
        let offer = client.offer();
        let observer = offer.observer.clone().unwrap_or_default();
        let (inner, layers, policies) = (Arc::new(client), Arc::default(), Arc::default());
        let stack = Self { inner, observer: observer.clone(), layers, policies }.with(LayerKind::Events, observer);
        let Some(client) = offer.client::<Client>() else { return stack };
        let view = (!client.config().views.is_empty()).then_some(LayerKind::View);
        let governing = [LayerKind::Admission, LayerKind::Consent, LayerKind::Drift];
        let demands = view.into_iter().chain(governing.into_iter().filter(|_| !offer.is_governed));
        demands.fold(stack, |stack, kind| stack.with(kind, Demand(kind, client.clone())))
    }

    /// Limits a whole call, including approvals, waiting for other calls, all attempts and the pauses between them. A
    /// call that exceeds it ends with [`CallError::Timeout`], which shows whether the server may have received it.
    /// Timeouts of the call and of the configuration still apply.
    pub fn total_cap(self, cap: Duration) -> Self {
        self.with(LayerKind::TotalCap, Bounded(cap))
    }

    /// Adds a policy. All policies must allow a call.
    pub fn policy(mut self, policy: Policy) -> Self {
        Arc::make_mut(&mut self.policies).push(policy.clone());
        self.with(LayerKind::Policy, policy)
    }

    /// Adds a dependency. With several, a call must satisfy all of them.
    pub fn sequential(self, dependency: SequentialDependency) -> Self {
        self.with(LayerKind::SequentialDependency, dependency)
    }

    /// Adds an approval. All approvals for a call must be granted.
    pub fn approval(self, approval: Approval) -> Self {
        self.with(LayerKind::Approval, approval)
    }

    /// Checks arguments and results against their schemas. The last call of this method counts.
    #[cfg(feature = "validation")]
    pub fn validate(self, validate: Validate) -> Self {
        self.with(LayerKind::Validate, validate)
    }

    /// Adds a transaction.
    pub fn transaction(self, transaction: Transaction) -> Self {
        self.with(LayerKind::Transaction, transaction)
    }

    /// Adds a cache.
    pub fn cache(self, cache: Cache) -> Self {
        self.with(LayerKind::Cache, cache)
    }

    /// Repeats failed calls. The last call of this method counts.
    pub fn retry(self, retry: Retry) -> Self {
        self.with(LayerKind::Retry, retry)
    }

    /// Limits the attempts of calls in a time; with several, all of them hold.
    pub fn rate_limit(self, limit: RateLimit) -> Self {
        self.with(LayerKind::RateLimit, limit)
    }

    /// Limits each attempt of a call, including connecting, in addition to the timeouts of the call and the
    /// configuration.
    pub fn try_timeout(self, timeout: Duration) -> Self {
        self.with(LayerKind::TryTimeout, Bounded(timeout))
    }

    fn with(mut self, kind: LayerKind, layer: impl Around + 'static) -> Self {
        let layers = Arc::make_mut(&mut self.layers);
        // A later layer of these kinds replaces the earlier one.
        if matches!(kind, LayerKind::Validate | LayerKind::Retry) {
            layers.retain(|(other, _)| *other != kind);
        }
        let place = layers.partition_point(|(other, _)| *other <= kind);
        layers.insert(place, (kind, Arc::new(layer)));
        self
    }
}

/// Reports each call once, from its beginning to its end, whatever the layers below do.
impl Around for Arc<Observer> {
    async fn around(&self, call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        if call.passage.is_observed_by(self) {
            return below.call(call).await;
        }
        report(self, call, async |call| {
            let span = CallSpan::of_all(self, &call);
            let outcome = async { below.call(call).await }.instrument(span.span.clone()).await;
            span.end(&outcome);
            outcome
        })
        .await
    }
}

/// A key of the client's configuration, which the stack enforces instead of the client.
struct Demand(LayerKind, Client);

impl Around for Demand {
    async fn around(&self, mut call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        let Self(kind, client) = self;
        match kind {
            // `view`
            LayerKind::View => call = client.viewed(call)?,
            // `tools`, `exclude` and `[[policy]]`
            LayerKind::Admission => {
                // The client has one server, and the layers below use its name.
                if call.server != client.name() {
                    call.server = client.name().to_owned().into();
                }
                client.admit(&call).await?;
            }
            // `approve`
            LayerKind::Consent => client.ask_approval(&call).await?,
            // `drift`; the last one, after which the client itself has nothing left to check.
            LayerKind::Drift => {
                let begun = Instant::now();
                client.check_drift(&call).await?;
                call.options.spend(begun.elapsed());
                call.passage.guard_with(client.id());
            }
            // `new` adds no other.
            _ => return Err(call.denied("its configuration has a demand that is not known")),
        }
        below.call(call).await
    }
}

impl<C> Stack<C> {
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
        self.observer.subscribe()
    }

    /// Returns the service inside the layers.
    pub fn inner(&self) -> &C {
        &self.inner
    }
}

impl<C: CallTool> CallTool for Stack<C> {
    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolResult, CallError> {
        let _life = call.passage.begin();
        Below { layers: &self.layers, client: &*self.inner }.call(call).await
    }

    fn offer(&self) -> Offer {
        let policies = self.policies.clone();
        let mut offer = self.inner.offer().observed_by(self.observer.clone());
        offer.is_governed = true;
        offer.restricted(move |tool, _| policies.iter().all(|policy| policy.admits(tool)))
    }
}

impl<C: CallTool + 'static> Service<ToolCall> for Stack<C> {
    type Response = ToolResult;
    type Error = CallError;
    type Future = ServiceFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> ServiceFuture {
        let stack = self.clone();
        Box::pin(async move { stack.call_tool(call).await })
    }
}

impl<C> Clone for Stack<C> {
    fn clone(&self) -> Self {
        let (inner, observer, layers) = (self.inner.clone(), self.observer.clone(), self.layers.clone());
        Self { inner, observer, layers, policies: self.policies.clone() }
    }
}

impl<C: GetPrompt> GetPrompt for Stack<C> {
    async fn get_prompt(&self, request: PromptRequest) -> Result<PromptResult, CallError> {
        self.inner.get_prompt(request).await
    }
}

impl<C: ReadResource> ReadResource for Stack<C> {
    async fn read_resource(&self, request: ResourceRequest) -> Result<ResourceResult, CallError> {
        self.inner.read_resource(request).await
    }
}

impl<C: fmt::Debug> fmt::Debug for Stack<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// [`CallTool`] through a tower service: use it to pass a client with tower layers to bindings.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::Calls;
/// use tower::limit::ConcurrencyLimit;
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let two_at_once = Calls::through(ConcurrencyLimit::new(client, 2));
/// // Files::with(two_at_once).list(params).await?
/// # let _ = two_at_once;
/// ```
#[derive(Clone, Debug)]
pub struct Calls<S>(S);

impl<S> Calls<S> {
    /// Calls tools through a service whose clones share state. An error of the service that is not a [`CallError`] has
    /// no information about the server: it becomes [`CallError::OutcomeUnknown`].
    pub fn through(service: S) -> Self
    where
        S: Service<ToolCall, Response = ToolResult, Error: Into<BoxError>, Future: Send> + Clone + Send + Sync,
    {
        Self(service)
    }
}

impl<S> CallTool for Calls<S>
where
    S: Service<ToolCall, Response = ToolResult, Error: Into<BoxError>, Future: Send> + Clone + Send + Sync,
{
    async fn call_tool(&self, mut call: ToolCall) -> Result<ToolResult, CallError> {
        let (server, tool) = (call.server.to_string(), call.tool.to_string());
        let mut service = self.0.clone();
        let ready = wait::within(&mut call, Limit::default(), service.ready()).await?;
        let ready: Result<(), BoxError> = ready.map(drop).map_err(Into::into);
        let outcome = match ready {
            Ok(()) => service.call(call).await.map_err(Into::into),
            Err(error) => Err(error),
        };
        outcome.map_err(|error| match error.downcast::<CallError>() {
            Ok(error) => *error,
            Err(error) => CallError::outcome_unknown(server, tool, error.to_string()),
        })
    }
}
