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

/// An item in the list of a server.
struct Item {
    attached: Arc<Attached>,
    list: Arc<[Value]>,
    index: usize,
}

impl Item {
    fn raw(&self) -> Option<&Value> {
        self.list.get(self.index)
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

/// An item, or one tool in place of like tools of several servers, under the name that clients of the proxy know.
struct Named {
    public: String,
    /// The item, or the tools that are joined.
    items: Vec<Item>,
    joined: Option<JoinedTools>,
}

impl Named {
    /// Returns the item as its server lists it, or the joined tool.
    fn raw(&self) -> Option<&Value> {
        match &self.joined {
            Some(joined) => Some(&joined.tool),
            None => self.items.first()?.raw(),
        }
    }

    fn is_shown(&self, shows: impl Fn(&str, &str) -> bool) -> bool {
        self.items.iter().all(|item| shows(&item.attached.name, item.wire()))
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
                let item = Item { attached: attached.clone(), list: list.clone(), index };
                given.entry(item.wire().to_owned()).or_insert_with(|| public.clone());
                named.push(Named { public, items: vec![item], joined: None });
            }
        }
        if self.given.values().map(Given::len).sum::<usize>() > MOST_NAMES {
            let is_there: HashSet<&str> = named.iter().map(|named| named.public.as_str()).collect();
            self.given.values_mut().for_each(|given| given.retain(|_, public| is_there.contains(public.as_str())));
        }
        self.named = wanted.iter().fold(named, |named, (name, wanted)| join(named, name, wanted));
        self.by_name = self.named.iter().enumerate().map(|(place, named)| (named.public.clone(), place)).collect();
        self.lists = lists;
    }

    /// Returns the shown items as servers list them, with their public names. A joined tool is shown if all its tools
    /// are.
    pub(super) fn items(&self, shows: impl Fn(&str, &str) -> bool) -> Vec<Value> {
        let shown = self.named.iter().filter(|named| named.is_shown(&shows));
        let items = shown.map(|named| {
            let mut item = named.raw().cloned().unwrap_or_default();
            if let Some(name) = item.get_mut("name") {
                *name = Value::from(named.public.as_str());
            }
            item
        });
        items.collect()
    }

    fn get(&self, public: &str) -> Option<&Named> {
        self.named.get(*self.by_name.get(public)?)
    }

    /// Returns `true` if something has that name.
    pub(super) fn has(&self, public: &str) -> bool {
        self.by_name.contains_key(public)
    }

    /// Returns the server of a name, and the name there.
    pub(super) fn find(&self, public: &str) -> Option<(Arc<Attached>, String)> {
        let item = self.get(public)?.items.first()?;
        Some((item.attached.clone(), item.wire().to_owned()))
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
        let Some(Named { items, joined, .. }) = self.get(public) else { return Ok(None) };
        let Some(JoinedTools { argument, .. }) = joined else {
            return Ok(items.first().map(|item| item.call(arguments)));
        };
        let server = arguments.shift_remove(argument);
        let server = server.as_ref().and_then(Value::as_str);
        let meant = items.iter().find(|item| server == Some(&*item.attached.name));
        meant.map(|item| Some(item.call(arguments))).ok_or_else(|| {
            let servers: Vec<String> = items.iter().map(|item| format!("`{}`", item.attached.name)).collect();
            format!("expected one of {} at `/{argument}`", servers.join(", "))
        })
    }

    /// Returns the schema of the arguments of a tool, if it is shown or joined.
    pub(super) fn input_schema(&self, public: &str, shows: impl Fn(&str, &str) -> bool) -> Option<&Map<String, Value>> {
        let named = self.get(public).filter(|named| named.joined.is_some() || named.is_shown(shows))?;
        named.raw()?.get("inputSchema")?.as_object()
    }
}

/// Puts one tool in the place of like tools of several servers.
fn join(named: Vec<Named>, name: &str, JoinedTool { of, .. }: &JoinedTool) -> Vec<Named> {
    let is_joined =
        |item: &Item| of.iter().any(|(server, tool)| **server == *item.attached.name && tool == item.wire());
    let is_member = |named: &Named| named.joined.is_none() && named.items.iter().any(is_joined);
    let Some(place) = named.iter().position(is_member) else { return named };
    let items = named.iter().filter(|named| is_member(named)).flat_map(|named| &named.items);
    let tools: Vec<(&str, &Value)> = items.filter_map(|item| Some((&*item.attached.name, item.raw()?))).collect();
    let joined = match named.iter().any(|named| named.public == name && !is_member(named)) {
        true => Err("a server has a tool of this name".to_owned()),
        false => JoinedTools::of(name, &tools),
    };
    match joined {
        Ok(joined) => {
            let (members, mut others): (Vec<_>, Vec<_>) = named.into_iter().partition(is_member);
            let items = members.into_iter().flat_map(|named| named.items).collect();
            others.insert(place, Named { public: name.to_owned(), items, joined: Some(joined) });
            others
        }
        Err(why) => {
            tracing::warn!("`[tools.{}]` is not served: {}", printable(name), printable(&why));
            named
        }
    }
}
