//! The items of several servers, by name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use mcp_bindgen_model::{JoinedTool, printable};
use mcp_bindgen_schema::names::Given;
use serde_json::{Map, Value};

use super::attached::Attached;
use super::joined::{Joined, Wanted};

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
    /// The indices of joined tools; the first of each group holds the tool that replaces them.
    joined: BTreeMap<usize, Option<Joined>>,
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
        let is_shown = |named: &Named| shows(&named.attached.name, named.raw().map(name_of).unwrap_or_default());
        let items = self.named.iter().enumerate().filter_map(|(place, named)| match self.joined.get(&place) {
            None => is_shown(named).then(|| named.item()),
            Some(joined) => {
                let joined =
                    joined.as_ref().filter(|joined| joined.members().all(|(server, tool)| shows(server, tool)));
                joined.map(|joined| joined.item().clone())
            }
        });
        items.collect()
    }

    /// Puts one tool in the place of like tools of several servers.
    fn join(&mut self, wanted: &Wanted) {
        self.joined.clear();
        for (name, JoinedTool { of, .. }) in &**wanted {
            let is_member = |named: &Named| {
                let wire = named.raw().map(name_of).unwrap_or_default();
                of.iter().any(|(server, tool)| **server == *named.attached.name && tool == wire)
            };
            let found = self.named.iter().enumerate().filter(|(_, named)| is_member(named));
            let found: Vec<(usize, &Named)> = found.collect();
            let is_taken = self.named.iter().any(|named| named.public == *name && !is_member(named));
            let tools =
                found.iter().map(|(_, named)| (named.attached.clone(), named.raw().cloned().unwrap_or_default()));
            if found.is_empty() {
                continue;
            }
            if is_taken {
                tracing::warn!("`[tools.{}]` is not served: a server has a tool of this name", printable(name));
                continue;
            }
            let Some(joined) = Joined::of(name, tools.collect()) else { continue };
            let places: Vec<usize> = found.iter().map(|(place, _)| *place).collect();
            let mut joined = Some(joined);
            self.by_name.retain(|_, place| !places.contains(place));
            self.joined.extend(places.into_iter().map(|place| (place, joined.take())));
        }
    }

    /// Returns the joined tool with that name.
    pub(super) fn joined(&self, public: &str) -> Option<&Joined> {
        self.joined.values().flatten().find(|joined| name_of(joined.item()) == public)
    }

    /// Returns the server of a name, and the name there.
    pub(super) fn find(&self, public: &str) -> Option<(Arc<Attached>, String)> {
        let named = self.named.get(*self.by_name.get(public)?)?;
        Some((named.attached.clone(), named.raw().map(name_of).unwrap_or_default().to_owned()))
    }

    /// Returns the schema of a tool's arguments.
    pub(super) fn input_schema(&self, public: &str) -> Option<&Map<String, Value>> {
        let tool = match self.joined(public) {
            Some(joined) => joined.item(),
            None => self.named.get(*self.by_name.get(public)?)?.raw()?,
        };
        tool.get("inputSchema")?.as_object()
    }
}
