//! What the configuration of a server demands of every call, so that layers around a client can ask for it at their own
//! place in the order.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::{CallError, ToolCall};
use crate::call::events::Observer;

pub(crate) type Checking<'a> = Pin<Box<dyn Future<Output = Result<(), CallError>> + Send + 'a>>;

/// The demands of one client. Each check says no with an error.
pub(crate) trait Guard: Any + Send + Sync {
    /// Tells this guard from others for as long as it lives.
    fn id(&self) -> usize;

    /// Who tells of what happens to the calls of this client.
    fn observer(&self) -> &Arc<Observer>;

    /// Whether the configuration lets a program use a tool of this name at all.
    fn selects(&self, tool: &str) -> bool;

    /// Whether the configuration lets a template from elsewhere than a local file use a tool of this name: `remote_use`.
    fn lets_remote_use(&self, tool: &str) -> bool;

    /// The name of the server, whatever a call says.
    fn server(&self) -> &str;

    /// Whether the configuration lets a program use the tool at all: `tools`, `exclude`, and `remote_use` for whom it is
    /// meant for.
    fn admit(&self, call: &ToolCall) -> Result<(), CallError>;

    /// Asks for the approval that the configuration demands: `approve`.
    fn approve<'a>(&'a self, call: &'a ToolCall) -> Checking<'a>;

    /// Whether the live server's tool is the one that was bound, where the configuration demands that: `drift`.
    fn check_drift<'a>(&'a self, call: &'a ToolCall) -> Checking<'a>;
}

/// What something that calls tools demands of every call; only this crate knows what it is.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Demands(Option<Arc<dyn Guard>>);

impl Demands {
    pub(crate) fn of(guard: impl Guard + 'static) -> Self {
        Self(Some(Arc::new(guard)))
    }

    pub(crate) fn guard(&self) -> Option<&(dyn Guard + 'static)> {
        self.0.as_deref()
    }
}

impl fmt::Debug for Demands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Demands(..)" } else { "Demands(none)" })
    }
}
