//! Errors and diagnostics of a set of tools.

use std::fmt;

use mcp_bindgen_model::{nearest, printable};

/// The error of building a toolset, with all its problems.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(.faults))]
pub struct ToolsetError {
    faults: Vec<ToolsetFault>,
}

impl ToolsetError {
    pub(super) fn new(faults: Vec<ToolsetFault>) -> Self {
        Self { faults }
    }

    /// Returns all problems.
    #[must_use]
    pub fn faults(&self) -> &[ToolsetFault] {
        &self.faults
    }
}

impl From<ToolsetFault> for ToolsetError {
    fn from(fault: ToolsetFault) -> Self {
        Self::new(vec![fault])
    }
}

/// A problem of a toolset. Fields contain names as they were given; the printed message is sanitized.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolsetFault {
    /// A tool was added twice: two servers have one name, or one function was given twice.
    Repeated {
        /// The server's name, or the group of functions.
        server: String,
        /// The tool's wire name.
        tool: String,
    },
    /// Several tools have one name, in a set that calls them by nothing else.
    SameName {
        /// The name.
        name: String,
        /// The servers that have such a tool.
        servers: Vec<String>,
    },
    /// The bindings of a server have no such tool.
    NoSuchTool {
        /// The server's name.
        server: String,
        /// The pattern: a name, or a glob.
        pattern: String,
        /// The nearest names, likeliest first.
        nearest: Vec<String>,
    },
    /// No tool of the set fits.
    NoSuchPattern {
        /// The pattern: `server`, or `server/tool`.
        pattern: String,
        /// The nearest names, likeliest first.
        nearest: Vec<String>,
    },
    /// The schema of a bound tool is no JSON.
    Schema {
        /// The server's name.
        server: String,
        /// The tool's wire name.
        tool: String,
        /// The fault.
        message: String,
    },
    /// The parameters of a function are no object.
    Parameters {
        /// The function's name.
        function: String,
        /// Their description.
        message: String,
    },
    /// A tool of `[tools]` cannot stand for the tools that it names.
    NotJoined {
        /// The name of the tool.
        name: String,
        /// The reason.
        message: String,
    },
    /// The tools of something were to be listed, at whose end there is no client.
    NothingToList,
}

impl ToolsetFault {
    pub(super) fn no_such_pattern<'a>(pattern: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::NoSuchPattern { pattern: pattern.to_owned(), nearest: owned(nearest(pattern, known)) }
    }

    pub(super) fn no_such_tool<'a>(server: &str, pattern: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let nearest = owned(nearest(pattern, known));
        Self::NoSuchTool { server: server.to_owned(), pattern: pattern.to_owned(), nearest }
    }
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

impl fmt::Display for ToolsetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |name: &String| format!("`{}`", printable(name));
        let meant = |nearest: &[String]| match nearest.first() {
            Some(near) => format!("; was {} meant?", shown(near)),
            None => String::new(),
        };
        match self {
            Self::Repeated { server, tool } => write!(
                f,
                "tool {} of {} was added twice; use different names for servers and function groups",
                shown(tool),
                shown(server)
            ),
            Self::SameName { name, servers } => write!(
                f,
                "{} have the same name {} without the server; remove all but one, or use `NameStyle::ServerTool`",
                servers.iter().map(|server| format!("a tool of {}", shown(server))).collect::<Vec<_>>().join(" and "),
                shown(name)
            ),
            Self::NoSuchTool { server, pattern, nearest } => {
                write!(f, "the bindings of {} have no tool {}{}", shown(server), shown(pattern), meant(nearest))
            }
            Self::NoSuchPattern { pattern, nearest } => {
                write!(f, "no tool of the set matches {}{}", shown(pattern), meant(nearest))
            }
            Self::Schema { server, tool, message } => {
                write!(f, "the schema of tool {} of {} is not JSON: {message}", shown(tool), shown(server))
            }
            Self::Parameters { function, message } => write!(
                f,
                "the parameters of function {} are {message}, but models send objects; use a struct with named \
                 fields, or an empty one (`struct Nothing {{}}`)",
                shown(function)
            ),
            Self::NotJoined { name, message } => write!(f, "`[tools.{}]`: {message}", printable(name)),
            Self::NothingToList => f.write_str(
                "listing tools requires a client, or a stack around one; without it use `ToolsetBuilder::server`",
            ),
        }
    }
}

fn listed(faults: &[ToolsetFault]) -> String {
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
    /// The provider takes nothing that says what the schema does; it is sent as any object.
    AnyObject,
    /// The provider takes no description of this length; it is cut.
    DescriptionCut,
    /// The provider takes no more tools; it is not sent.
    TooMany,
    /// An item of a server's list is no tool, or the same one again; it is not in the set.
    LeftOut,
}

impl ToolDiagnostic {
    pub(super) fn new(
        kind: DiagnosticKind,
        (server, tool): (&str, &str),
        pointer: &str,
        why: impl Into<String>,
    ) -> Self {
        let (server, tool, pointer) = (server.to_owned(), tool.to_owned(), pointer.to_owned());
        Self { kind, server, tool, pointer, why: why.into() }
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
        write!(f, "{}/{}", printable(&self.server), printable(&self.tool))?;
        if !self.pointer.is_empty() {
            write!(f, " at `{}`", printable(&self.pointer))?;
        }
        write!(f, ": {what}: {}", printable(&self.why))
    }
}
