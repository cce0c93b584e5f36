//! Requests that may need several rounds: calls of tools, prompts, resources, and requests by method.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::rpc::sent::MethodCall;

/// One request to a server, which is sent again with the answers to the server's questions.
pub(crate) struct Ask {
    pub(super) call: MethodCall,
    /// The count of changes to the list of tools for which the call was allowed.
    pub(crate) list: Option<u64>,
    /// The server has given a result, and may have begun to work on it.
    pub(crate) is_answered: bool,
}

impl Ask {
    pub(crate) fn new(method: impl Into<Cow<'static, str>>, params: Map<String, Value>) -> Self {
        Self { call: MethodCall::new(method, params), list: None, is_answered: false }
    }

    pub(crate) fn tool(name: &str, arguments: Map<String, Value>) -> Self {
        Self::new("tools/call", named(name, Some(arguments)))
    }

    pub(crate) fn prompt(name: &str, arguments: Map<String, Value>) -> Self {
        Self::new("prompts/get", named(name, Some(arguments).filter(|arguments| !arguments.is_empty())))
    }

    pub(crate) fn resource(uri: &str) -> Self {
        Self::new("resources/read", Map::from_iter([("uri".to_owned(), Value::from(uri))]))
    }

    /// Adds the answers to the server's questions, and the state to return to it.
    pub(super) fn go_on(&mut self, state: Option<String>, answers: Option<Map<String, Value>>) {
        // A call that the server has begun continues, even if the server changes its list.
        self.list = None;
        for (key, value) in [("inputResponses", answers.map(Value::Object)), ("requestState", state.map(Value::String))]
        {
            match value {
                Some(value) => self.call.params.insert(key.to_owned(), value),
                None => self.call.params.remove(key),
            };
        }
    }
}

fn named(name: &str, arguments: Option<Map<String, Value>>) -> Map<String, Value> {
    let arguments = arguments.map(|arguments| ("arguments".to_owned(), Value::Object(arguments)));
    [("name".to_owned(), json!(name))].into_iter().chain(arguments).collect()
}
