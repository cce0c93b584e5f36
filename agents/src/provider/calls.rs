//! The calls in a model's reply, and the answers to them.

use std::ops::Deref;

use mcp_bindgen_runtime::ToolReply;
use serde_json::Value;

use super::{Arguments, Provider};
use crate::json;

/// A call that a model requests.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelCall {
    /// The provider's id of the call; empty if it has none, as with Gemini.
    pub id: String,
    /// The tool's name in the toolset.
    pub name: String,
    /// The arguments by the model.
    pub arguments: Arguments,
    /// The group in which the model found the tool (`namespace` in OpenAI's Responses). Not needed to identify the
    /// tool.
    pub namespace: Option<String>,
    /// `true` if the reply ends inside this call, or the provider withheld it. Such a call is never made: its truncated
    /// arguments could happen to be a valid object.
    pub is_unfinished: bool,
}

impl ModelCall {
    /// Creates a call with its id, the tool's name in the toolset, and the arguments.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        let (id, name) = (id.into(), name.into());
        Self { id, name, arguments: arguments.into(), namespace: None, is_unfinished: false }
    }

    /// Pairs the call with its reply, for programs that make calls without [`Toolset::turn`](crate::Toolset::turn).
    #[must_use]
    pub fn answered(&self, reply: ToolReply) -> Answered {
        Answered::new(self.id.clone(), self.name.clone(), reply)
    }
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunEvent {
    /// A piece of the model's text, of streamed replies only.
    Text(String),
    /// The model begins a call, in streamed replies only.
    #[non_exhaustive]
    CallBegun {
        /// The provider's id of the call; empty if it has none.
        id: String,
        /// The tool's name in the toolset.
        name: String,
    },
    /// A piece of the JSON of the last call's arguments, of streamed replies only.
    Arguments(String),
    /// The model requests a call. It is made next.
    Called(ModelCall),
    /// A call has its answer.
    Answered(Answered),
}

impl RunEvent {
    /// Creates a piece of text, unless it is empty.
    pub(super) fn text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::Text(text.to_owned()))
    }

    /// Creates a piece of arguments, unless it is empty.
    pub(super) fn arguments(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::Arguments(text.to_owned()))
    }
}

/// The outcome of one call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answered {
    /// The call's id, as in [`ModelCall`].
    pub id: String,
    /// The name that the model called.
    pub name: String,
    /// The reply.
    pub reply: ToolReply,
}

impl Answered {
    /// Creates the answer to the call with this id and name.
    pub fn new(id: impl Into<String>, name: impl Into<String>, reply: ToolReply) -> Self {
        Self { id: id.into(), name: name.into(), reply }
    }
}

/// The answers to the calls of one turn, in the order of the calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers(Vec<Answered>);

impl Answers {
    /// Returns the messages to append to the conversation; see [`Provider::results`].
    #[must_use]
    pub fn results(&self, provider: Provider) -> Vec<Value> {
        provider.results(self)
    }

    /// Formats results like [`results`](Self::results), for one model; see [`Provider::results_for`].
    #[must_use]
    pub fn results_for(&self, provider: Provider, model: &str) -> Vec<Value> {
        provider.results_for(model, self)
    }
}

impl Deref for Answers {
    type Target = [Answered];

    fn deref(&self) -> &[Answered] {
        &self.0
    }
}

impl IntoIterator for Answers {
    type Item = Answered;
    type IntoIter = std::vec::IntoIter<Answered>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<Answered> for Answers {
    fn from_iter<I: IntoIterator<Item = Answered>>(answers: I) -> Self {
        Self(answers.into_iter().collect())
    }
}

/// Groups answers by id, in the order of first occurrence: providers take one result for each. Answers without an id stay
/// separate.
pub(super) fn grouped(answers: &[Answered]) -> Vec<Vec<&Answered>> {
    let mut groups: Vec<Vec<&Answered>> = Vec::new();
    for answer in answers {
        let is_same = |group: &&mut Vec<&Answered>| group.iter().any(|other| other.id == answer.id);
        match groups.iter_mut().find(is_same).filter(|_| !answer.id.is_empty()) {
            // A repeated call has the same answer.
            Some(group) if group.contains(&answer) => {}
            Some(group) => group.push(answer),
            None => groups.push(vec![answer]),
        }
    }
    groups
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    /// The reply ends inside its last part.
    Cut,
    /// The provider withheld the reply.
    Withheld,
}

impl End {
    /// Reads the reason why a reply ended; `null` means that it was cut off, such as a broken stream.
    pub(super) fn of(reply: &Value, key: &str, cut: &[&str], withheld: &[&str]) -> Self {
        match reply.get(key) {
            Some(Value::Null) => Self::Cut,
            Some(Value::String(reason)) if cut.contains(&reason.as_str()) => Self::Cut,
            Some(Value::String(reason)) if withheld.contains(&reason.as_str()) => Self::Withheld,
            _ => Self::Whole,
        }
    }
}

/// Reads the calls among the items of a reply. `call` returns a call and how the reply ended for it.
pub(super) fn calls_among(items: &[Value], call: impl Fn(&Value) -> Option<(ModelCall, End)>) -> Vec<ModelCall> {
    let read = |(place, item)| {
        let (call, end) = call(item)?;
        let is_unfinished = match end {
            End::Whole => false,
            // An incomplete object may look complete after parsing; incomplete text does not.
            End::Cut => place + 1 == items.len() && !call.arguments.is_whole_text(),
            End::Withheld => true,
        };
        Some(ModelCall { is_unfinished, ..call })
    };
    items.iter().enumerate().filter_map(read).collect()
}

pub(crate) fn text(value: &Value, key: &str) -> String {
    json::text(value, key).unwrap_or_default().to_owned()
}

/// Returns the arguments under a key; a missing key means no arguments.
pub(super) fn arguments(value: &Value, key: &str) -> Arguments {
    value.get(key).map_or_else(|| Arguments::from(""), |arguments| arguments.clone().into())
}

/// Returns the list under a key, or the value itself if it is a list.
pub(crate) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).unwrap_or(value).as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_runtime::{CallError, ToolResult};
    use serde_json::json;

    use super::super::parts::LONGEST_RESULT;
    use super::*;

    const ALL: [Provider; 4] = [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini];

    fn said(id: &str, name: &str, text: &str) -> Answered {
        let result = json!({"content": [{"type": "text", "text": text}]});
        Answered::new(id, name, ToolResult::from_json("s", "t", result).into())
    }

    fn failed(id: &str, name: &str) -> Answered {
        Answered::new(id, name, CallError::denied("s", "t", "never").into())
    }

    fn with_image(id: &str, is_error: bool) -> Answered {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let result = json!({"content": [image], "isError": is_error});
        Answered::new(id, "draw", ToolResult::from_json("s", "t", result).into())
    }

    #[test]
    fn results_have_the_form_of_each_provider() {
        let answers = [said("1", "a", "done"), failed("2", "b")];
        let refused = "s: `t` was denied: never";
        assert_eq!(
            Provider::OpenAiChat.results(&answers),
            [
                json!({"role": "tool", "tool_call_id": "1", "content": "done"}),
                json!({"role": "tool", "tool_call_id": "2", "content": format!("error: {refused}")}),
            ]
        );
        assert_eq!(
            Provider::OpenAiResponses.results(&answers),
            [
                json!({"type": "function_call_output", "call_id": "1", "output": "done"}),
                json!({"type": "function_call_output", "call_id": "2", "output": format!("error: {refused}")}),
            ]
        );
        assert_eq!(
            Provider::Anthropic.results(&answers),
            [json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "done"},
                {"type": "tool_result", "tool_use_id": "2", "content": refused, "is_error": true},
            ]})]
        );
        assert_eq!(
            Provider::Gemini.results(&answers),
            [json!({"role": "user", "parts": [
                {"functionResponse": {"id": "1", "name": "a", "response": {"output": "done"}}},
                {"functionResponse": {"id": "2", "name": "b", "response": {"error": refused}}},
            ]})]
        );
        for provider in ALL {
            assert!(provider.results(&[]).is_empty());
        }
    }

    #[test]
    fn images_are_sent_where_supported() {
        let answers = [with_image("1", false), with_image("2", true)];
        let chat = Provider::OpenAiChat.results(&answers);
        assert!(chat[0]["content"].as_str().is_some_and(|text| text.contains("left out")), "{chat:?}");
        let responses = Provider::OpenAiResponses.results(&answers);
        let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA"});
        assert_eq!(responses[0]["output"], json!([image]));
        assert_eq!(responses[1]["output"], json!([{"type": "input_text", "text": "error:"}, image]));
        let anthropic = &Provider::Anthropic.results(&answers)[0]["content"];
        let source = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
        assert_eq!(anthropic[0]["content"], json!([{"type": "image", "source": source}]));
        assert!(anthropic[1]["content"].is_string() && anthropic[1]["is_error"] == true, "{anthropic}");
        for unknown in [Provider::Gemini.results(&answers), Provider::Gemini.results_for("gemini-2.5-pro", &answers)] {
            let response = &unknown[0]["parts"][0]["functionResponse"];
            assert!(response.get("parts").is_none() && response.to_string().contains("left out"), "{response}");
        }
        let gemini = &Provider::Gemini.results_for("models/gemini-3-pro-preview", &answers)[0]["parts"];
        let media = json!([{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]);
        assert_eq!(gemini[0]["functionResponse"]["parts"], media);
        assert!(gemini[0]["functionResponse"]["response"]["output"].as_str().is_some_and(|said| !said.is_empty()));
    }

    #[test]
    fn calls_with_a_shared_id_have_one_result() {
        let answers = [said("1", "a", "one"), said("2", "b", "two"), said("1", "a", "one"), failed("1", "c")];
        for (provider, place) in [(Provider::OpenAiChat, "/content"), (Provider::OpenAiResponses, "/output")] {
            let results = provider.results(&answers);
            assert_eq!(results.len(), 2);
            let first = results[0].pointer(place).and_then(Value::as_str).expect("it is text");
            assert_eq!(first, "`a`:\none\n`c`:\nerror: s: `t` was denied: never");
        }
        let message = &Provider::Anthropic.results(&answers)[0]["content"];
        assert_eq!(message.as_array().map(Vec::len), Some(2));
        assert_eq!(message[0]["is_error"], true);
        let unnamed = [said("", "a", "one"), said("", "a", "one")];
        let parts = &Provider::Gemini.results(&unnamed)[0]["parts"];
        assert_eq!(parts.as_array().map(Vec::len), Some(2));
        assert_eq!(parts[0]["functionResponse"].get("id"), None);
    }

    #[test]
    fn long_results_are_truncated_with_a_notice() {
        for provider in ALL {
            let long = [said("1", "a", &"ä".repeat(LONGEST_RESULT + 7))];
            let printed = serde_json::to_string(&provider.results(&long)).expect("it prints");
            assert!(printed.contains("[cut: 7 of 100007 characters left out]"), "{provider:?}");
        }
    }
}
