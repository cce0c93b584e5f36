//! Calling a tool for a client of the proxy.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcp_bindgen_runtime::__private::rpc::MethodCall;
use mcp_bindgen_runtime::{CallError, CallOptions, PassedInput, Progress, ProgressStream, ToolCall, ToolResult};
use rmcp::model::{CallToolRequestParams, ErrorData};
use serde_json::{Map, Value, json};

use super::approval::{Claims, Signer, digest_of};
use super::attached::Attached;
use super::client_state::{ClientState, Context};
use super::context::CAPABILITIES;
use super::downstream::{ASKING, Asking, Who, is_yes, passed_on, question, takes_forms};
use super::outcome::{of_call, unknown};

/// The caller's name, for observers.
const SOURCE: &str = "proxy";
/// The key of the proxy's own question.
const APPROVAL: &str = "approval";
const PROGRESS_TOKEN: &str = "progressToken";
const RESERVED: &str = "io.modelcontextprotocol/";
/// The time to forward progress that was reported before the call ended.
const PATIENCE_FOR_REPORTS: Duration = Duration::from_secs(1);

/// Returns the options of a client's request: its own keys of `_meta`, and the capabilities that servers may use. HTTP
/// headers of the request are not passed on. Without a session the log level is not passed on either, because no stream
/// can carry the log.
pub(super) fn options(Context { meta, is_modern, .. }: &Context, input: PassedInput) -> CallOptions {
    let is_own = |key: &str| key != PROGRESS_TOKEN && !key.starts_with(RESERVED);
    let own = meta.iter().filter(|(key, _)| is_own(key));
    let options = own.fold(CallOptions::new().source(SOURCE), |options, (key, value)| options.meta(key, value.clone()));
    if !*is_modern {
        return options;
    }
    options.client_capabilities(capabilities(meta)).pass_input(input)
}

/// Returns the capabilities of a client without a session, in the form for servers.
fn capabilities(meta: &Map<String, Value>) -> Value {
    meta.get(CAPABILITIES).map(passed_on).unwrap_or_else(|| json!({}))
}

/// The answers of a client.
#[derive(Default)]
struct Settled {
    /// The answers for the server.
    input: PassedInput,
    /// The calls that were approved, by digests.
    approved: Vec<String>,
    /// The call that was declined, by its digest.
    declined: Option<String>,
}

impl ClientState {
    /// Calls a tool. Dropping the future cancels the call.
    pub(super) async fn call(&self, params: CallToolRequestParams, context: &Context) -> Result<Value, ErrorData> {
        let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = params;
        let Context { scope, sees, .. } = context;
        let found = scope.find_called(&name, arguments.unwrap_or_default(), sees).await;
        let Some((attached, call)) = found.map_err(|why| ErrorData::invalid_params(why, None))? else {
            return Err(unknown_tool(&name, &scope.failed(sees)));
        };
        let _open = attached.open.begin(context.id.clone());
        let (who, input) = match scope.downstream.clone() {
            Some(downstream) => {
                let (request, visit) = (context.id.clone(), Box::new(context.visit.clone()));
                let open = self.proxy.open_approvals.clone();
                (Who::Session { downstream, request, visit, open }, PassedInput::new())
            }
            None => {
                let responses = input_responses.map(|responses| responses.into_iter().collect::<Map<_, _>>());
                let given = PassedInput::new().responses(responses).state(request_state);
                let Settled { input, approved, declined } = self.settled(given).await?;
                let can_be_asked = takes_forms(&capabilities(&context.meta));
                (Who::Stateless { can_be_asked, approved, declined }, input)
            }
        };
        let asking = Asking::new(who);
        let call = call.with(options(context, input.clone()));
        let outcome = self.recorded(&attached, call, asking.clone(), context).await;
        let signer = &self.proxy.signer;
        // Only a client without a session is asked by an answer.
        if let (Err(CallError::Denied { .. }), Some(request)) = (&outcome, asking.asked()) {
            let mut claims = Claims::new(input.state);
            claims.asked = Some(digest_of(&request));
            claims.approved = asking.used().await;
            claims.responses = input.responses;
            let asked = json!({ "method": "elicitation/create", "params": question(&request) });
            return Ok(json!({
                "resultType": "input_required",
                "inputRequests": { APPROVAL: asked },
                "requestState": signer.sign(&claims),
            }));
        }
        let needs_input = outcome.as_ref().is_ok_and(ToolResult::needs_input);
        let mut result = of_call(&name, outcome)?;
        if needs_input && let Some(fields) = result.as_object_mut() {
            let used = asking.used().await;
            let state = fields.get("requestState").and_then(Value::as_str).map(str::to_owned);
            // The next round may belong to an approved call.
            if !used.is_empty() || state.as_deref().is_some_and(Signer::is_mistakable) {
                let mut claims = Claims::new(state);
                claims.approved = used;
                fields.insert("requestState".to_owned(), Value::from(signer.sign(&claims)));
            }
        }
        Ok(result)
    }

    /// Settles the questions that a client answered.
    async fn settled(&self, given: PassedInput) -> Result<Settled, ErrorData> {
        let invalid = |why: &'static str| ErrorData::invalid_params(why, None);
        let Some(state) = given.state.as_deref() else { return Ok(Settled { input: given, ..Settled::default() }) };
        let claims = self.proxy.signer.read(state).map_err(|_| invalid("invalid `requestState`; call again"))?;
        let Some(claims) = claims else { return Ok(Settled { input: given, ..Settled::default() }) };
        if claims.approve_nothing() {
            // The server decides how often and how long its own state is valid.
            return Ok(Settled { input: given.state(claims.upstream), ..Settled::default() });
        }
        if claims.expires() <= SystemTime::now() {
            return Err(invalid("`requestState` has expired; call again"));
        }
        let is_first = self.proxy.store.spend(&claims.nonce, claims.expires()).await.map_err(|error| {
            tracing::error!("failed to check whether the approval was used; the call is denied: {error}");
            ErrorData::internal_error("failed to check whether the approval was already used", None)
        })?;
        if !is_first {
            return Err(invalid("`requestState` was already used; call again"));
        }
        let Claims { asked, mut approved, upstream, responses, .. } = claims;
        if asked.is_none() {
            return Ok(Settled { input: given.state(upstream), approved, declined: None });
        }
        let mut answers = given.responses.unwrap_or_default();
        let is_approved = answers.shift_remove(APPROVAL).is_some_and(|answer| is_yes(&answer));
        let (yes, declined) = if is_approved { (asked, None) } else { (None, asked) };
        approved.extend(yes);
        // Answers and state are passed on only if the server requested them.
        let responses = upstream.is_some().then(|| {
            let mut all = responses.unwrap_or_default();
            all.extend(answers);
            all
        });
        Ok(Settled { input: PassedInput::new().responses(responses).state(upstream), approved, declined })
    }

    /// Makes a call, records it, and remembers the resources in its result.
    async fn recorded(
        &self,
        attached: &Attached,
        call: ToolCall,
        asking: Arc<Asking>,
        context: &Context,
    ) -> Result<ToolResult, CallError> {
        let call = call.with(CallOptions::new().caller(context.caller.clone()));
        let record = self.proxy.records.begin(&call)?;
        let outcome = ASKING.scope(asking, reported(attached, call, context)).await;
        record.end(&outcome);
        let result = outcome?;
        attached.linked.note(&context.caller, &result);
        Ok(result)
    }
}

/// Makes a call, and forwards its progress.
async fn reported(attached: &Attached, call: ToolCall, context: &Context) -> Result<ToolResult, CallError> {
    let token = context.meta.get(PROGRESS_TOKEN).filter(|token| token.is_string() || token.is_number());
    let Some(token) = token else { return attached.calls.call_tool_dyn(call).await };
    let (options, reports) = CallOptions::new().progress_stream();
    let mut made = std::pin::pin!(attached.calls.call_tool_dyn(call.with(options)));
    let mut reporting = std::pin::pin!(report(reports, token, context));
    let outcome = tokio::select! {
        outcome = &mut made => outcome,
        () = &mut reporting => return made.await,
    };
    // Pending reports are delivered before the result.
    let _ = tokio::time::timeout(PATIENCE_FOR_REPORTS, reporting).await;
    outcome
}

/// Forwards progress until the stream ends.
async fn report(mut reports: ProgressStream, token: &Value, context: &Context) {
    while let Some(Progress { progress, total, message, .. }) = reports.next().await {
        let params = json!({ PROGRESS_TOKEN: token, "progress": progress, "total": total, "message": message });
        let mut report = MethodCall::with("notifications/progress", params).about(Some(context.id.clone()));
        report.params.retain(|_, value| !value.is_null());
        if context.session.notify(report).await.is_err() {
            // The client stopped listening; the call continues until it is cancelled.
            return;
        }
    }
}

fn unknown_tool(name: &str, failed: &[Arc<str>]) -> ErrorData {
    let mut error = unknown("tool", name);
    if !failed.is_empty() {
        let message =
            format!("{}; the tools of {} are unknown, because it is unreachable", error.message, failed.join(", "));
        error.message = message.into();
    }
    error
}
