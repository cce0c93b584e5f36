//! The result of a template.

use std::fmt;

use mcp_bindgen_template::Place;
use serde_json::{Map, Value};

/// The text of a run, with its variables and calls.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RenderedTemplate {
    /// The segments between checkpoints, in order; at least one.
    pub segments: Vec<RenderedSegment>,
    /// The variables: results of actions, answers to completion slots, and those that the template sets itself.
    pub variables: Map<String, Value>,
    /// The calls, in the order in which they began.
    pub calls: Vec<TemplateCall>,
}

/// The text between two checkpoints.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedSegment {
    /// The name in `<checkpoint>Name</checkpoint>` at its end.
    pub name: Option<String>,
    /// Its text.
    pub text: String,
}

/// A call of an action.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct TemplateCall {
    /// The position of the action.
    pub place: Place,
    /// The action's name in the template: `@mcp`.
    pub action: String,
    /// The name of the variable with the result.
    pub variable: String,
    /// The server, or the group of functions.
    pub server: String,
    /// The tool's name on the server.
    pub tool: String,
    /// The arguments that were sent.
    pub arguments: Map<String, Value>,
    /// The error, if the call failed or was cancelled.
    pub failure: Option<String>,
}

impl RenderedTemplate {
    /// Returns the whole text, without the checkpoints.
    #[must_use]
    pub fn text(&self) -> String {
        self.segments.iter().map(|segment| segment.text.as_str()).collect()
    }
}

/// Omits the text and the values, which may be private.
impl fmt::Debug for RenderedTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedTemplate")
            .field("segments", &self.segments)
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .field("calls", &self.calls)
            .finish()
    }
}

impl fmt::Debug for RenderedSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedSegment")
            .field("name", &self.name)
            .field("text", &format_args!("{} bytes", self.text.len()))
            .finish()
    }
}

impl fmt::Debug for TemplateCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateCall")
            .field("place", &self.place)
            .field("action", &self.action)
            .field("variable", &self.variable)
            .field("server", &self.server)
            .field("tool", &self.tool)
            .field("arguments", &self.arguments.keys().collect::<Vec<_>>())
            .field("failed", &self.failure.is_some())
            .finish()
    }
}
