//! The events and the end of a run.

use serde_json::Value;

use crate::PromptState;

/// The model's answer, and the conversation with it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The text of the last reply.
    pub text: String,
    /// All messages, those of the run and the last reply included, in the provider's format.
    pub messages: Vec<Value>,
    /// How many replies of the model it took.
    pub turns: usize,
    /// The state of the prompt, if there is one: with the sections that the model opened.
    pub state: Option<PromptState>,
    /// The last reply, as the model returned it.
    pub reply: Value,
}

/// Why a run has no answer. Each has the messages so far.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The model cannot be asked.
    #[error("the model cannot be asked: {error}")]
    #[non_exhaustive]
    Model {
        /// The error of [`Model::reply`](super::Model::reply).
        #[source]
        error: E,
        /// The messages so far.
        messages: Vec<Value>,
    },
    /// The tools of a prompt cannot be offered: [`RenderError`](crate::RenderError) or [`ToolsetError`](crate::ToolsetError).
    #[error("the tools cannot be offered: {error}")]
    #[non_exhaustive]
    Tools {
        /// The error.
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
        /// The messages so far.
        messages: Vec<Value>,
    },
    /// The model still requested calls in the last reply that was allowed.
    #[error("no answer after {turns} replies of the model; `Run::max_turns` allows more")]
    #[non_exhaustive]
    TooManyTurns {
        /// The number of replies.
        turns: usize,
        /// The messages so far.
        messages: Vec<Value>,
    },
}

impl<E> RunError<E> {
    /// Returns the messages so far.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        match self {
            Self::Model { messages, .. } | Self::Tools { messages, .. } | Self::TooManyTurns { messages, .. } => {
                messages
            }
        }
    }
}
