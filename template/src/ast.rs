//! The parts of a template.

use serde_json::Value;

use crate::fault::Place;

/// A template, read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Template {
    /// The parts between `<checkpoint>`s: at least one.
    pub segments: Vec<Segment>,
}

/// The text between two checkpoints.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Segment {
    /// `<checkpoint>Name</checkpoint>` at its end.
    pub name: Option<String>,
    /// Where it begins.
    pub place: Place,
    /// In the order of the text.
    pub pieces: Vec<Piece>,
}

/// A piece of a segment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Piece {
    /// Where it begins.
    pub place: Place,
    /// Its kind.
    pub kind: PieceKind,
}

/// The kinds of pieces.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PieceKind {
    /// Text as it stands, `{% raw %}` and what `[[[[` stands for included. The `-` of a statement or an expression takes
    /// white space of the text right beside it alone: where a comment or a raw block ends its reach, an empty text stands
    /// in between.
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
    /// Which tool.
    pub target: Target,
    /// The name of the result: `[[@x:name|..]]`. None for `[[@x|..]]`, whose result is named like the action.
    pub variable: Option<Text>,
    /// In the order of the text.
    pub arguments: Vec<Argument>,
    /// The handling of a failure.
    pub on_error: OnError,
}

/// Which tool an action calls.
#[derive(Clone, Debug, PartialEq)]
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

/// An argument of an action, an option of a completion.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Argument {
    /// Where it begins.
    pub place: Place,
    /// The wire name.
    pub name: String,
    /// The value of the argument.
    pub value: Term,
}

/// A value that is written down, whole or in part.
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

/// Text with expressions in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// One after the other; none for `""`.
    pub parts: Vec<Part>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// As it stands.
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

/// A slot that a completer fills, mostly with a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Completion {
    /// `json` in `[[json:name]]`.
    pub kind: Option<String>,
    /// The name of the answer.
    pub variable: Text,
    /// The options for the completer.
    pub options: Vec<Argument>,
}
