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

    pub(super) fn name(&self) -> &'s str {
        &self.options.server.name
    }

    /// Describes a tool that the server has, and that the configuration leaves out.
    fn left_out(&self, target: &Target) -> Option<String> {
        let name = match target {
            Target::Tool { server, tool } if server == self.name() => {
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
        let (key, server, name) = (self.options.left_out_by(&name)?, self.name(), printable(&name));
        Some(format!("tool `{name}` of server `{server}` is excluded by `{key}` in the configuration"))
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
        let argument =
            |(tool, argument): &(String, String)| format!("{} of {}", docs::code(argument), docs::code(tool));
        let arguments: Vec<String> = self.arguments.iter().map(argument).collect();
        let more = if arguments.is_empty() { "" } else { ": " };
        format!("The variable {}{more}{}.", docs::code(&self.name), arguments.join(", "))
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
        for server in servers {
            tools.add_server(server.name());
            for tool in &server.plan.tools {
                tools.add(server.name(), tool.wire, &tool.idents.prefixed, tool.input_schema);
            }
        }
        let mut faults = Vec::new();
        let mut called: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut uses = BTreeMap::new();
        for (place, action) in self.actions() {
            if faults.len() >= MOST_FAULTS {
                break;
            }
            match tools.find(action) {
                Ok(tool) => {
                    faults.extend(tool.check(action, place));
                    called.entry(tool.server()).or_default().insert(tool.name());
                    add_uses(&mut uses, tool, action);
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
        let tool = |known: &'s KnownServer<'s>, wire: &str| known.plan.tools.iter().find(|tool| tool.wire == wire);
        let used = servers.iter().filter_map(|known| {
            let tools = called.get(known.name())?;
            Some(UsedServer { known, tools: tools.iter().filter_map(|wire| tool(known, wire)).collect() })
        });
        let mut servers: Vec<UsedServer<'s>> = used.collect();
        servers.sort_by_key(|used| used.known.name());
        let fields = self.variables().map(|name| {
            let Uses { takes, arguments } = uses.remove(name).unwrap_or_default();
            let only = takes.first().filter(|_| takes.len() == 1).copied();
            let is_optional = self.is_optional(name);
            Field { name: name.to_owned(), takes: only.unwrap_or(Takes::Json), is_optional, arguments }
        });
        Ok(Checked { fields: fields.collect(), servers })
    }
}

impl Script {
    /// Returns the server and the tool of every action, with its position. Actions of unknown tools are left out.
    pub fn called<'s>(&'s self, servers: &'s [KnownServer<'_>]) -> Vec<(&'s str, &'s str, Place)> {
        let mut named = BTreeMap::new();
        for known in servers {
            for tool in &known.plan.tools {
                named.entry(tool.idents.prefixed.as_str()).or_insert((known.name(), tool.wire));
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
        self.servers.iter().map(|server| server.known.name())
    }

    /// Returns the called tools of a server, by their names there, sorted.
    pub fn tools<'c>(&'c self, server: &'c str) -> impl Iterator<Item = &'c str> {
        let used = self.servers.iter().filter(move |used| used.known.name() == server);
        used.flat_map(|used| used.tools.iter().map(|tool| tool.wire))
    }

    /// Returns the diagnostics about the tools of a server that are called.
    pub(crate) fn diagnostics(&self, server: &str) -> Diagnostics {
        let Some(used) = self.servers.iter().find(|used| used.known.name() == server) else {
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

/// The uses of a variable that is passed to tools as it is: the types that they take, and the arguments that it is, each
/// with its tool.
#[derive(Default)]
struct Uses {
    takes: BTreeSet<Takes>,
    arguments: BTreeSet<(String, String)>,
}

/// Adds the variables that an action passes to its tool.
fn add_uses(uses: &mut BTreeMap<String, Uses>, tool: &Tool, action: &Action) {
    for (code, takes) in tool.passed(action) {
        uses.entry(code.trim().to_owned()).or_default().takes.insert(takes);
    }
    for argument in &action.arguments {
        if let Term::Variable(code) = &argument.value {
            let as_argument = (tool.name().to_owned(), argument.name.clone());
            uses.entry(code.trim().to_owned()).or_default().arguments.insert(as_argument);
        }
    }
}
