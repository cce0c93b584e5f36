//! The result of a template.

use std::fmt;

use mcp_bindgen_template::Place;
use serde_json::{Map, Value};

/// A template's text, with what it came of.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct RenderedTemplate {
    /// The segments between checkpoints, in order; at least one.
    pub segments: Vec<RenderedSegment>,
    /// The results of actions and the answers to completion slots, by their variables, and what the template itself has set.
    pub variables: Map<String, Value>,
    /// The calls, in the order in which they began.
    pub calls: Vec<TemplateCall>,
}

/// The text between two checkpoints.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedSegment {
    /// `<checkpoint>Name</checkpoint>` at its end.
    pub name: Option<String>,
    /// Its text.
    pub text: String,
}

/// A call that an action has made.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct TemplateCall {
    /// Where the action stands.
    pub place: Place,
    /// The template's name for it: `@mcp`.
    pub action: String,
    /// The name of the result.
    pub variable: String,
    /// The server, or the group of functions.
    pub server: String,
    /// The wire name.
    pub tool: String,
    /// The arguments that were sent.
    pub arguments: Map<String, Value>,
    /// Why it failed, or that it was cut off; none where it succeeded.
    pub failure: Option<String>,
}

impl RenderedTemplate {
    /// The whole text, without the checkpoints.
    #[must_use]
    pub fn text(&self) -> String {
        self.segments.iter().map(|segment| segment.text.as_str()).collect()
    }
}

/// Without what is somebody's: the text and the values.
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
