//! A client of the proxy with a session, which alone receives its servers' requests.

use futures_util::FutureExt;
use mcp_bindgen_runtime::__private::rpc::{MethodCall, RequestError, Session};
use mcp_bindgen_runtime::{ClientOptions, ElicitationAnswer, Root, SamplingAnswer};
use rmcp::model::RequestId;
use serde_json::{Map, Value, json};

use super::attached::Open;

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
    pub(super) fn new(session: Session, declared: &Value) -> Self {
        Self { session, capabilities: passed_on(declared) }
    }

    fn has(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }

    /// Asks the client, on behalf of a request that it has open: over HTTP, the question goes into the answer to that.
    pub(super) async fn ask(
        &self,
        method: &'static str,
        params: Value,
        during: Option<RequestId>,
    ) -> Result<Value, RequestError> {
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
        let mut options = base.clone().capabilities(self.capabilities.clone());
        if self.has("elicitation") {
            let ask = asking("elicitation/create");
            options = options.on_elicitation(move |request| ask(request.params).map(elicited));
        }
        if self.has("sampling") {
            let ask = asking("sampling/createMessage");
            options = options.on_sampling(move |request| ask(request.params).map(sampled));
        }
        if self.has("roots") {
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

/// Returns the question whether a call may be made, as a form with one box.
pub(super) fn question(message: &str) -> Value {
    json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                APPROVE: { "type": "boolean", "title": "Approve", "description": "Allow the call." }
            },
            "required": [APPROVE],
        },
    })
}

/// The box of the form.
const APPROVE: &str = "approve";

/// Returns `true` if the user accepted and ticked the box; acceptance without the box does not count.
pub(super) fn is_yes(answer: &Value) -> bool {
    let is_accepted = answer.get("action").and_then(Value::as_str) == Some("accept");
    is_accepted && answer.pointer("/content/approve").and_then(Value::as_bool) == Some(true)
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
