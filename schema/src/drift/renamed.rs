//! Renamed items: if a new item gets the name of another, regenerated code changes its meaning.

use std::collections::HashMap;

use mcp_bindgen_model::printable;
use serde_json::Value;

use super::change::{ChangeKind, Class, Signatures};
use crate::names;

/// A thing that is not called in Rust as it was, and what to say of it.
pub(super) struct Renamed<'w> {
    pub(super) wire: &'w str,
    /// Its name before.
    pub(super) name: String,
    /// The thing that is called so now: code for the old bindings may compile and mean this one.
    pub(super) taker: Option<&'w str>,
    pub(super) detail: String,
    /// `true` if the item is missing in the new list.
    pub(super) is_gone: bool,
}

impl Renamed<'_> {
    /// Returns the class and kind of the change, by whether code for the old name compiles.
    pub(super) fn called(compiles: bool) -> (Class, ChangeKind) {
        if compiles { (Class::Silent, ChangeKind::NameTaken) } else { (Class::Source, ChangeKind::Renamed) }
    }

    /// Returns both meanings of the name, each with its type: `: String`.
    pub(super) fn signatures(&self, old: &str, new: &str) -> Signatures {
        let of = |behind: &str, wire: &str| format!("{}{behind} for {wire:?}", self.name);
        Signatures { old: of(old, self.wire), new: of(new, self.taker.unwrap_or_default()) }
    }
}

/// Returns the renamed items of the old list, and removed items whose name now belongs to another. `named` returns the
/// names of a list, and `of` is the kind of items: `"tool"`.
pub(super) fn renamed<'w>(
    old: &[&'w str],
    new: &[&'w str],
    of: &str,
    named: impl Fn(bool, &[&str]) -> Vec<String>,
) -> Vec<Renamed<'w>> {
    let (before, now) = (named(false, old), named(true, new));
    if old == new && before == now {
        return Vec::new();
    }
    let names: HashMap<&str, &String> = new.iter().copied().zip(&now).collect();
    let takers: HashMap<&String, &'w str> = now.iter().zip(new.iter().copied()).collect();
    let is_another = |(wire, before): (&&'w str, &String)| {
        let taker = takers.get(before).copied().filter(|taker| taker != wire);
        let taken = taker.map(|taker| format!("{of} `{}` takes that name", printable(taker)));
        let detail = match (names.get(wire), taken) {
            (Some(name), _) if *name == before => return None,
            (Some(name), taken) => {
                let taken = taken.map_or_else(String::new, |taken| format!(": {taken}"));
                format!("called `{name}` in Rust now, and not `{before}`{taken}")
            }
            (None, Some(taken)) => format!("gone, and was called `{before}` in Rust: {taken}"),
            (None, None) => return None,
        };
        Some(Renamed { wire, name: before.clone(), taker, detail, is_gone: !names.contains_key(wire) })
    };
    old.iter().zip(&before).filter_map(is_another).collect()
}

/// Returns the prompts, or the resource templates, that are called otherwise now; `word` begins their names.
pub(super) fn offers<'w>(
    word: &str,
    what: &str,
    (old, old_tools): (&'w [Value], &[Value]),
    (new, new_tools): (&'w [Value], &[Value]),
) -> Vec<Renamed<'w>> {
    let (before, now) = (names_of(old), names_of(new));
    if before.is_empty() || now.is_empty() {
        return Vec::new();
    }
    let tools = [old_tools, new_tools].map(|tools| {
        let keys = names_of(tools);
        names::tools(&keys, &vec![None; keys.len()])
    });
    renamed(&before, &now, what, |is_new, keys| {
        let methods = tools.get(usize::from(is_new)).into_iter().flatten().map(|names| names.method.as_str());
        names::offers(word, keys, methods).into_iter().map(|base| format!("{word}_{base}")).collect()
    })
}

/// Returns the names that are there, each once.
pub(super) fn names_of(list: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = list.iter().filter_map(|item| item.get("name")?.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}
