//! The tools that a template calls, and their arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use mcp_bindgen_model::{Snapshot, printable};
use mcp_bindgen_schema::diagnostics::{Diagnostics, Listed};
use mcp_bindgen_template::{Action, Fault, MOST_FAULTS, Place, Takes, Target, Term, Tool, Tools};

use super::Script;
use crate::emit::docs;
use crate::options::Options;
use crate::plan::{Plan, ToolPlan};

/// A server whose tools a template may call.
#[derive(Debug)]
pub struct KnownServer<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) options: &'s Options,
    plan: Plan<'s>,
    /// The wire names of all tools, including excluded ones, by their prefixed names; built on first use.
    everything: OnceLock<BTreeMap<String, String>>,
}

impl<'s> KnownServer<'s> {
    /// Creates it from a snapshot, with the selection and the names of the options.
    #[must_use]
    pub fn new(snapshot: &'s Snapshot, options: &'s Options) -> Self {
        Self { snapshot, options, plan: Plan::new(snapshot, options), everything: OnceLock::new() }
    }

    /// Returns `true` if a tool has this prefixed name in bindings.
    #[must_use]
    pub fn has(&self, prefixed: &str) -> bool {
        self.plan.tools.iter().any(|tool| tool.idents.prefixed == prefixed)
    }

    fn tool(&self, wire: &str) -> Option<&ToolPlan<'s>> {
        self.plan.tools.iter().find(|tool| tool.wire == wire)
    }

    fn add_to(&self, tools: &mut Tools) {
        tools.add_server(&self.options.server.name);
        for tool in &self.plan.tools {
            tools.add(&self.options.server.name, tool.wire, &tool.idents.prefixed, tool.input_schema);
        }
    }

    /// Describes a tool that the server has, and that the configuration leaves out.
    fn left_out(&self, target: &Target) -> Option<String> {
        let name = match target {
            Target::Tool { server, tool } if *server == self.options.server.name => {
                let names = self.snapshot.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
                names.into_iter().find(|name| name == tool)?.to_owned()
            }
            Target::Prefixed(prefixed) => {
                let everything = self.everything.get_or_init(|| {
                    let everything = self.options.everything();
                    let whole = Plan::new(self.snapshot, &everything);
                    whole.tools.iter().rev().map(|tool| (tool.idents.prefixed.clone(), tool.wire.to_owned())).collect()
                });
                everything.get(prefixed)?.clone()
            }
            _ => return None,
        };
        let server = &self.options.server.name;
        let key = self.options.left_out_by(&name)?;
        Some(format!("tool `{}` of server `{server}` is excluded by `{key}` in the configuration", printable(&name)))
    }
}

/// A template whose calls fit the tools.
#[derive(Debug)]
pub struct Checked<'s> {
    /// Sorted by their names.
    pub(super) servers: Vec<UsedServer<'s>>,
    /// Sorted by their names.
    pub(super) fields: Vec<Field>,
}

/// A server that is called, and those of its tools that are.
#[derive(Debug)]
pub(super) struct UsedServer<'s> {
    pub(super) known: &'s KnownServer<'s>,
    /// Sorted by their names.
    pub(super) tools: Vec<&'s ToolPlan<'s>>,
}

/// A variable that the template is given.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) takes: Takes,
    /// `true` if the argument may be omitted.
    pub(super) is_optional: bool,
    /// The arguments that it is, each with its tool.
    arguments: BTreeSet<(String, String)>,
}

impl Field {
    pub(super) fn said(&self) -> String {
        let arguments: Vec<String> = self
            .arguments
            .iter()
            .map(|(tool, argument)| format!("{} of {}", docs::code(argument), docs::code(tool)))
            .collect();
        let name = docs::code(&self.name);
        if arguments.is_empty() {
            return format!("The variable {name}.");
        }
        format!("The variable {name}: {}.", arguments.join(", "))
    }
}

impl Script {
    /// Checks every action against the tools. `unread` names servers whose tools are unknown, and may include a
    /// missing one.
    ///
    /// # Errors
    /// The faults, in the order of the text: at most twenty.
    pub fn check<'s>(&self, servers: &'s [KnownServer<'s>], unread: &[&str]) -> Result<Checked<'s>, Vec<Fault>> {
        let mut tools = Tools::new();
        servers.iter().for_each(|server| server.add_to(&mut tools));
        let mut faults = Vec::new();
        let mut called: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut uses = Uses::default();
        for (place, action) in self.actions() {
            if faults.len() >= MOST_FAULTS {
                break;
            }
            match tools.find(action) {
                Ok(tool) => {
                    faults.extend(tool.check(action, place));
                    called.entry(tool.server()).or_default().insert(tool.name());
                    uses.add(tool, action);
                }
                Err(message) => {
                    let left_out = servers.iter().find_map(|server| server.left_out(&action.target));
                    let message = left_out.unwrap_or_else(|| format!("{message}{}", unlooked_at(action, unread)));
                    faults.push(Fault::new(place, message));
                }
            }
        }
        if !faults.is_empty() {
            faults.truncate(MOST_FAULTS);
            return Err(faults);
        }
        let used = servers.iter().filter_map(|known| {
            let tools = called.get(known.options.server.name.as_str())?;
            let tools = tools.iter().filter_map(|tool| known.tool(tool)).collect();
            Some(UsedServer { known, tools })
        });
        let mut servers: Vec<UsedServer<'s>> = used.collect();
        servers.sort_by(|one, other| one.known.options.server.name.cmp(&other.known.options.server.name));
        Ok(Checked { servers, fields: self.variables().map(|name| uses.field(name, self.is_optional(name))).collect() })
    }
}

impl Script {
    /// Returns the server and the tool of every action, with its position. Actions of unknown tools are left out.
    pub fn called<'s>(&'s self, servers: &'s [KnownServer<'_>]) -> Vec<(&'s str, &'s str, Place)> {
        let mut named = BTreeMap::new();
        for known in servers {
            for tool in &known.plan.tools {
                named.entry(tool.idents.prefixed.as_str()).or_insert((known.options.server.name.as_str(), tool.wire));
            }
        }
        let found = |target: &'s Target| match target {
            Target::Tool { server, tool } => Some((server.as_str(), tool.as_str())),
            Target::Prefixed(name) => named.get(name.as_str()).copied(),
            _ => None,
        };
        let actions = self.actions();
        actions
            .filter_map(|(place, action)| found(&action.target).map(|(server, tool)| (server, tool, place)))
            .collect()
    }
}

impl Checked<'_> {
    /// Returns the names of the servers whose tools are called, sorted.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| server.known.options.server.name.as_str())
    }

    /// Returns the called tools of a server, by their names there, sorted.
    pub fn tools<'c>(&'c self, server: &'c str) -> impl Iterator<Item = &'c str> {
        let used = self.servers.iter().filter(move |used| used.known.options.server.name == server);
        used.flat_map(|used| used.tools.iter().map(|tool| tool.wire))
    }

    /// Returns the diagnostics about the tools of a server that are called.
    pub(crate) fn diagnostics(&self, server: &str) -> Diagnostics {
        let Some(used) = self.servers.iter().find(|used| used.known.options.server.name == server) else {
            return Diagnostics::default();
        };
        let is_called = |name: &str| used.tools.iter().any(|tool| tool.wire == name);
        let all = used.known.plan.diagnostics.iter();
        all.filter(|said| said.listed == Listed::Tool && is_called(&said.tool)).cloned().collect()
    }
}

/// Adds that a tool may belong to an unreadable server.
fn unlooked_at(action: &Action, unread: &[&str]) -> String {
    match (&action.target, unread) {
        (Target::Prefixed(_), [_, ..]) => {
            let servers = unread.join("`, `");
            format!("; no snapshot of `{servers}`: run `mcp-bindgen sync`")
        }
        _ => String::new(),
    }
}

/// The variables that are passed to tools as they are.
#[derive(Default)]
struct Uses {
    takes: BTreeMap<String, BTreeSet<Takes>>,
    arguments: BTreeMap<String, BTreeSet<(String, String)>>,
}

impl Uses {
    fn add(&mut self, tool: &Tool, action: &Action) {
        for (code, takes) in tool.passed(action) {
            self.takes.entry(code.trim().to_owned()).or_default().insert(takes);
        }
        for argument in &action.arguments {
            if let Term::Variable(code) = &argument.value {
                let as_argument = (tool.name().to_owned(), argument.name.clone());
                self.arguments.entry(code.trim().to_owned()).or_default().insert(as_argument);
            }
        }
    }

    fn field(&mut self, name: &str, is_optional: bool) -> Field {
        let taken: Vec<Takes> = self.takes.remove(name).into_iter().flatten().collect();
        let takes = match taken.as_slice() {
            [takes] => *takes,
            _ => Takes::Json,
        };
        Field { name: name.to_owned(), takes, is_optional, arguments: self.arguments.remove(name).unwrap_or_default() }
    }
}
