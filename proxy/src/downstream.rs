//! A client of the proxy with a session, which alone receives its servers' requests.

use mcp_bindgen_runtime::__private::rpc::{MethodCall, RequestError, Session};
use mcp_bindgen_runtime::{ClientOptions, ElicitationAnswer, Root, SamplingAnswer};
use rmcp::model::RequestId;
use serde_json::{Map, Value, json};

use super::attached::Open;

/// The capabilities of a client that are passed on to its servers.
const PASSED_ON: [&str; 3] = ["elicitation", "sampling", "roots"];

/// Returns the capabilities of a client that its servers are told.
pub(super) fn passed_on(capabilities: &Value) -> Value {
    let declared = |key: &&str| capabilities.get(*key).filter(|value| value.is_object()).cloned();
    let kept = PASSED_ON.iter().filter_map(|key| Some(((*key).to_owned(), declared(key)?)));
    Value::Object(kept.collect::<Map<_, _>>())
}

/// Returns `true` if who declares this shows forms; those that do not say what they show, do.
pub(super) fn takes_forms(capabilities: &Value) -> bool {
    capabilities.get("elicitation").is_some_and(|modes| modes.get("form").is_some() || modes.get("url").is_none())
}

#[derive(Clone)]
pub(super) struct Downstream {
    pub(super) session: Session,
    /// Those that servers are told of.
    capabilities: Value,
}

impl Downstream {
    pub(super) fn new(session: Session, declared: &Value) -> Self {
        Self { session, capabilities: passed_on(declared) }
    }

    /// Returns `true` if it can be asked what the proxy itself wants to know.
    pub(super) fn takes_forms(&self) -> bool {
        takes_forms(&self.capabilities)
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

    /// The folders of the client as they are now.
    async fn roots(&self, during: Option<RequestId>) -> Vec<Root> {
        let Ok(listed) = self.ask("roots/list", Value::Null, during).await else { return Vec::new() };
        let roots = listed.get("roots").and_then(Value::as_array).into_iter().flatten().filter_map(|root| {
            let uri = root.get("uri")?.as_str()?;
            Some(match root.get("name").and_then(Value::as_str) {
                Some(name) => Root::new(uri).name(name),
                None => Root::new(uri),
            })
        });
        roots.collect()
    }

    /// The options of this client's connection to a server.
    pub(super) fn options(&self, base: &ClientOptions, open: &Open) -> ClientOptions {
        let mut options = base.clone().capabilities(self.capabilities.clone());
        if self.has("elicitation") {
            let (own, open) = (self.clone(), open.clone());
            options = options.on_elicitation(move |request| {
                let (own, during) = (own.clone(), open.last());
                async move {
                    match own.ask("elicitation/create", request.params, during).await {
                        Ok(answer) => elicited(answer),
                        Err(error) => {
                            tracing::debug!("failed to pass a server's request to the client: {error}");
                            ElicitationAnswer::Cancel
                        }
                    }
                }
            });
        }
        if self.has("sampling") {
            let (own, open) = (self.clone(), open.clone());
            options = options.on_sampling(move |request| {
                let (own, during) = (own.clone(), open.last());
                async move {
                    match own.ask("sampling/createMessage", request.params, during).await {
                        Ok(Value::Object(message)) => SamplingAnswer::Message(message),
                        _ => SamplingAnswer::Decline,
                    }
                }
            });
        }
        if self.has("roots") {
            let (own, open) = (self.clone(), open.clone());
            options = options.on_roots(move || {
                let (own, during) = (own.clone(), open.last());
                async move { own.roots(during).await }
            });
        }
        options
    }
}

/// Returns a client's answer as it came; an answer without an action is none.
fn elicited(answer: Value) -> ElicitationAnswer {
    match answer {
        Value::Object(answer) if answer.get("action").is_some_and(Value::is_string) => {
            ElicitationAnswer::Result(answer)
        }
        _ => ElicitationAnswer::Cancel,
    }
}

/// The question whether a call may be made, as a form with one box.
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

/// Returns `true` if somebody said yes: what was accepted without the box is no answer to the question.
pub(super) fn is_yes(answer: &Value) -> bool {
    let is_accepted = answer.get("action").and_then(Value::as_str) == Some("accept");
    is_accepted && answer.pointer("/content/approve").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
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
    fn what_a_client_answers_is_passed_on_as_it_came() {
        let answer = json!({ "action": "accept", "_meta": { "k": 1 }, "vendor": true });
        let ElicitationAnswer::Result(passed) = elicited(answer.clone()) else { panic!("it is an answer") };
        assert_eq!(Value::Object(passed), answer);
        for none in [json!({}), json!({ "action": 1 }), json!([])] {
            assert_eq!(elicited(none), ElicitationAnswer::Cancel);
        }
    }

    #[test]
    fn servers_are_told_of_what_is_passed_on_and_of_nothing_else() {
        let declared = json!({ "elicitation": { "form": {} }, "sampling": null, "extensions": { "x": {} } });
        assert_eq!(passed_on(&declared), json!({ "elicitation": { "form": {} } }));
        assert_eq!(passed_on(&Value::Null), json!({}));
    }
}
