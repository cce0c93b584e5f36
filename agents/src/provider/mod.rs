//! The model providers, and their formats of tools, calls and results.

mod anthropic;
mod arguments;
mod calls;
mod fault;
mod format;
mod gemini;
mod openai_chat;
mod openai_responses;
mod parts;

pub use arguments::{Arguments, UnreadableArguments};
pub use calls::{Answered, Answers, ModelCall, RunEvent};
pub(crate) use calls::{items, text};
pub(crate) use format::{Facts, Format, keep};
pub(crate) use parts::{pictures, text_beside_pictures, with_message};

use format::Role;
use mcp_bindgen_runtime::PromptResult;
use parts::{Part, Room, Takes, capped, of_content, parts};
use serde_json::{Value, json};

/// A provider's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI's Chat Completions.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
}

impl Provider {
    pub(crate) fn format(self) -> &'static dyn Format {
        match self {
            Self::OpenAiChat => &openai_chat::Chat,
            Self::OpenAiResponses => &openai_responses::Responses,
            Self::Anthropic => &anthropic::Anthropic,
            Self::Gemini => &gemini::Gemini,
        }
    }

    /// Returns the name of the API in messages.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::OpenAiChat => "OpenAI Chat Completions",
            Self::OpenAiResponses => "OpenAI Responses",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Gemini",
        }
    }

    /// Returns the calls that a model's reply requests, in order. Calls that the provider makes itself are left out.
    /// Custom tool calls of Chat Completions are included: the conversation cannot continue until each is answered.
    ///
    /// The reply is the body of a response, or the part of it that programs keep: the message, the list of items or
    /// of blocks. Of several alternatives (`choices`, `candidates`) the first is read. Other values contain no calls, and
    /// neither does the body of an error: look at the status of a response first. [`Run`](crate::Run) fails for such a body.
    /// Assemble streamed replies first.
    ///
    /// If the reply was truncated, its last call is [unfinished](ModelCall::is_unfinished), unless it is complete; if
    /// the provider withheld the reply, such as for a refusal, all calls are.
    ///
    /// ```
    /// use mcp_bindgen_agents::Provider;
    /// use serde_json::json;
    ///
    /// let reply = json!({"role": "assistant", "stop_reason": "tool_use", "content": [
    ///     {"type": "text", "text": "Let me look."},
    ///     {"type": "tool_use", "id": "toolu_1", "name": "files_list", "input": {"path": "/tmp"}},
    /// ]});
    /// let calls = Provider::Anthropic.calls(&reply);
    /// assert_eq!((calls.len(), calls[0].id.as_str(), calls[0].name.as_str()), (1, "toolu_1", "files_list"));
    /// ```
    #[must_use]
    pub fn calls(self, reply: &Value) -> Vec<ModelCall> {
        self.format().calls(reply)
    }

    /// Returns the results of a model's calls, to append to the conversation: messages for OpenAI's Chat Completions,
    /// items for its Responses, one message with all results for Anthropic, one content for Gemini.
    ///
    /// A result is never empty: without text it has a description or JSON. Images are passed on where the provider
    /// accepts them (not with Chat Completions, and not in errors of Anthropic), up to 20 images and 15 million
    /// base64 characters for each turn. For other images and media, links and unknown blocks, the model receives the
    /// JSON without the data. Errors are marked if the provider has a field for that, and begin with `error:`
    /// otherwise. Control characters and bidirectional marks are removed. Each result has at most 100,000 characters
    /// and a note about the rest; [`Toolset::max_result`](crate::Toolset::max_result) limits results earlier.
    ///
    /// Answers with the same id become one result, because providers reject a second one.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Answered, Provider};
    /// use mcp_bindgen_runtime::{CallError, ToolReply};
    ///
    /// let denied = ToolReply::from(CallError::denied("files", "remove", "read-only"));
    /// let messages = Provider::Anthropic.results(&[Answered::new("toolu_1", "files_remove", denied)]);
    /// assert_eq!(messages[0]["content"][0]["tool_use_id"], "toolu_1");
    /// assert_eq!(messages[0]["content"][0]["is_error"], true);
    /// ```
    #[must_use]
    pub fn results(self, answers: &[Answered]) -> Vec<Value> {
        self.printed(answers, None)
    }

    /// Formats results like [`results`](Self::results), for one model by its name in the API. For Gemini, results have
    /// images only if the model is known to accept them: `gemini-3` and later.
    #[must_use]
    pub fn results_for(self, model: &str, answers: &[Answered]) -> Vec<Value> {
        self.printed(answers, Some(model))
    }

    pub(crate) fn printed(self, answers: &[Answered], model: Option<&str>) -> Vec<Value> {
        let format = self.format();
        let Facts { takes, results_key, .. } = format.facts();
        let takes = Takes { images: if format.takes_images(model) { takes.images } else { &[] }, ..takes };
        let mut room = Room::of_a_turn();
        let printed = calls::grouped(answers).into_iter().filter_map(|group| {
            let is_success = group.iter().all(|answer| answer.reply.success);
            let mut all = Vec::new();
            for answer in &group {
                if group.len() > 1 {
                    all.push(Part::Text(format!("`{}`:", mcp_bindgen_model::printable(&answer.name))));
                }
                all.extend(parts(&answer.reply, takes, is_success, &mut room));
            }
            capped(&mut all, parts::LONGEST_RESULT);
            Some(format.result(group.first()?, is_success, all))
        });
        let results: Vec<Value> = printed.collect();
        match results_key {
            Some(key) if !results.is_empty() => vec![json!({"role": Role::User, key: results})],
            _ => results,
        }
    }

    /// Returns a message of the user, to begin or go on with a conversation.
    ///
    /// ```
    /// use mcp_bindgen_agents::Provider;
    ///
    /// let messages = vec![Provider::Gemini.user_message("Who am I?")];
    /// assert_eq!(messages[0]["parts"][0]["text"], "Who am I?");
    /// ```
    #[must_use]
    pub fn user_message(self, text: &str) -> Value {
        self.format().message(Role::User, vec![Part::Text(text.to_owned())])
    }

    /// Returns `true` if the provider paused in a reply without calls, and wants it back as it is: its own tools took long.
    pub(crate) fn goes_on(self, reply: &Value) -> bool {
        self == Self::Anthropic && text(reply, "stop_reason") == "pause_turn"
    }

    /// Returns the text of a model's reply: the body of a response. Other values have no text, such as the body of an error.
    #[must_use]
    pub fn text(self, reply: &Value) -> String {
        self.format().text(reply)
    }

    /// Returns the messages of a server's prompt in the provider's format, to put before or into a conversation.
    /// Consecutive messages of one role are merged. Images are passed on if the provider accepts them, up to 20 and 15
    /// million base64 characters; embedded resources become their text. Roles other than `assistant` count as `user`.
    ///
    /// ```
    /// use mcp_bindgen_agents::Provider;
    /// use mcp_bindgen_runtime::PromptResult;
    /// use serde_json::json;
    ///
    /// let prompt = PromptResult::from_json("notes", "review", json!({ "messages": [
    ///     { "role": "user", "content": { "type": "text", "text": "Review this." } },
    ///     { "role": "user", "content": { "type": "resource", "resource": { "uri": "file:///a.rs", "text": "fn a() {}" } } },
    /// ] }));
    /// let messages = Provider::Anthropic.prompt_messages(&prompt);
    /// assert_eq!(messages.len(), 1);
    /// assert_eq!(messages[0]["content"][1]["text"], "file:///a.rs:\nfn a() {}");
    /// ```
    #[must_use]
    pub fn prompt_messages(self, prompt: &PromptResult) -> Vec<Value> {
        let (format, mut room) = (self.format(), Room::of_a_turn());
        let mut messages: Vec<(Role, Vec<Part>)> = Vec::new();
        for message in &prompt.messages {
            let (role, images) = match message.role.as_str() {
                "assistant" => (Role::Assistant, &[][..]),
                _ => (Role::User, format.facts().images_of_users),
            };
            let Some(part) = of_content(&message.content, images, &mut room) else { continue };
            match messages.last_mut() {
                Some((last, parts)) if *last == role => parts.push(part),
                _ => messages.push((role, vec![part])),
            }
        }
        messages.into_iter().map(|(role, parts)| format.message(role, parts)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn printed(provider: Provider, is_strict: bool) -> String {
        let schema = json!({ "type": "object", "properties": {} });
        provider.format().declaration("fs_read", Some("Reads."), schema, is_strict).to_string()
    }

    #[test]
    fn definitions_have_the_form_of_each_provider() {
        let schema = r#"{"type":"object","properties":{}}"#;
        let strict = [
            (
                Provider::OpenAiChat,
                format!(
                    r#"{{"type":"function","function":{{"name":"fs_read","description":"Reads.","parameters":{schema},"strict":true}}}}"#
                ),
            ),
            (
                Provider::OpenAiResponses,
                format!(
                    r#"{{"type":"function","name":"fs_read","description":"Reads.","parameters":{schema},"strict":true}}"#
                ),
            ),
            (
                Provider::Anthropic,
                format!(r#"{{"name":"fs_read","description":"Reads.","input_schema":{schema},"strict":true}}"#),
            ),
            (
                Provider::Gemini,
                format!(r#"{{"name":"fs_read","description":"Reads.","parametersJsonSchema":{schema}}}"#),
            ),
        ];
        for (provider, text) in strict {
            assert_eq!(printed(provider, true), text);
        }
        assert!(printed(Provider::OpenAiChat, false).contains(r#""strict":false"#));
        assert!(printed(Provider::OpenAiResponses, false).contains(r#""strict":false"#));
        assert!(!printed(Provider::Anthropic, false).contains("strict"));
    }

    #[test]
    fn gemini_wraps_all_definitions_in_one_object() {
        let listed = |provider: Provider, tools| provider.format().list(tools);
        let one = vec![json!({ "name": "a" })];
        assert_eq!(listed(Provider::Gemini, one.clone()), [json!({ "functionDeclarations": [{ "name": "a" }] })]);
        assert_eq!(listed(Provider::Gemini, Vec::new()), Vec::<Value>::new());
        assert_eq!(listed(Provider::Anthropic, one.clone()), one);
    }
}
