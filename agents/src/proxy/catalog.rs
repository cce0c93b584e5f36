//! Names of what several servers have, as a toolset gives them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::attached::Attached;
use crate::toolset::names::{Wanted, begins_with, public_names};

/// Names that were given and that nobody has any more are remembered up to so many in all.
const MOST_NAMES: usize = 100_000;

type List = Option<Arc<[Value]>>;
type Schema = Option<Arc<Map<String, Value>>>;

/// Something that a server has, under the name that clients of the proxy know.
struct Named {
    public: String,
    attached: Arc<Attached>,
    list: Arc<[Value]>,
    index: usize,
    schema: OnceLock<Schema>,
}

impl Named {
    fn raw(&self) -> Option<&Value> {
        self.list.get(self.index)
    }

    /// As the server lists it, but for its name.
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

/// Who has what by which name: made anew when one of the lists is another.
///
/// Whose a name is does not depend on which servers are there at the moment: what begins with the longer prefix of another
/// server is never a name as it is, and a name that was given stays with the tool that it was given to.
#[derive(Default)]
pub(super) struct Catalog {
    lists: Vec<List>,
    named: Vec<Named>,
    by_name: HashMap<String, usize>,
    /// By server and tool.
    given: HashMap<(Arc<str>, String), String>,
}

impl Catalog {
    /// Takes the lists of all servers, in their order.
    pub(super) fn set<'a>(
        &mut self,
        upstreams: &'a [Arc<Attached>],
        lists: Vec<List>,
        prefix: impl Fn(&'a Attached) -> &'a str,
    ) {
        let same = |(own, other): (&List, &List)| match (own, other) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        if self.lists.len() == lists.len() && self.lists.iter().zip(&lists).all(same) {
            return;
        }
        let prefixes: Vec<&str> = upstreams.iter().map(|attached| prefix(attached)).collect();
        let mut named = Vec::new();
        let (mut free, mut foreign) = (Vec::new(), Vec::new());
        for ((attached, list), own) in upstreams.iter().zip(&lists).zip(&prefixes) {
            let Some(list) = list else { continue };
            for (index, item) in list.iter().enumerate() {
                let wire = name_of(item);
                let given = self.given.get(&(attached.name.clone(), wire.to_owned()));
                if given.is_none() {
                    let wanted = Wanted { identity: (&attached.name, wire), prefix: own, name: wire };
                    let is_foreign =
                        prefixes.iter().any(|other| other.len() > own.len() && begins_with(&wanted, other));
                    if is_foreign { &mut foreign } else { &mut free }.push((named.len(), wanted));
                }
                let public = given.cloned().unwrap_or_default();
                let (attached, list) = (attached.clone(), list.clone());
                named.push(Named { public, attached, list, index, schema: OnceLock::new() });
            }
        }
        for (wanted, is_foreign) in [(free, false), (foreign, true)] {
            let (places, wanted): (Vec<usize>, Vec<Wanted<'_>>) = wanted.into_iter().unzip();
            let plain: Vec<String> =
                if is_foreign { wanted.iter().filter_map(Wanted::plain).collect() } else { Vec::new() };
            let taken: BTreeSet<&str> = self.given.values().chain(&plain).map(String::as_str).collect();
            let names = public_names(&wanted, &taken);
            for ((place, wanted), public) in places.into_iter().zip(&wanted).zip(names) {
                let Some(named) = named.get_mut(place) else { continue };
                self.given.insert((named.attached.name.clone(), wanted.name.to_owned()), public.clone());
                named.public = public;
            }
        }
        if self.given.len() > MOST_NAMES {
            let is_there: BTreeSet<&str> = named.iter().map(|named| named.public.as_str()).collect();
            self.given.retain(|_, public| is_there.contains(public.as_str()));
        }
        self.by_name = named.iter().enumerate().map(|(place, named)| (named.public.clone(), place)).collect();
        self.named = named;
        self.lists = lists;
    }

    /// As servers list them, but for their names.
    pub(super) fn items(&self) -> Vec<Value> {
        self.named.iter().map(Named::item).collect()
    }

    fn get(&self, public: &str) -> Option<&Named> {
        self.named.get(*self.by_name.get(public)?)
    }

    /// Whose a name is, under which.
    pub(super) fn find(&self, public: &str) -> Option<(Arc<Attached>, String)> {
        let named = self.get(public)?;
        Some((named.attached.clone(), named.raw().map(name_of).unwrap_or_default().to_owned()))
    }

    /// What a tool wants.
    pub(super) fn input_schema(&self, public: &str) -> Schema {
        let named = self.get(public)?;
        let read = || named.raw()?.get("inputSchema")?.as_object().cloned().map(Arc::new);
        named.schema.get_or_init(read).clone()
    }
}
