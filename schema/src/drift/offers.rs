//! Prompts, resource templates and skills that changed, for code that was bound to them.

use mcp_bindgen_model::{Snapshot, UriTemplate, canonical_json, printable};
use serde_json::{Map, Value};

use super::change::{Change, ChangeKind, Class, Witness};
use super::rust::{self, Argument, renamed};
use super::{keys_of_both, names_of, pairs, presence, tool_names};
use crate::keys::{in_order, sorted};
use crate::names;
use crate::texts::listed;

/// Collects the changes of the prompts, the resource templates and the skills.
pub(super) fn changes(old: &Snapshot, new: &Snapshot, changes: &mut Vec<Change>) {
    let prompts = [&*old.prompts, &*new.prompts];
    let templates = [&*old.resource_templates, &*new.resource_templates];
    for (noun, word, pointer, lists) in
        [("prompt", "prompt", "/prompts", prompts), ("resource template", "resource", "/resourceTemplates", templates)]
    {
        let [before, now] = lists.map(names_of);
        let named = |is_new: bool, keys: &[&str]| {
            let tools = tool_names(&names_of(if is_new { &new.tools } else { &old.tools }));
            let names = names::offers(word, keys, tools.iter().map(|names| names.method.as_str()));
            names.into_iter().map(|base| format!("{word}_{base}")).collect()
        };
        let behind = |_: &str, _: &str| Some(["(..)", "(..)"].map(str::to_owned));
        for item in renamed(&before, &now, noun, &named, &behind) {
            changes.push(item.change("", pointer, &format!("{noun} `{}` is ", printable(item.wire))));
        }
    }
    compare(("prompt", "/prompts"), "name", prompts, prompt_changes, changes);
    compare(("resource template", "/resourceTemplates"), "name", templates, template_changes, changes);
    compare(("skill", "/skills"), "uri", [&old.skills, &new.skills], skill_changes, changes);
}

type Item = Map<String, Value>;

/// Compares two lists, whose items a key identifies.
fn compare(
    (noun, pointer): (&str, &str),
    key: &str,
    lists: [&[Value]; 2],
    of_one: fn(&Item, &Item) -> Vec<Change>,
    changes: &mut Vec<Change>,
) {
    let (old, new) = (in_one_order(lists[0]), in_one_order(lists[1]));
    for (name, pair) in pairs(&old, &new, key) {
        let found = match pair {
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => match (old.as_object(), new.as_object()) {
                (Some(old), Some(new)) => of_one(old, new),
                _ => vec![said(Class::Compatible, ChangeKind::OfferMember, "is another")],
            },
            (Some(_), None) => {
                // Items without a name were never bound, and no code depends on skills.
                let is_bound = !name.is_empty() && noun != "skill";
                let class = if is_bound { Class::Breaking } else { Class::Compatible };
                vec![said(class, ChangeKind::OfferRemoved, "is gone")]
            }
            (None, _) => vec![said(Class::Compatible, ChangeKind::OfferAdded, "is new")],
        };
        let name = if name.is_empty() { format!("without a {key}") } else { format!("`{}`", printable(name)) };
        changes.extend(found.into_iter().map(|change| {
            let detail = format!("{noun} {name} {}", change.detail);
            Change { pointer: pointer.to_owned(), detail, ..change }
        }));
    }
}

/// Returns items in the order of their texts: that of items with one name has no meaning.
fn in_one_order(list: &[Value]) -> Vec<Value> {
    let items: Vec<(String, &Value)> = list.iter().map(|item| (canonical_json(item), item)).collect();
    sorted(&items, |(text, _)| text).into_iter().map(|(_, item)| (*item).clone()).collect()
}

/// Returns a change of one of them; [`compare`] adds which one.
fn said(class: Class, kind: ChangeKind, detail: impl Into<String>) -> Change {
    Change::new("", class, kind, "", detail)
}

/// The names of arguments or variables, each with its type if `new` takes it.
type Declared<'n> = Vec<(&'n str, Option<&'static str>)>;

/// Finds calls of `new` that compile with both lists of arguments and mean something else now.
fn misread(old: &Declared<'_>, new: &Declared<'_>) -> Option<Change> {
    let arguments = |declared: &Declared<'_>| -> Vec<Argument> {
        let named = declared.iter().zip(names::fields(&wires(declared)));
        named.filter_map(|((wire, ty), name)| Some(Argument::new(wire, &name, (*ty)?))).collect()
    };
    let (detail, signatures) = rust::misread(&arguments(old), &arguments(new))?;
    let change = said(Class::Silent, ChangeKind::ArgumentMeaning, format!("has a `new` that {detail}"));
    Some(Change { signatures: Some(signatures), ..change })
}

fn wires<'n>(declared: &Declared<'n>) -> Vec<&'n str> {
    declared.iter().map(|(wire, _)| *wire).collect()
}

/// Compares everything but one key.
fn others(old: &Item, new: &Item, but: &str) -> Vec<Change> {
    let mut found = Vec::new();
    for key in keys_of_both(old, new) {
        if key == but || presence(old.get(key), new.get(key)).is_none() {
            continue;
        }
        let (class, kind) = match key {
            "title" | "description" | "icons" => (Class::Wording, ChangeKind::Wording),
            _ => (Class::Compatible, ChangeKind::OfferMember),
        };
        found.push(said(class, kind, format!("has another `{}`", printable(key))));
    }
    found
}

/// Skills are instructions for models, on which no code depends.
fn skill_changes(old: &Item, new: &Item) -> Vec<Change> {
    const MOST: usize = 5;
    let digests = |skill: &Item| -> Item {
        let files = skill.get("resources").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default().iter();
        files.filter_map(|file| Some((file.get("uri")?.as_str()?.to_owned(), file.get("digest")?.clone()))).collect()
    };
    let (before, now) = (digests(old), digests(new));
    let files = in_order(&keys_of_both(&before, &now));
    let changed = files.into_iter().filter(|uri| before.get(*uri) != now.get(*uri));
    let changed: Vec<String> = changed.map(|uri| format!("`{}`", printable(uri))).collect();
    let detail = match changed.as_slice() {
        [] => "has other metadata".to_owned(),
        _ => format!("has other content in {}", listed(changed, MOST)),
    };
    vec![said(Class::Wording, ChangeKind::Wording, detail)]
}

fn template_changes(old: &Item, new: &Item) -> Vec<Change> {
    let mut found = others(old, new, "uriTemplate");
    if old.get("uriTemplate") != new.get("uriTemplate") {
        found.push(said(Class::Breaking, ChangeKind::TemplateUri, "has another `uriTemplate`"));
        let [old, new] = [old, new].map(|template| {
            let text = template.get("uriTemplate").and_then(Value::as_str).unwrap_or_default();
            UriTemplate::parse(text).map(|template| template.variables()).unwrap_or_default()
        });
        let [old, new] = [&old, &new].map(|variables| {
            let ty = |is_list| if is_list { "Vec<String>" } else { rust::TEXT };
            variables.iter().map(|known| (&*known.name, known.is_required.then(|| ty(known.is_list)))).collect()
        });
        found.extend(misread(&old, &new));
    }
    found
}

fn prompt_changes(old: &Item, new: &Item) -> Vec<Change> {
    let mut found = others(old, new, "arguments");
    if is_bound(old) && !is_bound(new) {
        let detail = "has arguments that are not an array, and cannot be bound";
        found.push(said(Class::Breaking, ChangeKind::PromptMalformed, detail));
        return found;
    }
    let ((before, left), (now, right)) = (arguments(old), arguments(new));
    let (keys, mut least) = (keys_of_both(&left, &right), Item::new());
    let names = in_order(&keys);
    for name in names.iter().filter(|name| left.get(**name).is_some_and(is_required)) {
        least.insert((*name).to_owned(), "text".into());
    }
    let refused = |detail: String| {
        let change = said(Class::Breaking, ChangeKind::PromptArgumentRequired, detail);
        Change { witness: Some(Witness::Sent(least.clone().into())), ..change }
    };
    for name in names {
        let (shown, known, argument) = (printable(name), left.get(name), right.get(name));
        found.push(match (known.map(is_required), argument.map(is_required)) {
            (None, Some(true)) => refused(format!("takes `{shown}` now, and requires it")),
            (None, Some(false)) => {
                said(Class::Compatible, ChangeKind::PromptArgumentAdded, format!("takes `{shown}` now"))
            }
            (Some(false), Some(true)) => refused(format!("requires `{shown}` now")),
            (Some(true), Some(false)) => {
                said(Class::Source, ChangeKind::PromptArgumentOptional, format!("no longer requires `{shown}`"))
            }
            (Some(_), None) => {
                said(Class::Breaking, ChangeKind::PromptArgumentRemoved, format!("no longer takes `{shown}`"))
            }
            _ if known != argument => {
                said(Class::Wording, ChangeKind::Wording, format!("says something else of `{shown}`"))
            }
            _ => continue,
        });
    }
    found.extend(misread(&before, &now));
    let behind = |wire: &str, taker: &str| {
        let ty = |argument| if is_required(argument) { ": String" } else { ": Option<String>" }.to_owned();
        Some([ty(left.get(wire)?), ty(right.get(taker)?)])
    };
    let of_fields = |_: bool, wires: &[&str]| names::fields(wires);
    for item in renamed(&wires(&before), &wires(&now), "argument", &of_fields, &behind) {
        found.push(item.change("", "", &format!("has `{}`, which is ", printable(item.wire))));
    }
    if found.is_empty() {
        found.push(said(Class::Compatible, ChangeKind::OfferMember, "has its arguments in another form"));
    }
    found
}

/// Returns `true` if its arguments are a list, or none: no other prompt is bound.
fn is_bound(prompt: &Item) -> bool {
    matches!(prompt.get("arguments"), None | Some(Value::Null | Value::Array(_)))
}

fn is_required(argument: &Value) -> bool {
    argument.get("required") == Some(&Value::Bool(true))
}

/// Returns the arguments that can be bound: in their order, and their declarations by name.
fn arguments(prompt: &Item) -> (Declared<'_>, Item) {
    let (mut declared, mut by_name) = (Vec::new(), Item::new());
    for argument in prompt.get("arguments").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default() {
        let Some(name) = argument.get("name").and_then(Value::as_str) else { continue };
        if !by_name.contains_key(name) {
            by_name.insert(name.to_owned(), argument.clone());
            declared.push((name, is_required(argument).then_some(rust::TEXT)));
        }
    }
    (declared, by_name)
}
