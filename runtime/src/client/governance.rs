//! The demands of a server's configuration on every call, typed or not.

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::{PolicyEffect, PolicyRule};

use super::Client;
use super::state::Lease;
use crate::call::LayerKind;
use crate::client::catalog::drift::{self, Bound};
use crate::ground::deadline::Patience;
use crate::{CallError, Dispatched, ToolCall, ToolSpec};

impl Client {
    /// Returns an identifier of this client and its clones, which is unique as long as one of them exists.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.supervisor).addr()
    }

    /// Checks that the configuration allows the call: `tools`, `exclude`, `remote_use` for remote templates, and
    /// `[[policy]]`.
    ///
    /// Cancel safe: a dropped call may have used up one turn of a rate.
    pub(crate) async fn admit(&self, call: &ToolCall) -> Result<(), CallError> {
        if !self.config().selects(&call.tool) {
            let is_excluded = self.config().excludes(&call.tool);
            let cause = if is_excluded { "excluded by `exclude`" } else { "not selected by `tools`" };
            return Err(self.denied(&call.tool, format!("it is {cause} of the server")));
        }
        self.admit_remote(call)?;
        let rules = self.policies_of(call);
        let Some((_, first)) = rules.first() else { return Ok(()) };
        let denied = |rule: &PolicyRule, what: &str, retry_after: Option<Duration>| {
            let reason = rule.reason.as_ref().map_or_else(|| what.to_owned(), |reason| format!("{what}: {reason}"));
            let (server, tool) = (self.name().to_owned(), call.tool.to_string());
            Err(CallError::Denied { server, tool, reason, help: None, retry_after })
        };
        if let Some((_, rule)) = rules.iter().find(|(_, rule)| rule.then == PolicyEffect::Deny) {
            return denied(rule, "a policy of the configuration denies it", None);
        }
        if call.passage.has_come_through(LayerKind::Cache) {
            return denied(first, "a cache around the client would bypass a policy of the configuration", None);
        }
        let caller = call.caller().and_then(|caller| caller.principal.as_deref()).unwrap_or_default();
        for (index, rule) in rules {
            let Some(rate) = rule.rate else { continue };
            let taken = self.supervisor.shared.limits.try_turn(self.name(), (index, caller), rate).await;
            let taken = taken.map_err(|error| self.uncounted(call, &error))?;
            if let Err(wait) = taken {
                return denied(rule, &format!("a policy of the configuration allows {rate}"), Some(wait));
            }
        }
        Ok(())
    }

    fn denied(&self, what: &str, reason: impl Into<String>) -> CallError {
        CallError::denied(self.name(), what, reason)
    }

    /// Returns the error of a call whose turn cannot be counted.
    pub(super) fn uncounted(&self, call: &ToolCall, error: &str) -> CallError {
        tracing::error!(server = self.name(), tool = &*call.tool, "cannot count calls: {error}");
        self.denied(&call.tool, "the number of calls cannot be counted at the moment")
    }

    /// Returns the rules that apply to a call, with their places.
    fn policies_of(&self, call: &ToolCall) -> Vec<(usize, &PolicyRule)> {
        let names = call.caller().and_then(|caller| caller.names());
        let rules = self.config().policies.iter().enumerate();
        rules.filter(|(_, rule)| rule.applies(&call.tool, &call.arguments, names.as_deref())).collect()
    }

    /// Checks that the configuration allows a prompt: `prompts`.
    pub(crate) fn admit_prompt(&self, prompt: &str) -> Result<(), CallError> {
        self.selected(prompt, "prompts", self.config().selects_prompt(prompt))
    }

    /// Checks that the configuration allows a resource: `resources`.
    pub(crate) fn admit_resource(&self, uri: &str) -> Result<(), CallError> {
        self.selected(uri, "resources", self.config().selects_resource(uri))
    }

    fn selected(&self, name: &str, key: &str, is_selected: bool) -> Result<(), CallError> {
        let denied = || self.denied(name, format!("it is not selected by `{key}` of the server"));
        is_selected.then_some(()).ok_or_else(denied)
    }

    /// Returns the call with the arguments that the view of the tool sets: that of its bindings, or of the configuration.
    pub(crate) fn viewed(&self, call: ToolCall) -> Result<ToolCall, CallError> {
        let of_bindings = call.known().and_then(ToolSpec::view);
        let view = of_bindings.as_ref().or_else(|| self.config().views.get(&call.tool));
        call.viewed(view)
    }

    /// Checks that the live tool still matches the bound tool, if `drift` requires it.
    pub(crate) async fn check_drift(&self, call: &ToolCall) -> Result<(), CallError> {
        let Some(bound) = self.bound(call)?.filter(|_| drift::refuses(self.config())) else { return Ok(()) };
        let (connection, patience) = self.ready(&call.tool, &call.options, call.passage.limit()).await?;
        self.compare(&connection, call, &bound, patience).await.map(drop)
    }

    /// Enforces the configuration's rules for a call, unless a [`Stack`](crate::middleware::Stack) around this client
    /// has already done so.
    pub(super) async fn check(&self, call: &ToolCall) -> Result<(), CallError> {
        if call.passage.is_guarded_by(self.id()) {
            // Layers between the stack and this client may have marked the call.
            return self.admit_remote(call);
        }
        self.admit(call).await?;
        self.ask_approval(call).await
    }

    /// Checks that the tool is allowed, if the call is made for a remote template.
    fn admit_remote(&self, call: &ToolCall) -> Result<(), CallError> {
        if !call.options.given().is_remote || self.config().lets_remote_use(&call.tool) {
            return Ok(());
        }
        let reason = "the template is not a local file, and `remote_use` of the server does not allow this tool; add it \
                      there to allow the call";
        Err(self.denied(&call.tool, reason))
    }

    /// Returns the bound tool of a call, if the configuration compares tools.
    ///
    /// # Errors
    /// Fails if a comparison is required, but no bound tool is known.
    pub(super) fn bound(&self, call: &ToolCall) -> Result<Option<Bound>, CallError> {
        if !drift::compares(self.config()) {
            return Ok(None);
        }
        let of_bindings = || self.bindings?.tools.iter().find(|spec| spec.name == call.tool).map(Bound::Spec);
        let of_snapshot = || self.snapshot.iter().find(|bound| bound.name() == call.tool).cloned();
        let bound = call.known().map(Bound::Spec).or_else(of_bindings).or_else(of_snapshot);
        if bound.is_none() && drift::refuses(self.config()) {
            let reason = "`drift = \"deny\"` refuses tools that are in neither the bindings nor the snapshot; run \
                          `mcp-bindgen sync`, or set `drift = \"warn\"`";
            return Err(self.denied(&call.tool, reason));
        }
        Ok(bound)
    }

    /// Compares a tool with its binding. If the configuration refuses changed tools, it compares before the call, and
    /// otherwise in the background. Returns the remaining time, and the count of list changes at which the tool was
    /// accepted.
    pub(super) async fn compare(
        &self,
        connection: &Lease,
        call: &ToolCall,
        bound: &Bound,
        patience: Patience,
    ) -> Result<(Patience, Option<u64>), CallError> {
        let live = &connection.opened.live_tools;
        live.bind(bound, call.bindings.or(self.bindings));
        if !drift::refuses(self.config()) {
            return Ok((patience, None));
        }
        let allowed = call.options.unless_cancelled(live.allows(bound, patience)).await;
        match allowed.ok_or_else(|| self.cancelled(&call.tool, Dispatched::No))? {
            // That the server answered is a sign of progress.
            Ok(Ok(list)) => Ok((patience.renewed(), Some(list))),
            Ok(Err(changes)) => {
                let (server, tool) = (self.name().to_owned(), call.tool.to_string());
                let message = format!("{changes}; review it and accept it with `mcp-bindgen sync`");
                Err(CallError::Incompatible { server, tool, message })
            }
            Err(error) => {
                let reason = "`drift = \"deny\"` requires a comparison with the bound tool, which failed";
                Err(self.not_listed(&call.tool, patience, reason, error))
            }
        }
    }

    /// Asks for the approval that the configuration demands: `approve` and `policy`.
    pub(crate) async fn ask_approval(&self, call: &ToolCall) -> Result<(), CallError> {
        let rules = self.policies_of(call);
        let rule = rules.iter().find(|(_, rule)| rule.then == PolicyEffect::Approve);
        if rule.is_none() && !self.config().needs_approval(&call.tool) {
            return Ok(());
        }
        if call.passage.has_come_through(LayerKind::Cache) {
            let reason = "it requires approval, and a cache around the client would bypass it; move the cache into the \
                          client's stack";
            return Err(self.denied(&call.tool, reason));
        }
        let canonical = call.canonical();
        if call.passage.is_approved(self.id(), &canonical) {
            return Ok(());
        }
        let Some(approver) = &self.supervisor.shared.options.approver else {
            let help = "no approval handler is set; set `ClientOptions::on_approval`, with `Servers::load_with` or \
                        `Client::for_spec_with`, or add an `Approval` layer";
            let (server, tool) = (self.name().to_owned(), call.tool.to_string());
            let reason = "it requires an approval that was not given".to_owned();
            return Err(CallError::Denied { server, tool, reason, help: Some(help.to_owned()), retry_after: None });
        };
        approver.approve(call, rule.and_then(|(_, rule)| rule.reason.as_deref())).await?;
        call.passage.grant(self.id(), canonical);
        Ok(())
    }
}
