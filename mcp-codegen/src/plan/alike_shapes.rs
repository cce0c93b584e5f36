//! Shapes in several places of a server, which could share a type.

use std::collections::{HashSet, VecDeque};

use mcp_bindgen_schema::{Class, Document, Role, Shape, ShapeId};

use super::idents::reserved;
use super::place::{Place, Step, locate, parts};
use super::schema_plan::definition;
use super::shared::{AlikeTypes, TypeAt, is_type_name};
use super::{Plan, ToolPlan, schemas};
use crate::names::Style;
use crate::options::Options;
use crate::rules::SHARED;
use crate::table::Table;

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
        let mut all = self.places(&alike);
        // Short places come first, so that parameters precede results.
        all.sort_by_cached_key(|(_, found)| (found.text.chars().count(), found.text.clone()));
        let mut groups: Table<Vec<Found<'_>>> = Table::default();
        all.into_iter().for_each(|(class, found)| groups.push(class, found));
        let mut groups = groups.values();
        groups.sort_by_cached_key(|group| group.first().map(|found| found.text.clone()));
        let lead = &self.own.type_lead;
        let mut known = [&reserved()[..], &self.own.types()].concat();
        schemas(&self.tools).iter().for_each(|schema| known.append(&mut schema.names()));
        let mut taken: HashSet<String> = known.into_iter().map(str::to_owned).collect();
        taken.extend(names.clone().values().into_iter().map(|name| format!("{lead}{name}")));
        let mut shapes = Vec::new();
        for found in &groups {
            let class = found.first().and_then(|found| alike.class(found.at));
            let name = class.and_then(|class| names.get(class)).map(|name| (*name).to_owned());
            if name.is_none() && found.len() < 2 {
                continue;
            }
            let is_free = |name: &str| is_type_name(name) && !taken.contains(&format!("{lead}{name}"));
            let suggested = name.clone().unwrap_or_else(|| self.suggestion(found, &is_free));
            taken.insert(format!("{lead}{suggested}"));
            let place = |found: &Found<'_>| AlikePlace {
                place: found.text.clone(),
                type_name: found.at.name(&self.tools).to_owned(),
            };
            let places = found.iter().map(place).collect();
            shapes.push(AlikeShapes { name, suggested, places });
        }
        shapes
    }

    /// Returns the user's names of the classes.
    fn shared_names<'o>(&self, alike: &AlikeTypes, options: &'o Options, every: &[&str]) -> Table<&'o str> {
        let class = |place: &str| {
            let located = locate(&self.tools, every, place).ok()?;
            let shape = located.found.first()?.slot.shape;
            alike.class(TypeAt { tool: located.tool, role: located.place.role, shape })
        };
        let mut names = Table::default();
        for rule in options.rules.of(SHARED) {
            class(&rule.value).into_iter().for_each(|class| names.insert(class, rule.key.as_str()));
        }
        names
    }

    /// Returns the places of all types, one for each, with their classes. If tools share a name, places refer to the
    /// first.
    fn places(&self, alike: &AlikeTypes) -> Vec<(Class, Found<'_>)> {
        let (mut all, mut named) = (Vec::new(), HashSet::new());
        for (index, tool) in self.tools.iter().enumerate() {
            if !named.insert(tool.wire) {
                continue;
            }
            for schema in tool.schemas() {
                let role = schema.document.role;
                for (shape, steps) in places(&schema.document) {
                    let (at, place) =
                        (TypeAt { tool: index, role, shape }, Place { tool: tool.wire.to_owned(), role, steps });
                    let found = Found { at, text: place.to_string(), place, tool };
                    if let Some(class) = alike.class(at).filter(|class| is_clear(&found, *class, alike)) {
                        all.push((class, found));
                    }
                }
            }
        }
        all
    }

    /// Suggests a free name: that of a definition, of the property, or of the tool.
    fn suggestion(&self, places: &[Found<'_>], is_free: &dyn Fn(&str) -> bool) -> String {
        let Some(Found { place, tool, .. }) = places.first() else { return String::new() };
        let definition =
            places.iter().find_map(|found| definition(&found.at.schema(&self.tools)?.document, found.at.shape));
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
        let plain = [base.clone(), format!("{tool}{base}"), format!("{base}Shape")];
        let numbered = (2..).map(|number: usize| format!("{tool}{base}Shape{number}"));
        plain.into_iter().chain(numbered).find(|name| is_free(name)).unwrap_or(base)
    }
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
    let mut pending: VecDeque<(ShapeId, Vec<Step>, bool)> = VecDeque::new();
    pending.push_back((document.root, Vec::new(), document.role == Role::Output));
    while let Some((id, steps, has_place)) = pending.pop_front() {
        let shape = document.shapes.get(id);
        if has_place && shape.is_named() && placed.insert(id) {
            places.push((id, steps.clone()));
        }
        if !opened.insert(id) {
            continue;
        }
        let with = |step: Step| [steps.as_slice(), &[step]].concat();
        match shape {
            // Places pass through unions, so none leads to a branch.
            Shape::Union(union) => {
                pending.extend(union.branches.iter().map(|branch| (branch.shape, steps.clone(), false)));
            }
            Shape::Named(slot) => pending.push_back((slot.shape, steps.clone(), false)),
            Shape::Struct(object) => {
                for field in object.fields_by_name() {
                    pending.push_back((field.slot.shape, with(Step::Property(field.wire.clone())), true));
                }
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
