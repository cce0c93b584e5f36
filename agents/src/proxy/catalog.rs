//! Names of what several servers have, as a toolset gives them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::attached::Attached;
use crate::toolset::NameStyle;
use crate::toolset::names::{Wanted, public_names};

/// Something that a server has, under the name that clients of the proxy know.
pub(super) struct Named {
    public: String,
    attached: Arc<Attached>,
    list: Arc<[Value]>,
    index: usize,
}

impl Named {
    fn raw(&self) -> Option<&Value> {
        self.list.get(self.index)
    }

    /// As the server lists it, but for its name.
    pub(super) fn item(&self) -> Value {
        let mut item = self.raw().cloned().unwrap_or_default();
        if let Some(name) = item.get_mut("name") {
            *name = Value::from(self.public.as_str());
        }
        item
    }

    /// The name, and whose it is under which.
    pub(super) fn found(self) -> (String, (Arc<Attached>, String)) {
        let wire = self.raw().map(name_of).unwrap_or_default().to_owned();
        (self.public, (self.attached, wire))
    }
}

fn name_of(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// A name for each, in the order in which they come.
pub(super) fn named<'a>(
    lists: impl Iterator<Item = (&'a Arc<Attached>, Arc<[Value]>)>,
    style: NameStyle,
) -> Vec<Named> {
    let lists: Vec<(&Arc<Attached>, Arc<[Value]>)> = lists.collect();
    let mut wanted = Vec::new();
    let mut places = Vec::new();
    for (attached, list) in &lists {
        let prefix = if style == NameStyle::ToolOnly { "" } else { attached.prefix() };
        for (index, item) in list.iter().enumerate() {
            let name = name_of(item);
            wanted.push(Wanted { identity: (&attached.name, name), prefix, name });
            places.push((*attached, list, index));
        }
    }
    let names = public_names(&wanted, &BTreeSet::new());
    let all = names.into_iter().zip(places);
    all.map(|(public, (attached, list, index))| Named { public, attached: attached.clone(), list: list.clone(), index })
        .collect()
}
