//! The providers of models, and what each of them calls a tool, a call and a result.

mod answers;
mod anthropic;
mod arguments;
mod calls;
mod format;
mod gemini;
mod openai_chat;
mod openai_responses;
mod parts;

pub use answers::{Answered, Answers};
pub use arguments::{Arguments, UnreadableArguments};
pub use calls::ModelCall;
pub(crate) use format::{Declaration, Format};
pub(crate) use parts::with_message;

use parts::{Part, Room, capped, parts};
use serde_json::Value;

/// Whose API a model is asked through.
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
    pub(crate) fn format(self) -> &'static Format {
        match self {
            Self::OpenAiChat => &openai_chat::FORMAT,
            Self::OpenAiResponses => &openai_responses::FORMAT,
            Self::Anthropic => &anthropic::FORMAT,
            Self::Gemini => &gemini::FORMAT,
        }
    }

    /// The calls that a model's reply asks for, in its order. Calls that the provider carries out itself are not among
    /// them. Those of Chat Completions that are no calls of functions are (`custom`): a conversation does not go on before each
    /// of them is answered.
    ///
    /// It takes the body of a response, and also what programs keep of it: the message, the list of its items or blocks.
    /// Of several alternatives (`choices`, `candidates`) it is the first. What is not of these forms asks for no calls. A
    /// reply that came as a stream is to be put together before.
    ///
    /// Where the reply was cut, as by a limit of tokens, its last call is [unfinished](ModelCall::is_unfinished), unless it
    /// is there to its end; where the provider withheld it, as a refusal, all of them are.
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
        (self.format().calls)(reply)
    }

    /// The results of a model's calls, as they are appended to the conversation: messages of OpenAI's Chat Completions,
    /// items of its Responses, one message of Anthropic's with all results, one content of Gemini's.
    ///
    /// A result is never empty: what has no text is said in words or as JSON. Images go where the provider takes them
    /// (not with Chat Completions, and not with errors of Anthropic's), as long as a turn has no more than 20 of them and 15
    /// million characters of base64; of other pictures and media, links and unknown blocks the model
    /// gets the JSON without the data. Errors are marked where there is a mark and begin with `error:` where there is none.
    /// Control characters and marks that turn writing around are taken out. Of each result the first 100,000 characters
    /// are shown, and it says how much was left out; [`results_within`](Self::results_within) sets another bound.
    ///
    /// Answers that share an id go under it as one result, since providers refuse a second one.
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
        self.results_within(answers, answers::LONGEST_RESULT)
    }

    /// [`results`](Self::results) with at most so many characters of text of each result, beside the note that says how
    /// much was left out.
    #[must_use]
    pub fn results_within(self, answers: &[Answered], characters: usize) -> Vec<Value> {
        let format = self.format();
        let groups = answers::grouped(answers);
        let mut room = Room::of_a_turn();
        let printed = groups.iter().map(|group| {
            let is_shared = group.answers.len() > 1;
            let mut all = Vec::new();
            for answer in &group.answers {
                if is_shared {
                    all.push(Part::Text(format!("`{}`:", mcp_bindgen_model::printable(&answer.name))));
                }
                all.extend(parts(&answer.reply, format.takes, group.is_success(), &mut room));
            }
            capped(&mut all, characters);
            (format.result)(group, all)
        });
        (format.messages)(printed.collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn printed(provider: Provider, is_strict: bool) -> String {
        let schema = json!({ "type": "object", "properties": {} });
        let declaration = Declaration { name: "fs_read", description: Some("Reads."), schema, is_strict };
        (provider.format().declaration)(declaration).to_string()
    }

    #[test]
    fn each_provider_has_its_form() {
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
    fn gemini_has_one_object_for_all() {
        let listed = |provider: Provider, tools| (provider.format().list)(tools);
        let one = vec![json!({ "name": "a" })];
        assert_eq!(listed(Provider::Gemini, one.clone()), [json!({ "functionDeclarations": [{ "name": "a" }] })]);
        assert_eq!(listed(Provider::Gemini, Vec::new()), Vec::<Value>::new());
        assert_eq!(listed(Provider::Anthropic, one.clone()), one);
    }
}
