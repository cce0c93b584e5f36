//! What the configuration of a server demands of every call, typed or not.

use std::sync::Arc;

use mcp_model::matches_glob;

use super::Client;
use crate::call::{Checking, Guard, Place};
use crate::observe::Observer;
use crate::{CallError, ToolCall};

impl Guard for Client {
    fn id(&self) -> usize {
        Arc::as_ptr(&self.supervisor).addr()
    }

    fn observer(&self) -> &Arc<Observer> {
        self.observer()
    }

    fn admit(&self, call: &ToolCall) -> Result<(), CallError> {
        let config = self.config();
        if config.selects(&call.tool) {
            return Ok(());
        }
        let reason = if config.exclude.iter().any(|pattern| matches_glob(pattern, &call.tool)) {
            "`exclude` of the server's configuration names it"
        } else {
            "`tools` of the server's configuration does not name it"
        };
        Err(CallError::denied(self.name(), &*call.tool, reason))
    }

    fn approve<'a>(&'a self, call: &'a ToolCall) -> Checking<'a> {
        Box::pin(self.approved(call))
    }

    fn check_drift<'a>(&'a self, _: &'a ToolCall) -> Checking<'a> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Client {
    /// Asks for all that the configuration demands of a call, as a [`Stack`](crate::middleware::Stack) around this client has
    /// already done for the calls that come through it.
    pub(super) async fn check(&self, call: &ToolCall) -> Result<(), CallError> {
        if call.passage.is_guarded_by(self.id()) {
            return Ok(());
        }
        self.admit(call)?;
        self.approved(call).await
    }

    async fn approved(&self, call: &ToolCall) -> Result<(), CallError> {
        let needs_approval = self.config().approve.iter().any(|pattern| matches_glob(pattern, &call.tool));
        if !needs_approval || call.passage.is_granted() {
            return Ok(());
        }
        let denied = |reason: &str| CallError::denied(self.name(), &*call.tool, reason);
        if call.passage.has_come_through(Place::Cache) {
            return Err(denied(
                "it needs an approval, and a cache stands around the client: what that has would pass the approval by; put it into a `Stack`",
            ));
        }
        let Some(approver) = self.supervisor.options.approver() else {
            return Err(denied(
                "`approve` of the server's configuration names it, and nobody can be asked; set `ClientOptions::on_approval`",
            ));
        };
        approver.approve(call).await?;
        call.passage.grant();
        Ok(())
    }
}
