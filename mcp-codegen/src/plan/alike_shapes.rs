//! Shapes in several places of a server, which could share a type.

use std::collections::{HashMap, HashSet, VecDeque};

use mcp_bindgen_schema::{Class, Document, Field, Role, Shape, ShapeId};

use super::alike::{AlikeTypes, TypeAt};
use super::idents::{OwnNames, reserved};
use super::place::{Place, Step, locate, parts};
use super::shared::is_type_name;
use super::{Plan, ToolPlan};
use crate::names::Style;
use crate::options::Options;
use crate::rules::Kind;

/// A shape that occurs in several places of a server's tools, or that `shared` names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlikeShapes {
    /// The name in `shared`, without the prefix.
    pub name: Option<String>,
    /// A suggested name: that of `shared`, or else a free one.
    pub suggested: String,
    /// Its places, one for each of its types; the first is the one to name in `shared`.
    pub places: Vec<AlikePlace>,
}

/// A place, and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlikePlace {
    /// The place, in the syntax of `shared`.
    pub place: String,
    /// The name of the type.
    pub type_name: String,
}

/// A place, with the data for suggesting a name of its type.
struct Found<'p> {
    at: TypeAt,
    place: Place,
    text: String,
    tool: &'p ToolPlan<'p>,
}

impl Plan<'_> {
    /// Returns the shapes that occur in several places. `every` lists the tools of the snapshot.
    pub(crate) fn alike_shapes(&self, options: &Options, every: &[&str]) -> Vec<AlikeShapes> {
        let alike = AlikeTypes::new(&self.tools);
        let names = self.shared_names(&alike, options, every);
        let mut places: HashMap<Class, Vec<Found<'_>>> = HashMap::new();
        let mut named: HashSet<&str> = HashSet::new();
        // If tools share a name, places refer to the first.
        let tools = self.tools.iter().enumerate().filter(|(_, tool)| named.insert(tool.wire));
        for found in tools.flat_map(|(index, tool)| found_in(index, tool)) {
            let class = alike.class(found.at);
            if let Some(class) = class.filter(|class| is_clear(&found, *class, &alike)) {
                places.entry(class).or_default().push(found);
            }
        }
        places.retain(|class, places| names.contains_key(class) || places.len() > 1);
        let mut groups: Vec<(Class, Vec<Found<'_>>)> = places.into_iter().collect();
        // Short places come first, so that parameters precede results.
        groups
            .iter_mut()
            .for_each(|(_, places)| places.sort_by_key(|found| (found.text.chars().count(), found.text.clone())));
        groups.sort_by_key(|(_, places)| places.first().map(|found| found.text.clone()));
        let lead = OwnNames::new(options).type_lead;
        let types = self.tools.iter().flat_map(ToolPlan::schemas).flat_map(|schema| schema.types.values());
        let own = [self.client_type.as_str(), &self.call_type];
        let taken = types.map(|named| named.name.as_str()).chain(own).chain(reserved()).map(str::to_owned);
        let mut taken: HashSet<String> = taken.chain(names.values().map(|name| format!("{lead}{name}"))).collect();
        let mut shapes = Vec::new();
        for (class, places) in groups {
            let name = names.get(&class).map(|name| (*name).to_owned());
            let is_free = |name: &String| is_type_name(name) && !taken.contains(&format!("{lead}{name}"));
            let suggested = name.clone().unwrap_or_else(|| self.suggestion(&places, is_free));
            taken.insert(format!("{lead}{suggested}"));
            let place = |found: Found<'_>| {
                let type_name = found.at.name(&self.tools).to_owned();
                AlikePlace { place: found.text, type_name }
            };
            shapes.push(AlikeShapes { name, suggested, places: places.into_iter().map(place).collect() });
        }
        shapes
    }

    /// Returns the user's names of the classes.
    fn shared_names<'o>(&self, alike: &AlikeTypes, options: &'o Options, every: &[&str]) -> HashMap<Class, &'o str> {
        let class = |place: &str| {
            let located = locate(&self.tools, every, place).ok()?;
            let shape = located.found.first()?.slot.shape;
            alike.class(TypeAt { tool: located.tool, role: located.place.role, shape })
        };
        let rules = options.rules.of(Kind::Shared);
        rules.filter_map(|rule| Some((class(&rule.value)?, rule.key.as_str()))).collect()
    }

    /// Suggests a free name: that of a definition, of the property, or of the tool.
    fn suggestion(&self, places: &[Found<'_>], is_free: impl Fn(&String) -> bool) -> String {
        let Some(Found { place, tool, .. }) = places.first() else { return String::new() };
        let definition = places.iter().find_map(|found| found.at.schema(&self.tools)?.definition(found.at.shape));
        let property = place.steps.iter().rev().find_map(|step| match step {
            Step::Property(name) => Some(Style::Pascal.apply(name)),
            Step::Each => None,
        });
        let tool = &tool.idents.variant;
        let base = match (definition, property) {
            (Some((name, _)), _) => Style::Pascal.apply(&name),
            (None, Some(name)) if place.steps.last() == Some(&Step::Each) => singular(&name),
            (None, Some(name)) => name,
            (None, None) => tool.clone(),
        };
        let numbered = (2..).map(|number: usize| format!("{tool}{base}Shape{number}"));
        let mut candidates =
            [base.clone(), format!("{tool}{base}"), format!("{base}Shape")].into_iter().chain(numbered);
        candidates.find(is_free).unwrap_or(base)
    }
}

/// Returns the places of the types of a tool, one for each.
fn found_in<'p>(index: usize, tool: &'p ToolPlan<'p>) -> impl Iterator<Item = Found<'p>> {
    tool.schemas().flat_map(move |schema| {
        let role = schema.document.role;
        places(&schema.document).into_iter().map(move |(shape, steps)| {
            let place = Place { tool: tool.wire.to_owned(), role, steps };
            Found { at: TypeAt { tool: index, role, shape }, text: place.to_string(), place, tool }
        })
    })
}

/// Returns `true` if a place can be written, and leads to the types of this class and no others.
fn is_clear(found: &Found<'_>, class: Class, alike: &AlikeTypes) -> bool {
    if found.text.parse().as_ref() != Ok(&found.place) {
        return false;
    }
    let schema = found.tool.schema(found.at.role);
    let there = schema.and_then(|schema| found.place.find(&schema.document).ok()).unwrap_or_default();
    !there.is_empty()
        && there.iter().all(|there| alike.class(TypeAt { shape: there.slot.shape, ..found.at }) == Some(class))
}

/// Returns the shortest way to each type that can be shared, whatever the order of properties.
fn places(document: &Document<'_>) -> Vec<(ShapeId, Vec<Step>)> {
    let mut places: Vec<(ShapeId, Vec<Step>)> = Vec::new();
    let (mut placed, mut opened) = (HashSet::new(), HashSet::new());
    let is_arguments = document.role == Role::Input;
    let mut pending: VecDeque<(ShapeId, Vec<Step>, bool)> =
        VecDeque::from([(document.root, Vec::new(), !is_arguments)]);
    while let Some((id, steps, has_place)) = pending.pop_front() {
        let shape = document.shapes.get(id);
        if has_place && shape.is_named() && placed.insert(id) {
            places.push((id, steps.clone()));
        }
        if !opened.insert(id) {
            continue;
        }
        let with = |step: Step| steps.iter().cloned().chain([step]).collect::<Vec<_>>();
        match shape {
            // Places pass through unions, so none leads to a branch.
            Shape::Union(union) => {
                pending.extend(union.branches.iter().map(|branch| (branch.shape, steps.clone(), false)));
            }
            Shape::Named(slot) => pending.push_back((slot.shape, steps.clone(), false)),
            Shape::Struct(object) => {
                let fields = object.fields_by_name().into_iter();
                let field = |field: &Field| (field.slot.shape, with(Step::Property(field.wire.clone())), true);
                pending.extend(fields.map(field));
            }
            _ => {}
        }
        pending.extend(parts(shape).iter().map(|slot| (slot.shape, with(Step::Each), true)));
    }
    places
}

/// Returns `Entity` for `Entities`. English has more plurals than these; it is only a suggestion.
fn singular(name: &str) -> String {
    let rest = |ending: &str| name.strip_suffix(ending).filter(|rest| !rest.is_empty());
    if let Some(rest) = rest("ies").filter(|rest| rest.len() > 1) {
        return format!("{rest}y");
    }
    if let Some(rest) = rest("sses").or_else(|| rest("xes")).or_else(|| rest("ches")).or_else(|| rest("shes")) {
        return name.get(..name.len() - 2).unwrap_or(rest).to_owned();
    }
    match rest("s") {
        Some(rest) if !rest.ends_with(['s', 'u', 'i']) => rest.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_have_a_singular() {
        for (plural, one) in [
            ("Entities", "Entity"),
            ("Relations", "Relation"),
            ("Boxes", "Box"),
            ("Branches", "Branch"),
            ("Classes", "Class"),
            ("Status", "Status"),
            ("Address", "Address"),
            ("Data", "Data"),
            ("S", "S"),
            ("Ties", "Tie"),
        ] {
            assert_eq!(singular(plural), one);
        }
    }
}
