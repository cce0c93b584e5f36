//! The user's rules, held against the plan.

use std::rc::Rc;

use mcp_model::{Types, UnknownKeys, printable};
use mcp_schema::{Role, Shape};

use super::ToolPlan;
use super::alike::TypeAt;
use super::derives::{self, Derives};
use super::located::{Located, Nowhere, locate};
use super::shared::Sharing;
use super::tool_idents::{METHODS, methods};
use crate::names::{Style, module_name};
use crate::options::Options;
use crate::place::Place;
use crate::rules::{Rule, RuleFault};

/// The rules of `extern` and `shared`, which are about the generator's own types.
pub(super) fn of_types(options: &Options) -> (&[Rule], &[Rule]) {
    match options.types {
        Types::Native => (&options.rules.extern_types, &options.rules.shared),
        _ => (&[], &[]),
    }
}

/// What `rename` calls the tools, by their place in the list of keys.
pub(super) fn tool_names(options: &Options, keys: &[&str], faults: &mut Vec<RuleFault>) -> Vec<Option<String>> {
    let mut names: Vec<Option<String>> = vec![None; keys.len()];
    let mut given: Vec<(usize, &Rule)> = Vec::new();
    for rule in &options.rules.rename {
        let Some(index) = tool_of(rule).and_then(|tool| keys.iter().position(|key| *key == tool)) else { continue };
        match identifier(&rule.value) {
            Ok(name) if METHODS.contains(&name) => {
                let message = format!("in `rename`: `{name}` is a method that every client has");
                faults.push(rule.fault_of_value(message, "choose another name"));
            }
            Ok(name) => {
                if let Some(slot) = names.get_mut(index) {
                    *slot = Some(name.to_owned());
                    given.push((index, rule));
                }
            }
            Err(nowhere) => faults.push(rule.fault_of_value(nowhere.message, nowhere.help)),
        }
    }
    if given.is_empty() {
        return names;
    }
    let as_written = vec![None; keys.len()];
    let own = methods(keys, &as_written);
    for (index, rule) in given {
        let name = names.get(index).cloned().flatten();
        let others = names.iter().zip(&own).zip(keys).enumerate().filter(|(other, _)| *other != index);
        let taken =
            others.map(|(_, other)| other).find(|((renamed, own), _)| renamed.as_ref().or(Some(own)) == name.as_ref());
        if let Some((_, key)) = taken {
            let message =
                format!("in `rename`: `{}` is what tool `{}` is called", printable(&rule.value), printable(key));
            faults.push(rule.fault_of_value(message, "choose another name"));
            if let Some(slot) = names.get_mut(index) {
                *slot = None;
            }
        }
    }
    names
}

/// The tool that a rule gives another name.
fn tool_of(rule: &Rule) -> Option<String> {
    let place: Place = rule.key.parse().ok()?;
    (place.role == Role::Input && place.steps.is_empty()).then_some(place.tool)
}

/// Renames fields; gives every rule that cannot hold.
pub(super) fn apply(
    options: &Options,
    tools: &mut [ToolPlan<'_>],
    sharing: &Sharing,
    every: &[&str],
    faults: &mut Vec<RuleFault>,
) {
    let rules = &options.rules;
    for rule in &rules.rename {
        let renamed = match locate(tools, every, &rule.key) {
            Ok(located) if located.place.role == Role::Input && located.place.steps.is_empty() => Ok(()),
            Ok(located) => rename_field(rule, &located, tools, sharing),
            Err(Nowhere { message, help }) => Err(rule.fault_of_key(format!("in `rename`: {message}"), help)),
        };
        faults.extend(renamed.err());
    }
    faults.extend(derives::faults(&rules.derive, tools));
    let asked = Rc::new(Derives::new(&rules.derive));
    for schema in tools.iter_mut().flat_map(ToolPlan::schemas_mut) {
        schema.derives = Rc::clone(&asked);
    }
    if options.types == Types::Typify {
        faults.extend(without_effect(options));
    }
}

fn rename_field(
    rule: &Rule,
    located: &Located,
    tools: &mut [ToolPlan<'_>],
    sharing: &Sharing,
) -> Result<(), RuleFault> {
    let fields: Vec<_> = located.found.iter().filter_map(|found| found.field).collect();
    if fields.is_empty() {
        let message = format!("in `rename`: there is no field at `{}`", printable(&rule.key));
        return Err(rule.fault_of_key(message, "name a tool, or a property: `TOOL/PROPERTY`, `TOOL/$output/PROPERTY`"));
    }
    let name =
        identifier(&rule.value).map_err(|nowhere| rule.fault_of_value(nowhere.message, nowhere.help))?.to_owned();
    let holder = |shape| TypeAt { tool: located.tool, role: located.place.role, shape };
    for (shape, index) in fields {
        let Some(wire) = field(tools, holder(shape), |place, _| place == index).map(|(_, wire)| wire) else { continue };
        // A shared type has its field renamed wherever it stands.
        for at in sharing.likes(holder(shape)) {
            let Some((index, _)) = field(tools, at, |_, other| other == wire) else { continue };
            let Some(schema) = at.schema_mut(tools) else { continue };
            let Shape::Struct(object) = schema.document.shapes.get(at.shape) else { continue };
            let others = schema.field_names(at.shape, object).into_iter().zip(&object.fields).enumerate();
            let taken = others.filter(|(other, _)| *other != index).find(|(_, (other, _))| *other == name);
            if let Some((_, (_, field))) = taken {
                let message =
                    format!("in `rename`: `{name}` is the field of property `{}` beside it", printable(&field.wire));
                return Err(rule.fault_of_value(message, "choose another name"));
            }
            if let Some(earlier) = schema.renamed.get(&(at.shape, index)).filter(|earlier| **earlier != name) {
                let message = format!(
                    "in `rename`: `{}` is the same field as another place, where it is `{earlier}`",
                    printable(&rule.key)
                );
                let help = "it is one type, which stands in both places: give it one name";
                return Err(rule.fault_of_value(message, help));
            }
            schema.renamed.insert((at.shape, index), name.clone());
        }
    }
    Ok(())
}

/// The field of a struct whose place and property fit, and its property.
fn field(tools: &[ToolPlan<'_>], at: TypeAt, fits: impl Fn(usize, &str) -> bool) -> Option<(usize, String)> {
    let Shape::Struct(object) = at.schema(tools)?.document.shapes.get(at.shape) else { return None };
    let fields = object.fields.iter().map(|field| &field.wire).enumerate();
    fields.filter(|(place, wire)| fits(*place, wire)).map(|(place, wire)| (place, wire.clone())).next()
}

/// A name that is an identifier as it is written, and that rustc's lints have nothing against.
fn identifier(text: &str) -> Result<&str, Nowhere> {
    let snake = Style::Snake.apply(text);
    let Some(name) = module_name(text) else {
        return Err(Nowhere {
            message: format!("in `rename`: `{}` cannot be an identifier", printable(text)),
            help: if module_name(&snake).is_some() && text.chars().any(char::is_alphanumeric) {
                format!("write `{snake}`")
            } else {
                "write a name in snake case: letters, digits and `_`".to_owned()
            },
        });
    };
    if name.contains(char::is_uppercase)
        || name.trim_matches('_').contains("__")
        || name.chars().all(|char| char == '_')
    {
        return Err(Nowhere {
            message: format!("in `rename`: `{}` is not in snake case", printable(text)),
            help: format!("write `{snake}`"),
        });
    }
    Ok(name)
}

/// What typify's types do not do, of what is asked.
fn without_effect(options: &Options) -> Vec<RuleFault> {
    let rules = &options.rules;
    let says = |key: &str| format!("`{key}` has no effect with `types = \"typify\"`");
    let help = "leave one of the two out";
    let fields = rules.rename.iter().filter(|rule| tool_of(rule).is_none()).map(|rule| (rule, "rename"));
    let others = [(&rules.derive, "derive"), (&rules.extern_types, "extern"), (&rules.shared, "shared")];
    let others = others.into_iter().flat_map(|(rules, key)| rules.iter().map(move |rule| (rule, key)));
    let mut faults: Vec<RuleFault> =
        fields.chain(others).map(|(rule, key)| rule.fault_of_key(says(key), help)).collect();
    if options.unknown == UnknownKeys::Keep {
        faults.push(RuleFault::of_options(says("unknown"), help));
    }
    faults
}
