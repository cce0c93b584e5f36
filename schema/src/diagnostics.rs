//! Diagnostics of the generator about a tool list, with stable codes.

use std::fmt;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing is lost; the types say less than the schema.
    Note,
    /// A part of the schema could not be typed, or a name had to be changed.
    Warning,
    /// A tool could not be bound.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A kind of diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code {
    /// The stable code, for `deny` and `allow`: `MCP0001`.
    pub id: &'static str,
    /// The severity.
    pub severity: Severity,
    /// A summary of one line.
    pub title: &'static str,
    /// The next step.
    pub help: &'static str,
}

impl Code {
    /// Returns `true` if the schema is invalid, rather than valid but without a type in Rust.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        [MALFORMED_INPUT, MALFORMED_OUTPUT, MALFORMED_KEYWORD, UNKNOWN_TYPE, DANGLING_REF, CIRCULAR_REF].contains(self)
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal $severity:ident $title:literal $help:literal;)*) => {
        $($(#[$doc])* pub const $name: Code = Code { id: $id, severity: Severity::$severity, title: $title, help: $help };)*

        /// Every code, in order.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

codes! {
    /// A tool that is not an object, or has no name.
    MALFORMED_TOOL = "MCP0001" Error "the entry is not a tool"
        "report it to the server's authors; the other tools are bound";
    /// `inputSchema` is missing or not an object.
    MALFORMED_INPUT = "MCP0002" Warning "the inputSchema is not a schema object"
        "the tool is bound with free-form arguments";
    /// `outputSchema` is not a schema.
    MALFORMED_OUTPUT = "MCP0003" Warning "the outputSchema is not a schema object"
        "the tool's output is the untyped result";
    /// Two tools with one name.
    DUPLICATE_TOOL = "MCP0004" Warning "another tool has the same name"
        "the server can only call one of them; report it to the server's authors";
    /// A keyword's value is not what the specification asks for.
    MALFORMED_KEYWORD = "MCP0005" Warning "the keyword's value is malformed"
        "the keyword is ignored";
    /// `type` names no JSON type.
    UNKNOWN_TYPE = "MCP0006" Warning "the type is not a JSON type"
        "the value is untyped";
    /// A `$ref` that leads nowhere.
    DANGLING_REF = "MCP0007" Warning "the $ref does not resolve"
        "the value is untyped";
    /// A `$ref` to another document.
    EXTERNAL_REF = "MCP0008" Warning "the $ref points to another document, which is never fetched"
        "the value is untyped";
    /// A `$ref` that only leads back to itself.
    CIRCULAR_REF = "MCP0009" Warning "the $ref only points to itself"
        "the value is untyped";
    /// Too deep, too many, too large.
    LIMIT = "MCP0010" Warning "the schema is too deep or too large to be typed"
        "the value is untyped";
    /// No value is valid.
    NEVER_VALID = "MCP0011" Warning "no value can satisfy the schema"
        "the property has no field where it is optional, and is untyped where it is required";
    /// Constraints that types do not express.
    NOT_IN_TYPES = "MCP0012" Note "the keyword constrains values in a way that types do not express"
        "the server checks it, and feature `validate` does before sending";
    /// An integer whose bounds exceed 64 bits.
    WIDE_INTEGER = "MCP0013" Warning "the range of the integer exceeds 64 bits"
        "the value has 64 bits if a bound is out of range, and is untyped otherwise";
    /// Names that collide in Rust.
    RENAMED = "MCP0014" Note "the name collides with another in Rust and has a suffix"
        "the wire name is unchanged";
    /// The opt-in backend could not take the tool.
    BACKEND_FALLBACK = "MCP0015" Warning "the typify backend cannot take the tool"
        "the tool is bound with the default backend";
    /// A prompt, or one of its arguments, that is not what the specification asks for.
    MALFORMED_PROMPT = "MCP0016" Warning "the prompt is malformed"
        "its malformed parts are not bound; report it to the server's authors";
    /// A resource template that cannot be filled in.
    MALFORMED_TEMPLATE = "MCP0017" Warning "the resource template cannot be filled in"
        "it is not bound: read its resources by URI";
    /// A pattern that no newtype of `checked` checks.
    UNCHECKED_PATTERN = "MCP0018" Note "the type does not check the pattern"
        "the server checks it, and feature `validate` does before sending";
}

/// A list of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Listed {
    /// `tools`
    #[default]
    Tool,
    /// `prompts`
    Prompt,
    /// `resourceTemplates`
    ResourceTemplate,
}

/// The name of its items.
impl fmt::Display for Listed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::ResourceTemplate => "resource template",
        })
    }
}

/// A diagnostic about a position in a tool, prompt or resource template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Its code.
    pub code: Code,
    /// The list that contains it.
    pub listed: Listed,
    /// The name on the server; `#3` for the fourth entry if it has none.
    pub tool: String,
    /// The index in the snapshot's list.
    pub index: usize,
    /// The position inside, as a JSON pointer: `/inputSchema/properties/labels`.
    pub pointer: String,
    /// The problem.
    pub message: String,
}

impl Diagnostic {
    /// Returns the problem in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        if self.message.is_empty() {
            self.code.title.to_owned()
        } else {
            format!("{}: {}", self.code.title, mcp_bindgen_model::printable(&self.message))
        }
    }

    /// Returns the line and column in the text of the snapshot, from 1.
    #[must_use]
    pub fn position(&self, text: &str) -> Option<(usize, usize)> {
        let list = match self.listed {
            Listed::Tool => "tools",
            Listed::Prompt => "prompts",
            Listed::ResourceTemplate => "resourceTemplates",
        };
        let places = ["", "/result"].map(|root| format!("{root}/{list}/{}", self.index));
        let exact =
            places.iter().find_map(|place| mcp_bindgen_model::locate(text, &format!("{place}{}", self.pointer)));
        exact.or_else(|| places.iter().find_map(|place| mcp_bindgen_model::locate(text, place)))
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Code { id, severity, help, .. } = self.code;
        let (tool, pointer) = (mcp_bindgen_model::printable(&self.tool), mcp_bindgen_model::printable(&self.pointer));
        let listed = self.listed;
        write!(formatter, "{severity}[{id}]: {} ({listed} {tool}, {pointer}); {help}", self.summary())
    }
}

/// The diagnostics of a list, in the order of its items.
pub type Diagnostics = Vec<Diagnostic>;

/// Collects the diagnostics of one schema while it is read.
#[derive(Debug)]
pub struct Reporter {
    listed: Listed,
    tool: String,
    index: usize,
    /// The key of the schema inside the tool: `/inputSchema`.
    root: &'static str,
    said: Diagnostics,
}

/// The maximum number of diagnostics for one schema.
const MOST_PER_SCHEMA: usize = 50;

impl Reporter {
    /// Creates a reporter for the schema in member `root` of a tool, such as `/inputSchema`.
    #[must_use]
    pub fn new(tool: &str, index: usize, root: &'static str) -> Self {
        Self { listed: Listed::Tool, tool: tool.to_owned(), index, root, said: Vec::new() }
    }

    /// Creates a reporter for an item of any list.
    #[must_use]
    pub fn of(listed: Listed, name: &str, index: usize) -> Self {
        Self { listed, ..Self::new(name, index, "") }
    }

    /// Reports a diagnostic at `pointer` below the root. At most fifty for each schema are kept.
    pub fn say(&mut self, code: Code, pointer: &str, message: impl Into<String>) {
        let (tool, pointer) = (self.tool.clone(), format!("{}{pointer}", self.root));
        let diagnostic =
            Diagnostic { code, listed: self.listed, tool, index: self.index, pointer, message: message.into() };
        if self.said.len() < MOST_PER_SCHEMA && !self.said.contains(&diagnostic) {
            self.said.push(diagnostic);
        }
    }

    /// Returns the diagnostics.
    #[must_use]
    pub fn finish(self) -> Diagnostics {
        self.said
    }
}
