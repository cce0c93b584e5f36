//! Templates whose actions are checked against snapshots, before anything runs.
//!
//! ```
//! use mcp_bindgen_codegen::Options;
//! use mcp_bindgen_codegen::template::{KnownServer, Script};
//! use mcp_bindgen_model::Snapshot;
//!
//! let list = r#"{"tools": [{"name": "list_commits", "inputSchema": {
//!     "type": "object", "properties": {"owner": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["owner"]
//! }}]}"#;
//! let (snapshot, options) = (Snapshot::parse(list)?, Options::new("github"));
//! let servers = [KnownServer::new(&snapshot, &options)];
//!
//! let script = Script::parse("[[@github_list_commits:commits|owner=owner]] {{ commits }}").unwrap_or_else(|_| unreachable!());
//! assert_eq!(script.variables().collect::<Vec<_>>(), ["owner"]);
//! assert!(script.check(&servers, &[]).is_ok());
//!
//! let script = Script::parse("[[@github_list_commits:commits|owner=owner, limt=3]]").unwrap_or_else(|_| unreachable!());
//! let faults = script.check(&servers, &[]).err().unwrap_or_default();
//! assert!(faults[0].message.contains("did you mean `limit`?"), "{faults:?}");
//! # Ok::<(), mcp_bindgen_model::FileError>(())
//! ```

mod calls;
mod emit;

use std::collections::BTreeMap;
use std::path::Path;

pub use calls::{Checked, KnownServer};
pub(crate) use emit::{Module, module, names};
use mcp_bindgen_template::{Action, Fault, Place, Program, SlotKind, Target, Template, Wanted};
use minijinja::Environment;

use crate::options::Options;

/// A parsed template with valid syntax and slots.
#[derive(Clone, Debug)]
pub struct Script {
    template: Template,
    wanted: BTreeMap<String, Wanted>,
}

impl Script {
    /// Parses a template.
    ///
    /// # Errors
    /// Fails with the faults of the text itself, in its order: at most twenty.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let template = Template::parse(text)?;
        let (program, environment) = (Program::new(&template), Environment::new());
        let compiled = environment.template_from_str(&program.code);
        let used = template.undeclared(&program, &environment, compiled)?;
        let mut late: Vec<Fault> = template.late(&used).into_values().collect();
        late.sort_by_key(|fault| fault.place);
        let wanted = template.wanted(used);
        if late.is_empty() { Ok(Self { template, wanted }) } else { Err(late) }
    }

    /// Returns the variables that it uses and does not set itself.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.wanted.keys().map(String::as_str)
    }

    /// Returns `true` if a variable is optional: the template tests whether it is set, or has a default for it.
    #[must_use]
    pub fn is_optional(&self, variable: &str) -> bool {
        self.wanted.get(variable).is_some_and(|wanted| wanted.is_optional)
    }

    /// Returns the servers that actions name, each with its first position.
    #[must_use]
    pub fn servers(&self) -> Vec<(&str, Place)> {
        let mut servers: Vec<(&str, Place)> = Vec::new();
        for (place, action) in self.actions() {
            if let Target::Tool { server, .. } = &action.target
                && !servers.iter().any(|(known, _)| known == server)
            {
                servers.push((server, place));
            }
        }
        servers
    }

    /// Returns `true` if an action calls a tool by a prefixed name that could be one of this server's.
    #[must_use]
    pub fn may_call(&self, options: &Options) -> bool {
        self.prefixed().any(|name| options.leads(name))
    }

    /// Returns the prefixed names by which actions call tools.
    pub fn prefixed(&self) -> impl Iterator<Item = &str> {
        self.actions().filter_map(|(_, action)| match &action.target {
            Target::Prefixed(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns `true` if it has completion slots.
    #[must_use]
    pub fn completes(&self) -> bool {
        self.completions().next().is_some()
    }

    /// Returns the completion slots, each with its position and its name; `None` if part of the name is an
    /// expression.
    pub fn completions(&self) -> impl Iterator<Item = (Place, Option<&str>)> {
        self.template.slots().filter_map(|slot| match slot.kind {
            SlotKind::Completion(_) => Some((slot.place, slot.kind.name())),
            _ => None,
        })
    }

    /// Returns `true` if a completion slot can have this name.
    #[must_use]
    pub fn may_complete(&self, name: &str) -> bool {
        self.template.slots().any(|slot| match slot.kind {
            SlotKind::Completion(completion) => completion.variable.may_be(name),
            _ => false,
        })
    }

    /// Returns `true` if it uses a variable, or sets one whose name contains expressions and could be this one: it
    /// may be set too.
    #[must_use]
    pub fn may_use(&self, name: &str) -> bool {
        self.wanted.contains_key(name) || (self.template.may_give(name) && !self.template.names().contains(name))
    }

    /// Returns `true` if it calls tools.
    #[must_use]
    pub fn calls(&self) -> bool {
        self.actions().next().is_some()
    }

    /// Returns the place of every action that names a server with which something is.
    pub(crate) fn calls_of<T>(&self, wrong: impl Fn(&str) -> Option<T>) -> impl Iterator<Item = (Place, T)> {
        self.actions().filter_map(move |(place, action)| match &action.target {
            Target::Tool { server, .. } => Some((place, wrong(server)?)),
            _ => None,
        })
    }

    fn actions(&self) -> impl Iterator<Item = (Place, &Action)> {
        self.template.slots().filter_map(|slot| match slot.kind {
            SlotKind::Action(action) => Some((slot.place, action)),
            _ => None,
        })
    }
}

/// Formats a problem with its position in the file, and the line concerned.
///
/// ```
/// # use std::path::Path;
/// let text = "Open issues:\n[[@github_list_issues|state=\"open\"]\n";
/// let faults = mcp_bindgen_codegen::template::Script::parse(text).unwrap_err();
/// assert_eq!(mcp_bindgen_codegen::template::located(&faults[0], Path::new("prompts/triage.md"), text), "\
/// expected `]]` or `,` and the next argument, found `]`
///  --> prompts/triage.md:2:35
///   |
/// 2 | [[@github_list_issues|state=\"open\"]
///   |                                   ^");
/// ```
#[must_use]
pub fn located(fault: &Fault, path: &Path, text: &str) -> String {
    let path = path.display().to_string();
    let rendered = fault.rendered(&path, text);
    // Its first line has the place and the message.
    let excerpt = rendered.find('\n').and_then(|end| rendered.get(end..)).unwrap_or_default();
    let (line, column) = (fault.place.line, fault.place.column);
    format!("{}\n --> {path}:{line}:{column}{excerpt}", mcp_bindgen_model::printable(&fault.message))
}
