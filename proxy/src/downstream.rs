//! A client of the proxy with a session, which alone receives its servers' requests, and the question whether a call of a
//! client may be made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::__private::rpc::{MethodCall, RequestError, Session};
use mcp_bindgen_runtime::middleware::{ApprovalAnswer, ApprovalRequest};
use mcp_bindgen_runtime::{ClientOptions, ElicitationAnswer, Root, SamplingAnswer};
use mcp_bindgen_schema::shortened;
use rmcp::model::RequestId;
use serde_json::{Map, Value, json};

use super::approval::digest_of;
use super::attached::Open;
use super::context::{Shares, Visit};
use super::lock::lock;

/// The longest text of arguments that a person sees.
const LONGEST_ARGUMENTS: usize = 2000;
const LONGEST_NAME: usize = 200;
/// The capabilities of a client that are passed on to its servers.
const PASSED_ON: [&str; 3] = ["elicitation", "sampling", "roots"];

/// Returns the client capabilities that servers receive.
pub(super) fn passed_on(capabilities: &Value) -> Value {
    let declared = |key: &&str| capabilities.get(*key).filter(|value| value.is_object()).cloned();
    let kept = PASSED_ON.iter().filter_map(|key| Some(((*key).to_owned(), declared(key)?)));
    Value::Object(kept.collect::<Map<_, _>>())
}

/// Returns `true` if a client with these capabilities shows forms, which is the default for elicitation.
pub(super) fn takes_forms(capabilities: &Value) -> bool {
    capabilities.get("elicitation").is_some_and(|modes| modes.get("form").is_some() || modes.get("url").is_none())
}

#[derive(Clone)]
pub(super) struct Downstream {
    pub(super) session: Session,
    /// The capabilities that servers receive.
    pub(super) capabilities: Value,
}

impl Downstream {
    /// Asks the client, on behalf of a request that it has open: over HTTP, the question goes into the answer to that.
    async fn ask(&self, method: &'static str, params: Value, during: Option<RequestId>) -> Result<Value, RequestError> {
        let answer = self.session.ask(MethodCall::with(method, params).about(during)).await?;
        if answer.is_object() { Ok(answer) } else { Err(RequestError::invalid("the answer is not an object")) }
    }

    /// Returns the options of this client's connection to a server.
    pub(super) fn options(&self, base: &ClientOptions, open: &Open) -> ClientOptions {
        // A question of a server goes to the client's latest request.
        let asking = |method: &'static str| {
            let (own, open) = (self.clone(), open.clone());
            move |params: Value| {
                let (own, during) = (own.clone(), open.last());
                async move { own.ask(method, params, during).await }
            }
        };
        let has = |capability: &str| self.capabilities.get(capability).is_some();
        let mut options = base.clone().capabilities(self.capabilities.clone());
        if has("elicitation") {
            let ask = asking("elicitation/create");
            options = options.on_elicitation(move |request| ask(request.params).map(elicited));
        }
        if has("sampling") {
            let ask = asking("sampling/createMessage");
            options = options.on_sampling(move |request| ask(request.params).map(sampled));
        }
        if has("roots") {
            let ask = asking("roots/list");
            options = options.on_roots(move || ask(Value::Null).map(roots));
        }
        options
    }
}

/// Returns a client's answer unchanged. A failed request, or an answer without an action, cancels.
fn elicited(answer: Result<Value, RequestError>) -> ElicitationAnswer {
    match answer {
        Ok(Value::Object(answer)) if answer.get("action").is_some_and(Value::is_string) => {
            ElicitationAnswer::Result(answer)
        }
        Ok(_) => ElicitationAnswer::Cancel,
        Err(error) => {
            tracing::debug!("failed to pass a server's request to the client: {error}");
            ElicitationAnswer::Cancel
        }
    }
}

fn sampled(answer: Result<Value, RequestError>) -> SamplingAnswer {
    match answer {
        Ok(Value::Object(message)) => SamplingAnswer::Message(message),
        _ => SamplingAnswer::Decline,
    }
}

/// Returns the folders that a client lists.
fn roots(listed: Result<Value, RequestError>) -> Vec<Root> {
    let listed = listed.unwrap_or_default();
    let listed = listed.get("roots").and_then(Value::as_array).into_iter().flatten();
    let roots = listed.filter_map(|root| {
        let (uri, name) = (root.get("uri")?.as_str()?, root.get("name").and_then(Value::as_str));
        Some(name.into_iter().fold(Root::new(uri), Root::name))
    });
    roots.collect()
}

/// Returns the question whether a call may be made, as a form with one box. All parts of its message except for the fixed
/// words are untrusted.
pub(super) fn question(request: &ApprovalRequest) -> Value {
    let reason = request.reason.as_ref().map(|reason| format!(" ({})", printable(reason))).unwrap_or_default();
    let message = format!(
        "May the tool `{}` of the server `{}` be called with {}?{reason}",
        shortened(&printable(&request.tool), LONGEST_NAME),
        shortened(&printable(&request.server), LONGEST_NAME),
        printable(&request.shown_arguments(LONGEST_ARGUMENTS).to_string()),
    );
    json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "approve": { "type": "boolean", "title": "Approve", "description": "Allow the call." }
            },
            "required": ["approve"],
        },
    })
}

/// Returns `true` if the user accepted and ticked the box; acceptance without the box does not count.
pub(super) fn is_yes(answer: &Value) -> bool {
    let is_accepted = answer.get("action").and_then(Value::as_str) == Some("accept");
    is_accepted && answer.pointer("/content/approve").and_then(Value::as_bool) == Some(true)
}

tokio::task_local! {
    /// The client of the current call.
    pub(super) static ASKING: Arc<Asking>;
}

/// The client to ask about the current call, and its answer.
pub(super) struct Asking {
    who: Who,
    /// The answers by digest of the call. The configuration and a layer may both ask about one call, but the client is
    /// asked once.
    said: tokio::sync::Mutex<HashMap<String, ApprovalAnswer>>,
    /// The question that must be answered before the call is made.
    asked: Mutex<Option<ApprovalRequest>>,
}

pub(super) enum Who {
    /// A client with a session is asked at once.
    Session {
        downstream: Downstream,
        request: RequestId,
        visit: Box<Visit>,
        /// The open approvals of all callers.
        open: Shares,
    },
    /// One without is asked by the answer to its request. It has decided about calls before, which are digests.
    Stateless { can_be_asked: bool, approved: Vec<String>, declined: Option<String> },
}

impl Asking {
    pub(super) fn new(who: Who) -> Arc<Self> {
        Arc::new(Self { who, said: tokio::sync::Mutex::default(), asked: Mutex::default() })
    }

    /// Returns the question that must be answered before the call is made.
    pub(super) fn asked(&self) -> Option<ApprovalRequest> {
        lock(&self.asked).take()
    }

    /// Returns the digests of calls whose approvals were made use of.
    pub(super) async fn used(&self) -> Vec<String> {
        let said = self.said.lock().await;
        let approved = said.iter().filter(|(_, answer)| **answer == ApprovalAnswer::Approve);
        approved.map(|(digest, _)| digest.clone()).collect()
    }

    async fn answer(&self, request: ApprovalRequest) -> ApprovalAnswer {
        let digest = digest_of(&request);
        let mut said = self.said.lock().await;
        if let Some(answer) = said.get(&digest) {
            return answer.clone();
        }
        let answer = match &self.who {
            Who::Session { downstream, request: id, visit, open } => match open.take(Some(&visit.caller.key())) {
                Some(_open) => {
                    visit.leave();
                    ask_session(downstream, id, &request).await
                }
                None => declined("too many approvals are open; answer some of them first"),
            },
            Who::Stateless { approved, .. } if approved.contains(&digest) => ApprovalAnswer::Approve,
            Who::Stateless { declined: Some(call), .. } if *call == digest => declined("the user declined"),
            Who::Stateless { can_be_asked: true, .. } => {
                *lock(&self.asked) = Some(request);
                declined("the user must approve it first")
            }
            Who::Stateless { can_be_asked: false, .. } => unasked(),
        };
        said.insert(digest, answer.clone());
        answer
    }
}

/// Returns `true` if an approval must be given before the current call can be made.
pub(super) fn is_asking() -> bool {
    ASKING.try_with(|asking| lock(&asking.asked).is_some()).unwrap_or_default()
}

/// Asks the calling client of the proxy for approval, for [`Approval`](mcp_bindgen_runtime::middleware::Approval)
/// layers of a proxy's servers; also used for `approve` of a configuration. Denies if the client does not support
/// elicitation, and outside of a proxy.
///
/// ```
/// use mcp_bindgen_proxy::ask_client;
/// use mcp_bindgen_runtime::middleware::Approval;
///
/// let approval = Approval::of(["delete_*"], ask_client);
/// # drop(approval);
/// ```
pub async fn ask_client(request: ApprovalRequest) -> ApprovalAnswer {
    match ASKING.try_with(Arc::clone) {
        Ok(asking) => asking.answer(request).await,
        Err(_) => declined("the caller is unknown, so no approval can be requested"),
    }
}

async fn ask_session(downstream: &Downstream, id: &RequestId, request: &ApprovalRequest) -> ApprovalAnswer {
    if !takes_forms(&downstream.capabilities) {
        return unasked();
    }
    match downstream.ask("elicitation/create", question(request), Some(id.clone())).await {
        Ok(answer) if is_yes(&answer) => ApprovalAnswer::Approve,
        Ok(_) => declined("the user declined"),
        Err(error) => {
            tracing::debug!("failed to request an approval: {error}");
            declined("failed to ask the user")
        }
    }
}

fn declined(why: &str) -> ApprovalAnswer {
    ApprovalAnswer::Decline(why.to_owned())
}

fn unasked() -> ApprovalAnswer {
    declined("the client does not support form elicitation, so its user cannot be asked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_explicit_approval_counts() {
        assert!(is_yes(&json!({ "action": "accept", "content": { "approve": true } })));
        for no in [
            json!({ "action": "accept" }),
            json!({ "action": "accept", "content": {} }),
            json!({ "action": "accept", "content": { "approve": false } }),
            json!({ "action": "accept", "content": { "approve": "true" } }),
            json!({ "action": "decline", "content": { "approve": true } }),
            json!({ "action": "cancel" }),
            json!(null),
        ] {
            assert!(!is_yes(&no), "{no}");
        }
    }

    #[test]
    fn client_response_is_passed_on_unchanged() {
        let answer = json!({ "action": "accept", "_meta": { "k": 1 }, "vendor": true });
        let ElicitationAnswer::Result(passed) = elicited(Ok(answer.clone())) else { panic!("it is an answer") };
        assert_eq!(Value::Object(passed), answer);
        for none in [json!({}), json!({ "action": 1 }), json!([])] {
            assert_eq!(elicited(Ok(none)), ElicitationAnswer::Cancel);
        }
    }

    #[test]
    fn only_forwarded_capabilities_are_declared_to_servers() {
        let declared = json!({ "elicitation": { "form": {} }, "sampling": null, "extensions": { "x": {} } });
        assert_eq!(passed_on(&declared), json!({ "elicitation": { "form": {} } }));
        assert_eq!(passed_on(&Value::Null), json!({}));
    }
}
