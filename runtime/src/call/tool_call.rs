//! One call as a value.

use std::any::Any;
use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use mcp_bindgen_model::{View, canonical_object, pointer_segment};
use serde_json::{Map, Value};

use super::passage::{Limit, Passage};
use super::{Annotations, CallError, CallOptions, Caller, Dispatched, ServerSpec, ToolResult, ToolSpec};

/// The future that services of calls return.
pub type ServiceFuture = Pin<Box<dyn Future<Output = Result<ToolResult, CallError>> + Send>>;

/// A call of a tool, with its arguments and options.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct ToolCall {
    /// The server's name.
    pub server: Cow<'static, str>,
    /// The tool's wire name.
    pub tool: Cow<'static, str>,
    /// The arguments as JSON.
    pub arguments: Map<String, Value>,
    /// The tool in the bindings, if the caller has any.
    pub spec: Option<&'static ToolSpec>,
    /// The options of this call, beside its arguments.
    pub options: CallOptions,
    /// All that was bound with the tool.
    pub(crate) bindings: Option<&'static ServerSpec>,
    extensions: Extensions,
    pub(crate) passage: Passage,
}

impl ToolCall {
    /// Creates a call by names, without bindings.
    pub fn new(
        server: impl Into<Cow<'static, str>>,
        tool: impl Into<Cow<'static, str>>,
        arguments: Map<String, Value>,
    ) -> Self {
        Self {
            server: server.into(),
            tool: tool.into(),
            arguments,
            spec: None,
            options: CallOptions::new(),
            bindings: None,
            extensions: None,
            passage: Passage::default(),
        }
    }

    /// Creates a call of a bound tool with JSON arguments. They are sent unchanged, including undeclared ones.
    ///
    /// ```
    /// use mcp_bindgen_runtime::{ServerSpec, ToolCall, ToolSpec};
    ///
    /// static TOOLS: [ToolSpec; 1] = [ToolSpec::new("index", r#"{"type":"object"}"#)];
    /// static FILES: ServerSpec = ServerSpec::new("files").tools(&TOOLS);
    ///
    /// let call = ToolCall::bound(&FILES, &TOOLS[0], Default::default());
    /// assert_eq!((&*call.server, &*call.tool), ("files", "index"));
    /// ```
    pub fn bound(server: &'static ServerSpec, tool: &'static ToolSpec, arguments: Map<String, Value>) -> Self {
        Self { spec: Some(tool), bindings: Some(server), ..Self::new(server.name, tool.name, arguments) }
    }

    /// Adds the arguments that a view of the tool sets. A second call changes nothing.
    ///
    /// # Errors
    /// Fails with [`CallError::InvalidArguments`] if the call has an argument that the view sets or hides.
    #[doc(hidden)]
    pub fn viewed(mut self, view: Option<&View>) -> Result<Self, CallError> {
        if let Some(Err(refusal)) = view.map(|view| view.complete(&mut self.arguments)) {
            let pointer = format!("/{}", pointer_segment(&refusal.argument));
            return Err(CallError::invalid_arguments(&self.server, &self.tool, &pointer, refusal.message));
        }
        Ok(self)
    }

    /// Returns the caller on whose behalf the call is made, if it is known: [`CallOptions::caller`].
    #[must_use]
    pub fn caller(&self) -> Option<&Arc<Caller>> {
        self.options.given().caller.as_ref()
    }

    /// Returns the hints about the tool's behaviour: by its bindings, else by the caller's description.
    pub(crate) fn annotations(&self) -> Annotations {
        let described = || self.extension().filter(|described: &&Described| described.tool == self.tool);
        let known = self.known().map(|spec| spec.annotations);
        known.or_else(|| described().map(|described| described.annotations)).unwrap_or_default()
    }

    /// Returns the bindings of the tool that is called. A call that was renamed has left its bindings behind.
    pub(crate) fn known(&self) -> Option<&'static ToolSpec> {
        self.spec.filter(|spec| spec.name == self.tool)
    }

    /// Sets the hints of a tool without bindings, from the server's list. Policies, approvals, caches and other
    /// layers use them; hints in bindings take precedence. They apply to the tool that the call names now.
    ///
    /// ```
    /// use mcp_bindgen_runtime::middleware::CallFacts;
    /// use mcp_bindgen_runtime::{Annotations, ToolCall};
    ///
    /// let listed = serde_json::json!({ "destructiveHint": true });
    /// let call = ToolCall::new("files", "remove", Default::default()).described(Annotations::listed(&listed));
    /// assert_eq!(CallFacts::of(&call).annotations.destructive, Some(true));
    /// ```
    #[inline]
    pub fn described(self, annotations: Annotations) -> Self {
        if annotations == Annotations::default() {
            return self;
        }
        let tool = self.tool.clone();
        self.with_extension(Described { tool, annotations })
    }

    /// Sets options, and keeps earlier ones that these do not set.
    pub fn with(mut self, options: CallOptions) -> Self {
        self.options = options.or(&self.options);
        self
    }

    /// Adds a value for layers around the client, one of each type. It is never sent.
    ///
    /// ```
    /// use mcp_bindgen_runtime::ToolCall;
    ///
    /// #[derive(Debug, PartialEq)]
    /// struct Tenant(u32);
    ///
    /// let call = ToolCall::new("files", "index", Default::default()).with_extension(Tenant(7));
    /// assert_eq!(call.extension::<Tenant>(), Some(&Tenant(7)));
    /// ```
    pub fn with_extension<T: Any + Send + Sync>(mut self, value: T) -> Self {
        let values = Arc::make_mut(self.extensions.get_or_insert_default());
        values.retain(|known| !known.is::<T>());
        values.push(Arc::new(value));
        self
    }

    /// Adds the values of another call, except those of types that this call already has.
    #[doc(hidden)]
    #[inline]
    pub fn with_extensions_of(mut self, other: &Self) -> Self {
        if let Some(values) = &other.extensions {
            let own = Arc::make_mut(self.extensions.get_or_insert_default());
            for value in &**values {
                if own.iter().all(|known| (**known).type_id() != (**value).type_id()) {
                    own.push(value.clone());
                }
            }
        }
        self
    }

    /// Returns the attached value of a type.
    #[must_use]
    pub fn extension<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.extensions.as_ref()?.iter().find_map(|value| value.downcast_ref())
    }

    /// Returns the arguments and the tool in a canonical form, which identifies equal calls.
    pub(crate) fn canonical(&self) -> String {
        canonical_object(&self.arguments) + "\n" + &self.tool
    }

    /// Returns the error of this call for a reason to deny it.
    pub(crate) fn denied(&self, reason: impl Into<String>) -> CallError {
        CallError::denied(&*self.server, &*self.tool, reason)
    }

    /// Returns the error of this call if it was not sent before its deadline.
    pub(crate) fn late(&self, limit: Limit) -> CallError {
        CallError::timeout(&*self.server, &*self.tool, limit.after, Dispatched::No)
    }

    /// Denies this call because a closure of the program panicked.
    pub(crate) fn panicked(&self, closure: &str) -> CallError {
        let (server, tool) = (&*self.server, &*self.tool);
        tracing::error!(server, tool, "{closure} panicked; the call is denied");
        self.denied(format!("{closure} panicked"))
    }
}

/// The hints of a tool without bindings, which apply unless the call is renamed.
struct Described {
    tool: Cow<'static, str>,
    annotations: Annotations,
}

/// Values of different types; clones share them.
type Extensions = Option<Arc<Vec<Arc<dyn Any + Send + Sync>>>>;
