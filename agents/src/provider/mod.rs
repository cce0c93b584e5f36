//! The providers of models, and what each of them calls a tool, a call and a result.

mod answers;
mod anthropic;
mod arguments;
mod calls;
pub(crate) mod declarations;
mod gemini;
mod openai_chat;
mod openai_responses;
mod parts;

pub use answers::{Answered, Answers};
pub use arguments::{Arguments, UnreadableArguments};
pub use calls::ModelCall;
pub(crate) use parts::with_message;

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
