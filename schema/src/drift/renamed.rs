//! What bindings call things: a name that is new may take the one that another had, and regenerated code then means
//! another thing by it.

use std::collections::HashMap;

use mcp_model::Snapshot;
use mcp_model::printable;
use serde_json::Value;

use super::change::{Change, ChangeKind, Class};
use crate::names;

/// A thing whose name in Rust is another, and what to say of it.
pub(super) struct Renamed<'w> {
    pub(super) wire: &'w str,
    pub(super) detail: String,
}

/// The things of both lists that are called otherwise now; `named` gives the name of each of a list, and `of` is what
/// the thing is that may have taken a name: `"tool"`.
pub(super) fn renamed<'w>(
    old: &[&'w str],
    new: &[&'w str],
    of: &str,
    named: impl Fn(bool, &[&str]) -> Vec<String>,
) -> Vec<Renamed<'w>> {
    if old == new && named(false, old) == named(true, new) {
        return Vec::new();
    }
    let (before, now) = (named(false, old), named(true, new));
    let names: HashMap<&str, &String> = new.iter().copied().zip(&now).collect();
    let takers: HashMap<&String, &str> = now.iter().zip(new.iter().copied()).collect();
    let is_kept = |(wire, before): (&&'w str, &String)| {
        let name = *names.get(wire)?;
        (name != before).then(|| {
            let taken = takers.get(before).map(|taker| format!("{of} `{}` takes that name", printable(taker)));
            let taken = taken.map_or_else(String::new, |taken| format!(": {taken}"));
            Renamed { wire, detail: format!("called `{name}` in Rust now, and not `{before}`{taken}") }
        })
    };
    old.iter().zip(&before).filter_map(is_kept).collect()
}

/// The tools that are called otherwise now.
pub(super) fn tools(old: &Snapshot, new: &Snapshot, changes: &mut Vec<Change>) {
    let (before, now) = (names_of(&old.tools), names_of(&new.tools));
    if before == now {
        return;
    }
    let called = |keys: &[&str]| names::tools(keys, &vec![None; keys.len()]);
    let methods = |_, keys: &[&str]| called(keys).into_iter().map(|names| names.method).collect();
    let variants = |_, keys: &[&str]| called(keys).into_iter().map(|names| names.variant).collect();
    let methods = renamed(&before, &now, "tool", methods);
    let others = renamed(&before, &now, "tool", variants);
    let others = others.into_iter().filter(|variant| !methods.iter().any(|method| method.wire == variant.wire));
    let others: Vec<_> = others.collect();
    changes.extend(
        methods
            .into_iter()
            .chain(others)
            .map(|Renamed { wire, detail }| Change::new(wire, Class::Source, ChangeKind::Renamed, "/name", detail)),
    );
}

/// The prompts, or the resource templates, that are called otherwise now; `word` begins their names.
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

/// The names that are there, each once.
fn names_of(list: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = list.iter().filter_map(|item| item.get("name")?.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}
