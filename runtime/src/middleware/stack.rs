//! All layers in their order.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

use super::calls::Called;
use super::demands::{Admission, Consent, Sameness};
use super::events::Announced;
use super::layer::{Layered, ServiceFuture};
use super::policy::Policy;
use crate::call::Demands;
use crate::observe::{Events, Observer};
use crate::{CallError, CallTool, ToolCall, ToolResult};

/// Layers around something that calls tools, in one order whatever the order in which they are given; outermost first:
///
/// 1. events,
/// 2. the cap on the whole call,
/// 3. policies: first what the configuration of the client demands (`tools`, `exclude`), then those of the program,
/// 4. approvals: what the configuration demands (`approve`), then those of the program,
/// 5. validation,
/// 6. drift, as the configuration demands,
/// 7. the cache,
/// 8. retries,
/// 9. the timeout of each try,
/// 10. the client.
///
/// So a call that is denied asks nobody for an approval, one that is not approved never waits for the server, and what the
/// cache has is as governed as what the server says.
#[derive(Clone)]
pub struct Stack<C> {
    inner: Arc<C>,
    layers: Layers,
    service: BoxCloneSyncService<ToolCall, ToolResult, CallError>,
}

#[derive(Clone, Default)]
struct Layers {
    /// Tells of the calls of what demands nothing: of a fake, or of a stack.
    observer: Arc<Observer>,
    policies: Policies,
}

/// Those of a program, in the order in which they were given.
type Policies = Vec<Arc<Policy>>;

impl<C: CallTool + 'static> Stack<C> {
    /// A stack of nothing but what the configuration of the client demands.
    pub fn new(client: C) -> Self {
        let inner = Arc::new(client);
        let layers = Layers::default();
        Self { service: layers.around(&inner), inner, layers }
    }

    /// Adds a policy; each call has to be allowed by all of them.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        self.with(|layers| layers.policies.push(Arc::new(policy)))
    }

    fn with(mut self, add: impl FnOnce(&mut Layers)) -> Self {
        add(&mut self.layers);
        self.service = self.layers.around(&self.inner);
        self
    }

    /// Listens from now on to what happens to the calls of this stack, each of which is told once; around a client it is the
    /// client's [`events`](crate::Client::events), and around anything else, such as a [`Fake`](crate::Fake), the stack's own.
    ///
    /// ```
    /// use mcp_runtime::Fake;
    /// use mcp_runtime::middleware::Stack;
    ///
    /// let events = Stack::new(Fake::new()).events();
    /// # let _ = events;
    /// ```
    #[must_use]
    pub fn events(&self) -> Events {
        self.layers.observer_of(&self.inner).subscribe()
    }

    /// What the layers stand around.
    pub fn inner(&self) -> &C {
        &self.inner
    }
}

impl Layers {
    /// Who tells of what this stack does.
    fn observer_of(&self, inner: &impl CallTool) -> Arc<Observer> {
        inner.demands().guard().map_or_else(|| self.observer.clone(), |guard| guard.observer().clone())
    }

    /// The one place that has the order.
    fn around<C: CallTool + 'static>(&self, inner: &Arc<C>) -> BoxCloneSyncService<ToolCall, ToolResult, CallError> {
        let demands: Demands = inner.demands();
        let service = Called::new(inner.clone());
        let service = Layered::new(Arc::new(Sameness(demands.clone())), service);
        let service = Layered::new(Arc::new(Consent(demands.clone())), service);
        let service = Layered::new(Arc::new(self.policies.clone()), service);
        let service = Layered::new(Arc::new(Admission(demands)), service);
        let service = Layered::new(Arc::new(Announced(self.observer_of(inner))), service);
        BoxCloneSyncService::new(service)
    }
}

impl<C: CallTool> CallTool for Stack<C> {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        self.service.clone().oneshot(call).await
    }
}

impl<C> Service<ToolCall> for Stack<C> {
    type Response = ToolResult;
    type Error = CallError;
    type Future = ServiceFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, call: ToolCall) -> ServiceFuture {
        self.service.call(call)
    }
}

impl<C: fmt::Debug> fmt::Debug for Stack<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("inner", &self.inner).finish_non_exhaustive()
    }
}
