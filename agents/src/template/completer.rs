//! Completers, which fill completion slots.

use std::fmt;

use mcp_bindgen_template::Place;
use serde_json::{Map, Value};

/// A request to fill a completion slot: `[[name]]`, `[[kind:name|key=value]]`.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The template's name.
    pub template: String,
    /// The position of the slot.
    pub place: Place,
    /// The name of the variable for the answer.
    pub name: String,
    /// The kind: `json` in `[[json:name]]`.
    pub kind: Option<String>,
    /// The other options of the slot.
    pub options: Map<String, Value>,
    /// The text before the slot since the last checkpoint, usually the prompt for a model.
    pub prompt: String,
}

/// Omits the text and the values, which may be private.
impl fmt::Debug for CompletionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionRequest")
            .field("template", &self.template)
            .field("place", &self.place)
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("prompt", &format_args!("{} bytes", self.prompt.len()))
            .finish_non_exhaustive()
    }
}

/// Fills the completion slots of a template, usually with a model. Implemented for async closures.
///
/// The answer is printed in place of the slot, text as it is and other values as JSON, and is a variable from there
/// on. The fields of an answer to a `json` slot that is the text of an object or a list can be used like those of the
/// value. Answers are never evaluated as templates.
///
/// ```
/// use mcp_bindgen_agents::{Completer, CompletionRequest};
/// use serde_json::Value;
///
/// struct Model;
///
/// impl Completer for Model {
///     async fn complete(&self, request: CompletionRequest) -> Result<Value, String> {
///         // `request.prompt` goes to the model.
///         Ok(Value::from(format!("an answer to {} bytes", request.prompt.len())))
///     }
/// }
/// ```
pub trait Completer: Send + Sync {
    /// Fills one slot.
    ///
    /// # Errors
    /// The reason, in words without secrets: the template fails with it.
    fn complete(&self, request: CompletionRequest) -> impl Future<Output = Result<Value, String>> + Send;
}

impl<F, R> Completer for F
where
    F: Fn(CompletionRequest) -> R + Send + Sync,
    R: Future<Output = Result<Value, String>> + Send,
{
    fn complete(&self, request: CompletionRequest) -> impl Future<Output = Result<Value, String>> + Send {
        self(request)
    }
}
