//! Who fills the slots that no tool fills.

use std::fmt;

use futures_util::future::BoxFuture;
use mcp_bindgen_template::Place;
use serde_json::{Map, Value};

/// The request of a completion slot: `[[name]]`, `[[kind:name|key=value]]`.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The template's name.
    pub template: String,
    /// Where the slot stands.
    pub place: Place,
    /// The name of the answer.
    pub name: String,
    /// `json` in `[[json:name]]`.
    pub kind: Option<String>,
    /// The other options of the slot.
    pub options: Map<String, Value>,
    /// The text before the slot, since the last checkpoint: with it, as a rule, a model is asked.
    pub prompt: String,
}

/// Without the text and the values, which may be anybody's.
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

/// Fills the completion slots of a template: a model, mostly. Async closures are one.
///
/// The answer is printed at the slot's place, texts as they are and other values as JSON, and is a variable from there on.
/// An answer to a slot of kind `json` that is text of an object or a list can be walked like one. Nothing in an answer is
/// read as a template.
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

/// Any completer.
pub(super) trait DynCompleter: Send + Sync {
    fn complete_dyn(&self, request: CompletionRequest) -> BoxFuture<'_, Result<Value, String>>;
}

impl<C: Completer> DynCompleter for C {
    fn complete_dyn(&self, request: CompletionRequest) -> BoxFuture<'_, Result<Value, String>> {
        Box::pin(self.complete(request))
    }
}
