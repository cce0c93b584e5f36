//! The parts of a template.

use serde_json::Value;

use crate::fault::Place;

/// A parsed template.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Template {
    /// The parts between `<checkpoint>`s; at least one.
    pub segments: Vec<Segment>,
}

/// The text between two checkpoints.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Segment {
    /// The name in `<checkpoint>Name</checkpoint>` at its end.
    pub name: Option<String>,
    /// Its start.
    pub place: Place,
    /// Its pieces, in order.
    pub pieces: Vec<Piece>,
}

/// A piece of a segment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Piece {
    /// Its start.
    pub place: Place,
    /// Its kind.
    pub kind: PieceKind,
}

/// The kinds of pieces.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PieceKind {
    /// Literal text, including the content of `{% raw %}` and the meaning of `[[[[`; never empty. The white space that
    /// the `-` of adjacent code removes is not in it.
    Text(String),
    /// `{{ .. }}`, with its braces.
    Expression(String),
    /// `{% .. %}`, with its braces. Comments are no pieces.
    Statement(String),
    /// `[[@name:variable|key=value]]`.
    Action(Action),
    /// `[[name]]`, `[[kind:name|key=value]]`.
    Completion(Completion),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Action {
    /// The tool.
    pub target: Target,
    /// The name of the result: `[[@x:name|..]]`. `None` for `[[@x|..]]`, whose result has the action's name.
    pub variable: Option<Text>,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// The handling of a failure.
    pub on_error: OnError,
}

/// The tool that an action calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// `[[@mcp:..|server="github", tool="list_commits"]]`, by wire names.
    Tool {
        /// The server's configured name.
        server: String,
        /// The tool's name on the server.
        tool: String,
    },
    /// `[[@github_list_commits:..]]`, by the name that bindings and toolsets have for it.
    Prefixed(String),
}

/// An argument of an action, or an option of a completion.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Argument {
    /// Its start.
    pub place: Place,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Term,
}

/// A value, with or without expressions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Term {
    /// A number, `true`, `false` or `null`.
    Literal(Value),
    /// `".."`, with `{{ .. }}` in it or without.
    Text(Text),
    /// A variable, and a path into it: `issue.labels[0]`; an expression of minijinja.
    Variable(String),
    /// `[..]`
    List(Vec<Term>),
    /// `{".." : ..}`
    Object(Vec<(String, Term)>),
}

/// Text with expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// The parts, in order; empty for `""`.
    pub parts: Vec<Part>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Literal text.
    Literal(String),
    /// `{{ .. }}`, without its braces: an expression of minijinja.
    Expression(String),
}

/// The handling of an action that fails.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum OnError {
    /// The template fails: `on_error=propagate`.
    #[default]
    Propagate,
    /// The result is the empty text: `on_error=empty`.
    Empty,
    /// The result is this: `on_error=default(..)`.
    Default(Term),
}

/// A slot that a completer fills, usually with a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Completion {
    /// The kind: `json` in `[[json:name]]`.
    pub kind: Option<String>,
    /// The name of the answer.
    pub variable: Text,
    /// The options for the completer.
    pub options: Vec<Argument>,
}
