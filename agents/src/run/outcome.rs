//! The events and the end of a run.

use std::fmt;

use serde_json::Value;

use crate::{Answered, ModelCall, PromptState};

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
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError<E> {
    /// The model cannot be asked.
    #[non_exhaustive]
    Model {
        /// The error of [`Model::reply`](super::Model::reply).
        error: E,
        /// The messages so far.
        messages: Vec<Value>,
    },
    /// The tools of a prompt cannot be offered: [`RenderError`](crate::RenderError) or [`ToolsetError`](crate::ToolsetError).
    #[non_exhaustive]
    Tools {
        /// The error.
        error: Box<dyn std::error::Error + Send + Sync>,
        /// The messages so far.
        messages: Vec<Value>,
    },
    /// The model still requested calls in the last reply that was allowed.
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

impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { error, .. } => write!(f, "the model cannot be asked: {error}"),
            Self::Tools { error, .. } => write!(f, "the tools cannot be offered: {error}"),
            Self::TooManyTurns { turns, .. } => {
                write!(f, "no answer after {turns} replies of the model; `Run::max_turns` allows more")
            }
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for RunError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Model { error, .. } => Some(error),
            Self::Tools { error, .. } => Some(&**error),
            Self::TooManyTurns { .. } => None,
        }
    }
}
