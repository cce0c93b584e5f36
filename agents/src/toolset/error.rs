//! Errors and diagnostics of a set of tools.

use std::fmt;

use mcp_bindgen_model::{nearest, printable};

use super::words::at;

/// The error of building a toolset, with all its problems.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", joined(.faults))]
pub struct ToolsetError {
    pub(super) faults: Vec<ToolsetFault>,
}

impl ToolsetError {
    /// Returns all problems.
    #[must_use]
    pub fn faults(&self) -> &[ToolsetFault] {
        &self.faults
    }
}

impl From<ToolsetFault> for ToolsetError {
    fn from(fault: ToolsetFault) -> Self {
        Self { faults: vec![fault] }
    }
}

/// A problem of a toolset. Fields contain names as they were given; the printed message is sanitized.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsetFault {
    /// A tool was added twice: two servers have one name, or one function was given twice.
    #[error(
        "tool {} of {} was added twice; use different names for servers and function groups",
        quoted(tool),
        quoted(server)
    )]
    Repeated {
        /// The server's name, or the group of functions.
        server: String,
        /// The tool's wire name.
        tool: String,
    },
    /// Several tools have one name, in a set that calls them by nothing else.
    #[error(
        "{} have the same name {} without the server; remove all but one, or use `NameStyle::ServerTool`",
        tools_of(servers),
        quoted(name)
    )]
    SameName {
        /// The name.
        name: String,
        /// The servers that have such a tool.
        servers: Vec<String>,
    },
    /// The bindings of a server have no such tool.
    #[error("the bindings of {} have no tool {}{}", quoted(server), quoted(pattern), meant(nearest))]
    NoSuchTool {
        /// The server's name.
        server: String,
        /// The pattern: a name, or a glob.
        pattern: String,
        /// The nearest names, likeliest first.
        nearest: Vec<String>,
    },
    /// No tool of the set fits.
    #[error("no tool of the set matches {}{}", quoted(pattern), meant(nearest))]
    NoSuchPattern {
        /// The pattern: `server`, or `server/tool`.
        pattern: String,
        /// The nearest names, likeliest first.
        nearest: Vec<String>,
    },
    /// The schema of a bound tool is not JSON.
    #[error("the schema of tool {} of {} is not JSON: {message}", quoted(tool), quoted(server))]
    Schema {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// The fault.
        message: String,
    },
    /// The parameters of a function are no object.
    #[error(
        "the parameters of function {} are {message}, but models send objects; use a struct with named fields, or an \
         empty one (`struct Nothing {{}}`)",
        quoted(function)
    )]
    Parameters {
        /// The function's name.
        function: String,
        /// Their description.
        message: String,
    },
    /// A tool of `[tools]` cannot join the tools that it names.
    #[error("`[tools.{}]`: {message}", printable(name))]
    NotJoined {
        /// The name of the tool.
        name: String,
        /// The reason.
        message: String,
    },
    /// Tools cannot be listed without a client.
    #[error("listing tools requires a client, or a stack around one; without it use `ToolsetBuilder::server`")]
    NothingToList,
}

impl ToolsetFault {
    pub(super) fn no_such_pattern<'a>(pattern: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let nearest = nearest(pattern, known).into_iter().map(str::to_owned).collect();
        Self::NoSuchPattern { pattern: pattern.to_owned(), nearest }
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", printable(name))
}

fn meant(nearest: &[String]) -> String {
    nearest.first().map_or_else(String::new, |near| format!("; was {} meant?", quoted(near)))
}

fn tools_of(servers: &[String]) -> String {
    servers.iter().map(|server| format!("a tool of {}", quoted(server))).collect::<Vec<_>>().join(" and ")
}

fn joined(faults: &[ToolsetFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A diagnostic about one tool of a toolset. It does not affect the others.
///
/// ```
/// # use mcp_bindgen_agents::{Provider, Toolset};
/// # fn run(toolset: Toolset) {
/// for diagnostic in toolset.definitions(Provider::Anthropic).diagnostics {
///     println!("{diagnostic}");
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolDiagnostic {
    /// Its kind.
    pub kind: DiagnosticKind,
    /// The server's name, or the group of functions.
    pub server: String,
    /// The tool's name on the server; empty if it has none.
    pub tool: String,
    /// The position in the tool's `inputSchema`, as a JSON pointer; empty for the whole schema.
    pub pointer: String,
    /// The reason, for people.
    pub why: String,
}

/// The kinds of [`ToolDiagnostic`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The provider's subset cannot hold a model to the schema; it is sent without `strict`.
    NotStrict,
    /// The schema could be strict, but the request has no room left for it; it is sent without `strict`.
    NoRoom,
    /// The provider has no equivalent of the schema, which is sent as any object.
    AnyObject,
    /// The provider takes no description of this length; it is cut.
    DescriptionCut,
    /// The provider takes no more tools; it is not sent.
    TooMany,
    /// An item of a server's list is malformed or repeated, and is not in the set.
    LeftOut,
}

impl ToolDiagnostic {
    pub(super) fn new(kind: DiagnosticKind, (server, tool): (&str, &str), pointer: &str, why: String) -> Self {
        Self { kind, server: server.to_owned(), tool: tool.to_owned(), pointer: pointer.to_owned(), why }
    }
}

impl fmt::Display for ToolDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            DiagnosticKind::NotStrict | DiagnosticKind::NoRoom => "not strict",
            DiagnosticKind::AnyObject => "declared as any object",
            DiagnosticKind::DescriptionCut => "description cut",
            DiagnosticKind::TooMany => "not declared",
            DiagnosticKind::LeftOut => "left out",
        };
        let (server, tool, why) = (printable(&self.server), printable(&self.tool), printable(&self.why));
        write!(f, "{server}/{tool}{}: {what}: {why}", at(&self.pointer))
    }
}
