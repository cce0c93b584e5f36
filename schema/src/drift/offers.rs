//! Prompts and resource templates that changed, for code that was bound to them.

use std::collections::BTreeMap;

use mcp_model::{Snapshot, canonical_json, printable};
use serde_json::{Map, Value};

use super::change::{Change, ChangeKind, Class, Witness};
use super::renamed::{self, Renamed};
use super::{by_name, keys_of_both, presence};
use crate::names;

/// What changed of the prompts and the resource templates.
pub(super) fn changes(old: &Snapshot, new: &Snapshot, changes: &mut Vec<Change>) {
    renamed_offers(old, new, changes);
    compare("prompt", "/prompts", &old.prompts, &new.prompts, prompt_changes, changes);
    let (old, new) = (&old.resource_templates, &new.resource_templates);
    compare("resource template", "/resourceTemplates", old, new, template_changes, changes);
}

/// Those that are called otherwise in Rust now.
fn renamed_offers(old: &Snapshot, new: &Snapshot, changes: &mut Vec<Change>) {
    let tools = (&*old.tools, &*new.tools);
    for (what, word, pointer, before, now) in [
        ("prompt", "prompt", "/prompts", &old.prompts, &new.prompts),
        ("resource template", "resource", "/resourceTemplates", &old.resource_templates, &new.resource_templates),
    ] {
        changes.extend(renamed::offers(word, what, (before, tools.0), (now, tools.1)).into_iter().map(|renamed| {
            let detail = format!("{what} `{}` is {}", printable(renamed.wire), renamed.detail);
            Change::new("", Class::Source, ChangeKind::Renamed, pointer, detail)
        }));
    }
}

/// What is said of one change: its class, its kind, what it is, and the proof.
type Said = (Class, ChangeKind, String, Option<Witness>);
type Item = Map<String, Value>;

fn compare(
    what: &str,
    pointer: &str,
    old: &[Value],
    new: &[Value],
    of_one: fn(&Item, &Item) -> Vec<Said>,
    changes: &mut Vec<Change>,
) {
    // Of several with one name, their order says nothing.
    let [old, new] = [old, new].map(|list| {
        let mut list = list.to_vec();
        list.sort_by_cached_key(canonical_json);
        list
    });
    let (before, now) = (by_name(&old), by_name(&new));
    let mut keys: Vec<_> = before.keys().chain(now.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let said = match (before.get(&key), now.get(&key)) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => match (old.as_object(), new.as_object()) {
                (Some(old), Some(new)) => of_one(old, new),
                _ => vec![(Class::Compatible, ChangeKind::OfferMember, "is another".to_owned(), None)],
            },
            // What has no name was never bound.
            (Some(_), None) if key.0.is_empty() => {
                vec![(Class::Compatible, ChangeKind::OfferRemoved, "is gone".to_owned(), None)]
            }
            (Some(_), None) => vec![(Class::Breaking, ChangeKind::OfferRemoved, "is gone".to_owned(), None)],
            (None, _) => vec![(Class::Compatible, ChangeKind::OfferAdded, "is new".to_owned(), None)],
        };
        let name = if key.0.is_empty() { "without a name".to_owned() } else { format!("`{}`", printable(key.0)) };
        changes.extend(said.into_iter().map(|(class, kind, detail, witness)| {
            let change = Change::new("", class, kind, pointer, format!("{what} {name} {detail}"));
            Change { witness, ..change }
        }));
    }
}

/// What else than the key that matters is another.
fn others(old: &Item, new: &Item, but: &str) -> Vec<Said> {
    let changed = keys_of_both(old, new).filter(|key| *key != but);
    let changed = changed.filter(|key| presence(old.get(*key), new.get(*key)).is_some());
    let said = changed.map(|key| {
        let (class, kind) = match key {
            "title" | "description" | "icons" => (Class::Wording, ChangeKind::Wording),
            _ => (Class::Compatible, ChangeKind::OfferMember),
        };
        (class, kind, format!("has another `{}`", printable(key)), None)
    });
    said.collect()
}

fn template_changes(old: &Item, new: &Item) -> Vec<Said> {
    let mut said = others(old, new, "uriTemplate");
    if old.get("uriTemplate") != new.get("uriTemplate") {
        said.push((Class::Breaking, ChangeKind::TemplateUri, "has another `uriTemplate`".to_owned(), None));
    }
    said
}

fn prompt_changes(old: &Item, new: &Item) -> Vec<Said> {
    let mut said = others(old, new, "arguments");
    if is_bound(old) && !is_bound(new) {
        let detail = "has arguments now that are no list, and cannot be bound".to_owned();
        said.push((Class::Breaking, ChangeKind::PromptMalformed, detail, None));
        return said;
    }
    let (left, right) = (arguments(old), arguments(new));
    let (before, now) = (by_argument(&left), by_argument(&right));
    let least = || {
        let required = before.iter().filter(|(_, (_, is_required))| *is_required);
        Some(Witness::Sent(required.map(|(name, _)| ((*name).to_owned(), Value::from("text"))).collect()))
    };
    for (name, (argument, is_required)) in &now {
        let shown = printable(name);
        match before.get(name) {
            None if *is_required => {
                said.push((
                    Class::Breaking,
                    ChangeKind::PromptArgumentRequired,
                    format!("takes `{shown}` now, and requires it"),
                    least(),
                ));
            }
            None => {
                said.push((Class::Compatible, ChangeKind::PromptArgumentAdded, format!("takes `{shown}` now"), None))
            }
            Some((_, false)) if *is_required => {
                said.push((
                    Class::Breaking,
                    ChangeKind::PromptArgumentRequired,
                    format!("requires `{shown}` now"),
                    least(),
                ));
            }
            Some((_, true)) if !is_required => {
                said.push((
                    Class::Source,
                    ChangeKind::PromptArgumentOptional,
                    format!("no longer requires `{shown}`"),
                    None,
                ));
            }
            Some((known, _)) if known != argument => {
                said.push((Class::Wording, ChangeKind::Wording, format!("says something else of `{shown}`"), None));
            }
            Some(_) => {}
        }
    }
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    said.extend(gone.map(|name| {
        let detail = format!("no longer takes `{}`", printable(name));
        (Class::Breaking, ChangeKind::PromptArgumentRemoved, detail, None)
    }));
    let required = |list: &[Argument<'_>], other: &BTreeMap<&str, (&Value, bool)>| -> Vec<String> {
        let both =
            list.iter().filter(|(name, _, is_required)| *is_required && other.get(name).is_some_and(|(_, is)| *is));
        both.map(|(name, ..)| (*name).to_owned()).collect()
    };
    if required(&left, &now) != required(&right, &before) {
        let detail = "has another order of arguments, in which `new` takes them".to_owned();
        said.push((Class::Source, ChangeKind::ArgumentOrder, detail, None));
    }
    let [left, right] = [left, right].map(|list| list.into_iter().map(|(name, ..)| name).collect::<Vec<_>>());
    let renamed = renamed::renamed(&left, &right, "argument", |_, wires| names::fields(wires));
    said.extend(renamed.into_iter().map(|Renamed { wire, detail }| {
        let detail = format!("has `{}`, which is {detail}", printable(wire));
        (Class::Source, ChangeKind::Renamed, detail, None)
    }));
    if said.is_empty() {
        said.push((Class::Compatible, ChangeKind::OfferMember, "has its arguments in another form".to_owned(), None));
    }
    said
}

/// Whether its arguments are a list, or none: no other prompt is bound.
fn is_bound(prompt: &Item) -> bool {
    matches!(prompt.get("arguments"), None | Some(Value::Null | Value::Array(_)))
}

/// An argument's name, all that is said of it, and whether it has to be given.
type Argument<'p> = (&'p str, &'p Value, bool);

fn by_argument<'p>(arguments: &[Argument<'p>]) -> BTreeMap<&'p str, (&'p Value, bool)> {
    arguments.iter().map(|(name, argument, is_required)| (*name, (*argument, *is_required))).collect()
}

/// The arguments that can be bound.
fn arguments(prompt: &Item) -> Vec<Argument<'_>> {
    let mut arguments: Vec<Argument<'_>> = Vec::new();
    for argument in prompt.get("arguments").and_then(Value::as_array).into_iter().flatten() {
        if let Some(name) = argument.get("name").and_then(Value::as_str)
            && !arguments.iter().any(|(known, ..)| *known == name)
        {
            arguments.push((name, argument, argument.get("required") == Some(&Value::Bool(true))));
        }
    }
    arguments
}
