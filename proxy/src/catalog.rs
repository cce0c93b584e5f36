//! The items of several servers, by name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mcp_bindgen_model::{JoinedTool, printable};
use mcp_bindgen_runtime::{Annotations, ToolCall};
use mcp_bindgen_schema::JoinedTools;
use mcp_bindgen_schema::names::Given;
use serde_json::{Map, Value};

use super::attached::Attached;
use super::setup::Wanted;

/// The limit on remembered names that no tool has any more.
const MOST_NAMES: usize = 100_000;

type List = Option<Arc<[Value]>>;

/// Something that a server has, under the name that clients of the proxy know.
struct Named {
    public: String,
    attached: Arc<Attached>,
    list: Arc<[Value]>,
    index: usize,
}

/// One tool in place of like tools of several servers.
struct Joined {
    tool: JoinedTools,
    /// The indices of the tools. The joined tool is listed in place of the first.
    members: Vec<usize>,
}

impl Named {
    fn raw(&self) -> Option<&Value> {
        self.list.get(self.index)
    }

    /// Returns the item as the server lists it, with its public name.
    fn item(&self) -> Value {
        let mut item = self.raw().cloned().unwrap_or_default();
        if let Some(name) = item.get_mut("name") {
            *name = Value::from(self.public.as_str());
        }
        item
    }

    /// Returns the name on the server.
    fn wire(&self) -> &str {
        self.raw().map(name_of).unwrap_or_default()
    }

    /// Returns the server of the tool, and a call of it with its listed description.
    fn call(&self, arguments: Map<String, Value>) -> (Arc<Attached>, ToolCall) {
        let call = ToolCall::new(self.attached.name.to_string(), self.wire().to_owned(), arguments);
        let call = match self.raw().and_then(|tool| tool.get("annotations")) {
            Some(hints) => call.described(Annotations::listed(hints)),
            None => call,
        };
        (self.attached.clone(), call)
    }
}

fn name_of(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// The tools by the names that clients see, built again when a list changes. A tool keeps its name.
#[derive(Default)]
pub(super) struct Catalog {
    lists: Vec<List>,
    named: Vec<Named>,
    by_name: HashMap<String, usize>,
    joined: Vec<Joined>,
    /// By server.
    given: HashMap<Arc<str>, Given>,
}

impl Catalog {
    /// Sets the lists of all servers, in their order. `names` names their items, beside the names that were given.
    pub(super) fn set(
        &mut self,
        (upstreams, wanted): (&[Arc<Attached>], &Wanted),
        lists: Vec<List>,
        names: impl Fn(&str, &[&str], &Given) -> Vec<String>,
    ) {
        let same = |(own, other): (&List, &List)| match (own, other) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        if self.lists.len() == lists.len() && self.lists.iter().zip(&lists).all(same) {
            return;
        }
        let mut named = Vec::new();
        for (attached, list) in upstreams.iter().zip(&lists) {
            let Some(list) = list else { continue };
            let wires: Vec<&str> = list.iter().map(name_of).collect();
            let given = self.given.entry(attached.name.clone()).or_default();
            for (index, public) in names(&attached.name, &wires, given).into_iter().enumerate() {
                if let Some(wire) = wires.get(index).filter(|wire| !given.contains_key(**wire)) {
                    given.insert((*wire).to_owned(), public.clone());
                }
                let (attached, list) = (attached.clone(), list.clone());
                named.push(Named { public, attached, list, index });
            }
        }
        if self.given.values().map(Given::len).sum::<usize>() > MOST_NAMES {
            let is_there: HashSet<&str> = named.iter().map(|named| named.public.as_str()).collect();
            self.given.values_mut().for_each(|given| given.retain(|_, public| is_there.contains(public.as_str())));
        }
        self.by_name = named.iter().enumerate().map(|(place, named)| (named.public.clone(), place)).collect();
        self.named = named;
        self.join(wanted);
        self.lists = lists;
    }

    /// Returns the shown items as servers list them, with their public names. A joined tool is shown if all its tools
    /// are.
    pub(super) fn items(&self, shows: impl Fn(&str, &str) -> bool) -> Vec<Value> {
        let is_shown = |named: &Named| shows(&named.attached.name, named.wire());
        let items = self.named.iter().enumerate().filter_map(|(place, named)| {
            let Some(joined) = self.joined.iter().find(|joined| joined.members.contains(&place)) else {
                return is_shown(named).then(|| named.item());
            };
            let is_first = joined.members.first() == Some(&place);
            (is_first && self.members(joined).all(is_shown)).then(|| joined.tool.tool.clone())
        });
        items.collect()
    }

    /// Puts one tool in the place of like tools of several servers.
    fn join(&mut self, wanted: &Wanted) {
        self.joined.clear();
        for (name, JoinedTool { of, .. }) in &**wanted {
            let is_member = |named: &Named| {
                of.iter().any(|(server, tool)| **server == *named.attached.name && tool == named.wire())
            };
            let found = self.named.iter().enumerate().filter(|(_, named)| is_member(named));
            let (members, tools): (Vec<usize>, Vec<(&str, &Value)>) =
                found.filter_map(|(place, named)| Some((place, (&*named.attached.name, named.raw()?)))).unzip();
            if members.is_empty() {
                continue;
            }
            let is_taken = self.named.iter().any(|named| named.public == *name && !is_member(named));
            let joined = match is_taken {
                true => Err("a server has a tool of this name".to_owned()),
                false => JoinedTools::of(name, &tools),
            };
            match joined {
                Ok(tool) => {
                    self.by_name.retain(|_, place| !members.contains(place));
                    self.joined.push(Joined { tool, members });
                }
                Err(why) => tracing::warn!("`[tools.{}]` is not served: {}", printable(name), printable(&why)),
            }
        }
    }

    fn joined(&self, public: &str) -> Option<&Joined> {
        self.joined.iter().find(|joined| name_of(&joined.tool.tool) == public)
    }

    fn members(&self, joined: &Joined) -> impl Iterator<Item = &Named> {
        joined.members.iter().filter_map(|place| self.named.get(*place))
    }

    fn named(&self, public: &str) -> Option<&Named> {
        self.named.get(*self.by_name.get(public)?)
    }

    /// Returns `true` if something has that name.
    pub(super) fn has(&self, public: &str) -> bool {
        self.by_name.contains_key(public) || self.joined(public).is_some()
    }

    /// Returns the server of a name, and the name there.
    pub(super) fn find(&self, public: &str) -> Option<(Arc<Attached>, String)> {
        let named = self.named(public)?;
        Some((named.attached.clone(), named.wire().to_owned()))
    }

    /// Returns the server of a tool that is called, and the call of it. One of several like tools is picked by an argument,
    /// which is taken out.
    ///
    /// # Errors
    /// Fails if the argument names no server.
    pub(super) fn find_called(
        &self,
        public: &str,
        mut arguments: Map<String, Value>,
    ) -> Result<Option<(Arc<Attached>, ToolCall)>, String> {
        let Some(joined) = self.joined(public) else {
            return Ok(self.named(public).map(|named| named.call(arguments)));
        };
        let argument = &joined.tool.argument;
        let server = arguments.shift_remove(argument);
        let server = server.as_ref().and_then(Value::as_str);
        let meant = self.members(joined).find(|named| server == Some(&*named.attached.name));
        meant.map(|named| Some(named.call(arguments))).ok_or_else(|| {
            let servers: Vec<String> = self.members(joined).map(|named| format!("`{}`", named.attached.name)).collect();
            format!("expected one of {} at `/{argument}`", servers.join(", "))
        })
    }

    /// Returns the schema of the arguments of a tool, if it is shown or joined.
    pub(super) fn input_schema(&self, public: &str, shows: impl Fn(&str, &str) -> bool) -> Option<&Map<String, Value>> {
        let tool = match self.joined(public) {
            Some(joined) => &joined.tool.tool,
            None => {
                let named = self.named(public)?;
                named.raw().filter(|_| shows(&named.attached.name, named.wire()))?
            }
        };
        tool.get("inputSchema")?.as_object()
    }
}
