//! The user's rules, held against the plan.

use mcp_bindgen_model::{Types, UnknownKeys, printable};
use mcp_bindgen_schema::{Shape, ShapeId};

use super::derives::Derives;
use super::place::{Located, Nowhere, Place, locate};
use super::shared::{Sharing, TypeAt};
use super::{SchemaPlan, ToolPlan};
use crate::names::{self, METHODS, Style, module_name};
use crate::options::Options;
use crate::rules::{CHECKED, NAMED, RENAME, Rule, RuleFault, SETTERS};

/// The next step for a name that something else has.
const OTHER_NAME: &str = "choose another name";
/// The next step for a name that is no identifier, and resembles none.
const SNAKE_CASE: &str = "use a name in snake case: letters, digits and `_`";

/// Returns the names that `rename` gives to tools, by their place in the list of keys.
pub(super) fn tool_names(options: &Options, keys: &[&str], faults: &mut Vec<RuleFault>) -> Vec<Option<String>> {
    let mut names: Vec<Option<String>> = vec![None; keys.len()];
    let mut given: Vec<(usize, &Rule)> = Vec::new();
    for rule in options.rules.of(RENAME) {
        let Some(index) = tool_of(rule).and_then(|tool| keys.iter().position(|key| *key == tool)) else { continue };
        match identifier(&rule.value) {
            Ok(name) if METHODS.contains(&name) => {
                faults.push(rule.fault_of_value(format!("`{name}` is a method that every client has"), OTHER_NAME));
            }
            Ok(name) => {
                if let Some(slot) = names.get_mut(index) {
                    *slot = Some(name.to_owned());
                    given.push((index, rule));
                }
            }
            Err(Nowhere { message, help }) => faults.push(rule.fault_of_value(message, help)),
        }
    }
    if given.is_empty() {
        return names;
    }
    let own = names::tools(keys, &vec![None; keys.len()]);
    for (index, rule) in given {
        let name_of = |place: usize| names.get(place)?.as_ref().or(own.get(place).map(|own| &own.method));
        let is_taken = |other: &usize| *other != index && name_of(*other) == names.get(index).and_then(Option::as_ref);
        if let Some(key) = (0..keys.len()).find(is_taken).and_then(|other| keys.get(other)) {
            let (name, tool) = (printable(&rule.value), printable(key));
            faults.push(rule.fault_of_value(format!("`{name}` is already the name of tool `{tool}`"), OTHER_NAME));
            if let Some(slot) = names.get_mut(index) {
                *slot = None;
            }
        }
    }
    names
}

/// Returns the tool that a rule gives another name.
fn tool_of(rule: &Rule) -> Option<String> {
    let place: Place = rule.key.parse().ok()?;
    place.is_tool().then_some(place.tool)
}

/// Renames fields, and returns the derives; gives every rule that cannot hold.
pub(super) fn apply(
    options: &Options,
    tools: &mut [ToolPlan<'_>],
    sharing: &Sharing,
    every: &[&str],
    faults: &mut Vec<RuleFault>,
) -> Derives {
    let rules = &options.rules;
    rename_fields(rules.of(RENAME), tools, sharing, every, faults);
    let derives = Derives::new(rules, tools, faults);
    if options.server.types == Types::Typify {
        let is_ignored = |rule: &&Rule| match rule.option {
            RENAME => tool_of(rule).is_none(),
            SETTERS | NAMED | CHECKED => rule.value == "true",
            _ => true,
        };
        faults.extend(rules.0.iter().filter(is_ignored).map(Rule::without_effect));
        if options.server.unknown == UnknownKeys::Keep {
            faults.push(Rule::new("unknown", "", UnknownKeys::Keep.name()).without_effect());
        }
    }
    derives
}

/// A rule that renames fields, with its fields. For a shared type, these are the fields of all its equal types.
struct FieldRename<'r> {
    rule: &'r Rule,
    name: String,
    fields: Vec<(TypeAt, usize)>,
}

fn rename_fields(
    rules: Vec<&Rule>,
    tools: &mut [ToolPlan<'_>],
    sharing: &Sharing,
    every: &[&str],
    faults: &mut Vec<RuleFault>,
) {
    let mut renames: Vec<FieldRename<'_>> = Vec::new();
    for rule in rules {
        match field_rename(rule, tools, sharing, every) {
            Ok(rename) => renames.extend(rename),
            Err(fault) => faults.push(*fault),
        }
    }
    for FieldRename { rule, name, fields } in &renames {
        let renamed = |(at, index): &(TypeAt, usize)| at.schema(tools)?.renamed.get(&(at.shape, *index));
        if let Some(earlier) = fields.iter().find_map(renamed).filter(|earlier| *earlier != name) {
            let place = printable(&rule.key);
            let message = format!("`{place}` is the same field as another place, which renames it to `{earlier}`");
            let help = "both places have one type: use one name";
            faults.push(rule.fault_of_value(message, help));
            continue;
        }
        for (at, index) in fields {
            if let Some(schema) = at.schema_mut(tools) {
                schema.renamed.insert((at.shape, *index), name.clone());
            }
        }
    }
    // Names may be swapped, so conflicts are checked after all renames.
    for FieldRename { rule, name, fields } in &renames {
        let taken = |(at, index): &(TypeAt, usize)| beside(at.schema(tools)?, at.shape, *index, name);
        if let Some(wire) = fields.iter().find_map(taken) {
            let message = format!("`{name}` is already the field of property `{}`", printable(&wire));
            faults.push(rule.fault_of_value(message, OTHER_NAME));
            for (at, index) in fields {
                at.schema_mut(tools).map(|schema| schema.renamed.remove(&(at.shape, *index)));
            }
        }
    }
}

/// Reads a rule for fields; returns `None` for a rule about a tool.
fn field_rename<'r>(
    rule: &'r Rule,
    tools: &[ToolPlan<'_>],
    sharing: &Sharing,
    every: &[&str],
) -> Result<Option<FieldRename<'r>>, Box<RuleFault>> {
    let Located { place, tool, found } = locate(tools, every, &rule.key)
        .map_err(|Nowhere { message, help }| Box::new(rule.fault_of_key(message, help)))?;
    if place.is_tool() {
        return Ok(None);
    }
    let mut fields = Vec::new();
    for (shape, index) in found.iter().filter_map(|found| found.field) {
        let at = TypeAt { tool, role: place.role, shape };
        let wire = at.properties(tools).get(index).copied();
        for like in sharing.likes(at) {
            if let Some(index) = like.properties(tools).iter().position(|property| Some(*property) == wire) {
                fields.push((like, index));
            }
        }
    }
    if fields.is_empty() {
        let message = format!("no field at `{}`", printable(&rule.key));
        let help = "use a tool, or a property: `TOOL/PROPERTY`, `TOOL/$output/PROPERTY`";
        return Err(Box::new(rule.fault_of_key(message, help)));
    }
    let name =
        identifier(&rule.value).map_err(|Nowhere { message, help }| Box::new(rule.fault_of_value(message, help)))?;
    Ok(Some(FieldRename { rule, name: name.to_owned(), fields }))
}

/// Returns the property of the same struct whose field has that name as well.
fn beside(schema: &SchemaPlan<'_>, holder: ShapeId, index: usize, name: &str) -> Option<String> {
    let Shape::Struct(object) = schema.document.shapes.get(holder) else { return None };
    let wires: Vec<&str> = object.fields.iter().map(|field| field.wire.as_str()).collect();
    let made = names::fields(&wires);
    let is_taken = |(other, made): &(usize, &String)| {
        *other != index && schema.renamed.get(&(holder, *other)).unwrap_or(made) == name
    };
    let (other, _) = made.iter().enumerate().find(is_taken)?;
    wires.get(other).map(|wire| (*wire).to_owned())
}

/// Returns a name that is an identifier as it is written, and that rustc's lints have nothing against.
fn identifier(text: &str) -> Result<&str, Nowhere> {
    let (snake, shown) = (Style::Snake.apply(text), printable(text));
    let Some(name) = module_name(text) else {
        let can_be_read = module_name(&snake).is_some() && text.chars().any(char::is_alphanumeric);
        let help = if can_be_read { format!("write `{snake}`") } else { SNAKE_CASE.to_owned() };
        return Err(Nowhere { message: format!("invalid identifier `{shown}`"), help });
    };
    let is_plain = !name.contains(char::is_uppercase) && !name.trim_matches('_').contains("__");
    if is_plain && name.chars().any(|char| char != '_') {
        return Ok(name);
    }
    Err(Nowhere { message: format!("`{shown}` is not in snake case"), help: format!("write `{snake}`") })
}
