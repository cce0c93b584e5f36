//! The calls in a model's reply.

use serde_json::Value;

use super::{Answered, Arguments};
use crate::json;
use mcp_bindgen_runtime::ToolReply;

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
    /// Returns `true` if a call must not be carried out.
    pub(super) fn unsettles(self, is_last: bool, call: &ModelCall) -> bool {
        match self {
            Self::Whole => false,
            // An incomplete object may look complete after parsing; incomplete text does not.
            Self::Cut => is_last && !call.arguments.is_whole_text(),
            Self::Withheld => true,
        }
    }
}

/// Returns the reason why a reply ended; `null` means that it was cut off, such as a broken stream.
pub(super) fn ending<'v>(value: &'v Value, key: &str) -> Result<&'v str, End> {
    match value.get(key) {
        Some(Value::Null) => Err(End::Cut),
        reason => Ok(reason.and_then(Value::as_str).unwrap_or_default()),
    }
}

/// Reads the calls among the items of a reply. `call` returns a call and how the reply ended for it.
pub(super) fn calls_among(items: &[Value], call: impl Fn(&Value) -> Option<(ModelCall, End)>) -> Vec<ModelCall> {
    let read = |(place, item)| {
        let (call, end) = call(item)?;
        Some(ModelCall { is_unfinished: end.unsettles(place + 1 == items.len(), &call), ..call })
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
