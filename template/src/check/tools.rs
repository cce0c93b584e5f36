//! The tools that templates may name.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Role, Shape, ShapeId, Shapes, Slot};
use serde_json::Value;

use crate::ast::{Action, Target};
use crate::fault::meant;

/// The tools that actions may call, by server and by prefixed name.
///
/// ```
/// use mcp_bindgen_template::{SlotKind, Template, Tools};
///
/// let schema = serde_json::json!({"type": "object", "properties": {"owner": {"type": "string"}}, "required": ["owner"]});
/// let mut tools = Tools::new();
/// tools.add("github", "list_repos", "github_list_repos", &schema);
///
/// let template = Template::parse("[[@github_list_repos|ownr=\"rust-lang\"]]")?;
/// let slot = template.slots().next().expect("a slot");
/// let SlotKind::Action(action) = slot.kind else { panic!("an action") };
/// let faults = tools.find(action).expect("it is there").check(action, slot.place);
/// let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
/// assert_eq!(shown, [
///     "1:1: `github_list_repos` needs `owner`: a text",
///     "1:22: `github_list_repos` takes no `ownr`; did you mean `owner`?",
/// ]);
/// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
/// ```
#[derive(Debug, Default)]
pub struct Tools {
    tools: Vec<Tool>,
    /// By server, then by the name on it.
    servers: BTreeMap<String, BTreeMap<String, usize>>,
    prefixed: BTreeMap<String, Vec<usize>>,
}

/// A tool that actions may call.
#[derive(Debug)]
pub struct Tool {
    server: String,
    name: String,
    prefixed: String,
    schema: Value,
    /// The arguments, read on first use.
    arguments: OnceLock<Arguments>,
}

impl Tools {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a server, even without tools.
    pub fn add_server(&mut self, server: &str) {
        self.servers.entry(server.to_owned()).or_default();
    }

    /// Adds a tool: the server's configured name, the tool's name on it, its name in bindings and toolsets, and its
    /// `inputSchema`. The first of several tools with the same name on one server is used.
    pub fn add(&mut self, server: &str, name: &str, prefixed: &str, input_schema: &Value) {
        let tools = self.servers.entry(server.to_owned()).or_default();
        if tools.contains_key(name) {
            return;
        }
        let place = self.tools.len();
        tools.insert(name.to_owned(), place);
        self.prefixed.entry(prefixed.to_owned()).or_default().push(place);
        self.tools.push(Tool {
            server: server.to_owned(),
            name: name.to_owned(),
            prefixed: prefixed.to_owned(),
            schema: input_schema.clone(),
            arguments: OnceLock::new(),
        });
    }

    /// Adds another name by which actions may call a tool, if there is such a tool.
    ///
    /// ```
    /// use mcp_bindgen_template::{SlotKind, Template, Tools};
    ///
    /// let mut tools = Tools::new();
    /// tools.add("github", "list.repos", "github_list_repos", &serde_json::Value::Null);
    /// tools.alias("github", "list.repos", "list.repos");
    /// let template = Template::parse("[[@list.repos:repos]]")?;
    /// let Some(SlotKind::Action(action)) = template.slots().next().map(|slot| slot.kind) else { panic!("an action") };
    /// assert_eq!(tools.find(action).map(|tool| tool.server()), Ok("github"));
    /// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
    /// ```
    pub fn alias(&mut self, server: &str, name: &str, alias: &str) {
        let Some(place) = self.servers.get(server).and_then(|tools| tools.get(name)) else { return };
        let known = self.prefixed.entry(alias.to_owned()).or_default();
        if !known.contains(place) {
            known.push(*place);
        }
    }

    /// Returns the tool that an action calls.
    ///
    /// # Errors
    /// Fails with a message without a position if the tool does not exist, or if several tools have its name.
    pub fn find(&self, action: &Action) -> Result<&Tool, String> {
        match &action.target {
            Target::Tool { server, tool } => {
                let Some(tools) = self.servers.get(server) else {
                    let names = self.servers.keys().map(String::as_str);
                    return Err(format!("unknown server `{server}`{}", meant(server, names)));
                };
                tools.get(tool).and_then(|place| self.tools.get(*place)).ok_or_else(|| {
                    let names = tools.keys().map(String::as_str);
                    format!("server `{server}` has no tool `{tool}`{}", meant(tool, names))
                })
            }
            Target::Prefixed(name) => {
                let places = self.prefixed.get(name).into_iter().flatten();
                let found: Vec<&Tool> = places.filter_map(|place| self.tools.get(*place)).collect();
                match found.as_slice() {
                    [tool] => Ok(tool),
                    [] => Err(self.unknown(name)),
                    _ => {
                        let place = |tool: &&Tool| format!("server=\"{}\", tool=\"{}\"", tool.server, tool.name);
                        let places = found.iter().map(place).collect::<Vec<_>>().join(" or ");
                        Err(format!("several tools are called `{name}`: write `@mcp` with {places}"))
                    }
                }
            }
        }
    }

    fn unknown(&self, name: &str) -> String {
        let nearest = meant(name, self.prefixed.keys().map(String::as_str));
        // Somebody who writes the tool's own name is not far off.
        let same = self.tools.iter().find(|tool| tool.name == name);
        match same {
            Some(tool) if nearest.is_empty() => format!("unknown tool `{name}`; did you mean `{}`?", tool.prefixed),
            _ => format!("unknown tool `{name}`{nearest}"),
        }
    }
}

impl Tool {
    /// Returns the server's configured name.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the tool's name on the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name that bindings and toolsets have for it.
    pub(super) fn prefixed(&self) -> &str {
        &self.prefixed
    }

    pub(super) fn arguments(&self) -> &Arguments {
        self.arguments.get_or_init(|| {
            let mut unheard = Reporter::new(&self.name, 0, "/inputSchema");
            let Document { shapes, root, .. } = Document::read(&self.schema, Role::Input, &mut unheard);
            Arguments { shapes, root }
        })
    }
}

/// The shapes of one tool's arguments.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) shapes: Shapes,
    pub(super) root: ShapeId,
}

impl Arguments {
    /// Returns each possible shape of a value at one of these places, without unions and names.
    pub(super) fn leaves<'a>(&'a self, slots: &[Slot]) -> Vec<&'a Shape> {
        let shapes: Vec<_> = slots.iter().map(|slot| slot.shape).collect();
        self.shapes.leaves(&shapes).into_iter().map(|id| self.shapes.get(id)).collect()
    }

    /// Returns the slot of all arguments.
    pub(super) fn whole(&self) -> Slot {
        Slot { shape: self.root, nullable: false }
    }

    /// Returns the slots of a member of an object at one of these places, or `None` if any value is allowed.
    pub(super) fn members(&self, slots: &[Slot], key: &str) -> Option<Vec<Slot>> {
        let mut members = Vec::new();
        for shape in self.leaves(slots) {
            match shape {
                Shape::Struct(object) => members.extend(object.slot(key)),
                Shape::Map(slot) => members.push(*slot),
                Shape::Anything | Shape::AnyOf(_) | Shape::FreeMap | Shape::Opaque => return None,
                _ => {}
            }
        }
        Some(members)
    }

    /// Returns the slots of an item of a list at one of these places, or `None` if any value is allowed.
    pub(super) fn items(&self, slots: &[Slot], index: usize) -> Option<Vec<Slot>> {
        let mut items = Vec::new();
        for shape in self.leaves(slots) {
            match shape {
                Shape::Anything | Shape::AnyOf(_) | Shape::Opaque => return None,
                shape => items.extend(shape.item(index)),
            }
        }
        Some(items)
    }
}
