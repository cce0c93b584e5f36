//! Prompts and resource templates that changed, for code that was bound to them.

use std::collections::BTreeMap;

use mcp_bindgen_model::{Snapshot, TemplateVariable, UriTemplate, canonical_json, printable};
use serde_json::{Map, Value};

use super::change::{Change, ChangeKind, Class, Witness};
use super::renamed::{self, Renamed};
use super::rust::{self, Argument, Misread};
use super::{keys_of_both, pairs, presence};
use crate::names;
use crate::texts::listed;

/// Collects the changes of the prompts and the resource templates.
pub(super) fn changes(old: &Snapshot, new: &Snapshot, changes: &mut Vec<Change>) {
    renamed_offers(old, new, changes);
    compare("prompt", "/prompts", &old.prompts, &new.prompts, prompt_changes, changes);
    let (old, new) = (&old.resource_templates, &new.resource_templates);
    compare("resource template", "/resourceTemplates", old, new, template_changes, changes);
}

/// Collects the changes of skills: their content is instructions for models, on which no code depends.
pub(super) fn skill_changes(old: &[Value], new: &[Value], changes: &mut Vec<Change>) {
    let by_uri = |list: &[Value]| -> BTreeMap<String, Value> {
        let skill = |skill: &Value| Some((skill.get("uri")?.as_str()?.to_owned(), skill.clone()));
        list.iter().filter_map(skill).collect()
    };
    let (before, now) = (by_uri(old), by_uri(new));
    let mut add = |uri: &str, class, kind, detail: String| {
        let detail = format!("skill `{}` {detail}", printable(uri));
        changes.push(Change::new("", class, kind, "/skills", detail));
    };
    for uri in before.keys().filter(|uri| !now.contains_key(*uri)) {
        add(uri, Class::Compatible, ChangeKind::OfferRemoved, "is gone".to_owned());
    }
    for (uri, skill) in &now {
        match before.get(uri) {
            None => add(uri, Class::Compatible, ChangeKind::OfferAdded, "is new".to_owned()),
            Some(old) if old == skill => {}
            Some(old) => add(uri, Class::Wording, ChangeKind::Wording, changed_files(old, skill)),
        }
    }
}

/// Describes the change of a skill, by its files if they are listed.
fn changed_files(old: &Value, new: &Value) -> String {
    const MOST: usize = 5;
    let digests = |skill: &Value| -> BTreeMap<String, Value> {
        let file = |file: &Value| Some((file.get("uri")?.as_str()?.to_owned(), file.get("digest")?.clone()));
        skill.get("resources").and_then(Value::as_array).into_iter().flatten().filter_map(file).collect()
    };
    let (before, now) = (digests(old), digests(new));
    let mut changed: Vec<&String> =
        before.keys().chain(now.keys()).filter(|uri| before.get(*uri) != now.get(*uri)).collect();
    changed.sort_unstable();
    changed.dedup();
    if changed.is_empty() {
        return "has other metadata".to_owned();
    }
    let files = changed.into_iter().map(|uri| format!("`{}`", printable(uri)));
    format!("has other content in {}", listed(files, MOST))
}

/// Adds the offers whose Rust names have changed.
fn renamed_offers(old: &Snapshot, new: &Snapshot, changes: &mut Vec<Change>) {
    for (what, word, pointer, before, now) in [
        ("prompt", "prompt", "/prompts", &old.prompts, &new.prompts),
        ("resource template", "resource", "/resourceTemplates", &old.resource_templates, &new.resource_templates),
    ] {
        changes.extend(renamed::offers(word, what, (before, &old.tools), (now, &new.tools)).into_iter().map(
            |renamed| {
                let detail = format!("{what} `{}` is {}", printable(renamed.wire), renamed.detail);
                let signatures = renamed.taker.map(|_| renamed.signatures("(..)", "(..)"));
                let (class, kind) = Renamed::called(signatures.is_some());
                Change { signatures, ..Change::new("", class, kind, pointer, detail) }
            },
        ));
    }
}

type Item = Map<String, Value>;

fn compare(
    what: &str,
    pointer: &str,
    old: &[Value],
    new: &[Value],
    of_one: fn(&Item, &Item) -> Vec<Change>,
    changes: &mut Vec<Change>,
) {
    // The order of items with one name has no meaning.
    let [old, new] = [old, new].map(|list| {
        let mut list = list.to_vec();
        list.sort_by_cached_key(canonical_json);
        list
    });
    for ((name, _), pair) in pairs(&old, &new) {
        let found = match pair {
            (Some(old), Some(new)) if old == new => continue,
            (Some(old), Some(new)) => match (old.as_object(), new.as_object()) {
                (Some(old), Some(new)) => of_one(old, new),
                _ => vec![said(Class::Compatible, ChangeKind::OfferMember, "is another")],
            },
            // Items without a name were never bound.
            (Some(_), None) => {
                let class = if name.is_empty() { Class::Compatible } else { Class::Breaking };
                vec![said(class, ChangeKind::OfferRemoved, "is gone")]
            }
            (None, _) => vec![said(Class::Compatible, ChangeKind::OfferAdded, "is new")],
        };
        let name = if name.is_empty() { "without a name".to_owned() } else { format!("`{}`", printable(name)) };
        changes.extend(found.into_iter().map(|change| {
            let detail = format!("{what} {name} {}", change.detail);
            Change { pointer: pointer.to_owned(), detail, ..change }
        }));
    }
}

/// Returns a change of one of them; [`compare`] adds which one.
fn said(class: Class, kind: ChangeKind, detail: impl Into<String>) -> Change {
    Change::new("", class, kind, "", detail)
}

/// Finds calls of `new` that compile with both lists of arguments and mean something else now.
fn misread(old: &[Argument], new: &[Argument]) -> Option<Change> {
    let Misread { detail, signatures } = rust::misread(old, new)?;
    let change = said(Class::Silent, ChangeKind::ArgumentMeaning, format!("has a `new` that {detail}"));
    Some(Change { signatures: Some(signatures), ..change })
}

/// Compares everything but one key.
fn others(old: &Item, new: &Item, but: &str) -> Vec<Change> {
    let changed = keys_of_both(old, new).filter(|key| *key != but);
    let changed = changed.filter(|key| presence(old.get(*key), new.get(*key)).is_some());
    let found = changed.map(|key| {
        let (class, kind) = match key {
            "title" | "description" | "icons" => (Class::Wording, ChangeKind::Wording),
            _ => (Class::Compatible, ChangeKind::OfferMember),
        };
        said(class, kind, format!("has another `{}`", printable(key)))
    });
    found.collect()
}

fn template_changes(old: &Item, new: &Item) -> Vec<Change> {
    let mut found = others(old, new, "uriTemplate");
    if old.get("uriTemplate") != new.get("uriTemplate") {
        found.push(said(Class::Breaking, ChangeKind::TemplateUri, "has another `uriTemplate`"));
        found.extend(misread(&variables(old), &variables(new)));
    }
    found
}

/// Returns the arguments of `new` for the variables of a template.
fn variables(template: &Item) -> Vec<Argument> {
    let text = template.get("uriTemplate").and_then(Value::as_str).unwrap_or_default();
    let variables = UriTemplate::parse(text).map(|template| template.variables()).unwrap_or_default();
    let wires: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
    let required = variables.iter().zip(names::fields(&wires)).filter(|(variable, _)| variable.is_required);
    let argument = |(variable, name): (&TemplateVariable, String)| {
        Argument::new(&variable.name, name, if variable.is_list { "Vec<String>" } else { rust::TEXT })
    };
    required.map(argument).collect()
}

/// Returns the arguments of `new` for a prompt.
fn required_texts(arguments: &[Listed<'_>]) -> Vec<Argument> {
    let wires: Vec<&str> = arguments.iter().map(|(name, ..)| *name).collect();
    let required = arguments.iter().zip(names::fields(&wires)).filter(|((.., is_required), _)| *is_required);
    required.map(|((wire, ..), name)| Argument::new(wire, name, rust::TEXT)).collect()
}

fn prompt_changes(old: &Item, new: &Item) -> Vec<Change> {
    let mut found = others(old, new, "arguments");
    if is_bound(old) && !is_bound(new) {
        let detail = "has arguments that are not an array, and cannot be bound";
        found.push(said(Class::Breaking, ChangeKind::PromptMalformed, detail));
        return found;
    }
    let (left, right) = (arguments(old), arguments(new));
    let (before, now) = (by_argument(&left), by_argument(&right));
    let required = before.iter().filter(|(_, (_, is_required))| *is_required);
    let least: Value = required.map(|(name, _)| ((*name).to_owned(), Value::from("text"))).collect();
    let refused = |detail: String| {
        let change = said(Class::Breaking, ChangeKind::PromptArgumentRequired, detail);
        Change { witness: Some(Witness::Sent(least.clone())), ..change }
    };
    for (name, (argument, is_required)) in &now {
        let shown = printable(name);
        found.extend(match before.get(name) {
            None if *is_required => Some(refused(format!("takes `{shown}` now, and requires it"))),
            None => Some(said(Class::Compatible, ChangeKind::PromptArgumentAdded, format!("takes `{shown}` now"))),
            Some((_, false)) if *is_required => Some(refused(format!("requires `{shown}` now"))),
            Some((_, true)) if !is_required => {
                Some(said(Class::Source, ChangeKind::PromptArgumentOptional, format!("no longer requires `{shown}`")))
            }
            Some((known, _)) if known != argument => {
                Some(said(Class::Wording, ChangeKind::Wording, format!("says something else of `{shown}`")))
            }
            Some(_) => None,
        });
    }
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    found.extend(gone.map(|name| {
        said(Class::Breaking, ChangeKind::PromptArgumentRemoved, format!("no longer takes `{}`", printable(name)))
    }));
    found.extend(misread(&required_texts(&left), &required_texts(&right)));
    let [left, right] = [left, right].map(|list| list.into_iter().map(|(name, ..)| name).collect::<Vec<_>>());
    for renamed in renamed::renamed(&left, &right, "argument", |_, wires| names::fields(wires)) {
        let is_required =
            |list: &BTreeMap<&str, (&Value, bool)>, name| list.get(name).map(|(_, is_required)| *is_required);
        let detail = format!("has `{}`, which is {}", printable(renamed.wire), renamed.detail);
        let ty = is_required(&before, renamed.wire).map(|is| if is { ": String" } else { ": Option<String>" });
        let taken = renamed.taker.filter(|taker| is_required(&now, *taker) == is_required(&before, renamed.wire));
        if let Some(ty) = ty.filter(|_| taken.is_some()) {
            let change = said(Class::Silent, ChangeKind::NameTaken, detail);
            found.push(Change { signatures: Some(renamed.signatures(ty, ty)), ..change });
        } else if !renamed.is_gone {
            found.push(said(Class::Source, ChangeKind::Renamed, detail));
        }
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

/// An argument's name, its declaration, and whether it is required.
type Listed<'p> = (&'p str, &'p Value, bool);

fn by_argument<'p>(arguments: &[Listed<'p>]) -> BTreeMap<&'p str, (&'p Value, bool)> {
    arguments.iter().map(|(name, argument, is_required)| (*name, (*argument, *is_required))).collect()
}

/// Returns the arguments that can be bound.
fn arguments(prompt: &Item) -> Vec<Listed<'_>> {
    let mut arguments: Vec<Listed<'_>> = Vec::new();
    for argument in prompt.get("arguments").and_then(Value::as_array).into_iter().flatten() {
        if let Some(name) = argument.get("name").and_then(Value::as_str)
            && !arguments.iter().any(|(known, ..)| *known == name)
        {
            arguments.push((name, argument, argument.get("required") == Some(&Value::Bool(true))));
        }
    }
    arguments
}
