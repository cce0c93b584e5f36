//! Places in the arguments and results of tools, as users write them: `create_issue` is a tool, `create_issue/labels`
//! an argument, `create_issue/$output/number` a property of its structured result, and `*` means the items of an
//! array or the values of a map: `create_entities/entities/*/name`.
//!
//! In a name `~1` is `/` and `~0` is `~`, as in JSON Pointer; a property that is called `*` or `$output` is written `~*` and
//! `~$output`.

use std::fmt;
use std::str::FromStr;

use mcp_bindgen_model::{nearest, pointer_segment, printable};
use mcp_bindgen_schema::{Document, Role, Shape, ShapeId, Slot, StructShape, Unknown};

use super::ToolPlan;
use crate::table::distinct;

/// The step into a tool's structured result.
const OUTPUT: &str = "$output";
/// The step into every item of an array, and every value of a map.
const EACH: &str = "*";

/// A place in the arguments or the result of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The wire name of the tool.
    pub(crate) tool: String,
    /// The role of the place: arguments or result.
    pub(crate) role: Role,
    /// The way from the whole value.
    pub(crate) steps: Vec<Step>,
}

/// One step from a value into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// The property of this name.
    Property(String),
    /// Every item, or every value of a map.
    Each,
}

/// A shape at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The struct that declares the property, and which of its fields it is; `None` for whole values, items and values of maps.
    pub(crate) field: Option<(ShapeId, usize)>,
    /// The slot of the place.
    pub(crate) slot: Slot,
}

/// The shapes at a place.
pub(crate) struct Located {
    pub(crate) place: Place,
    /// Which of the plan's tools it is in.
    pub(crate) tool: usize,
    /// The shapes, in the document of the place's role; never empty.
    pub(crate) found: Vec<Found>,
}

/// The end of a place that leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// How many steps lead somewhere.
    followed: usize,
    /// The steps that there are instead of the next one, as they are written.
    known: Vec<String>,
}

/// Why a place leads nowhere, and what to do about it.
pub(crate) struct Nowhere {
    pub(crate) message: String,
    pub(crate) help: String,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('/').peekable();
        let tool = unescaped(parts.next().unwrap_or_default())?;
        if tool.is_empty() {
            return Err("it must begin with a tool name".to_owned());
        }
        let role = if parts.next_if_eq(&OUTPUT).is_some() { Role::Output } else { Role::Input };
        let step = |part: &str| Ok(if part == EACH { Step::Each } else { Step::Property(unescaped(part)?) });
        Ok(Self { tool, role, steps: parts.map(step).collect::<Result<_, String>>()? })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&escaped(&self.tool))?;
        if self.role == Role::Output {
            write!(formatter, "/{OUTPUT}")?;
        }
        self.steps.iter().try_for_each(|step| write!(formatter, "/{step}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Property(name) => formatter.write_str(&escaped(name)),
            Self::Each => formatter.write_str(EACH),
        }
    }
}

/// Returns a name as it is written in a place.
fn escaped(name: &str) -> String {
    let mark = if name == EACH || name == OUTPUT { "~" } else { "" };
    format!("{mark}{}", pointer_segment(name))
}

fn unescaped(part: &str) -> Result<String, String> {
    let mut name = String::with_capacity(part.len());
    let mut chars = part.chars();
    while let Some(char) = chars.next() {
        name.push(match (char, if char == '~' { chars.next() } else { None }) {
            ('~', Some('0')) => '~',
            ('~', Some('1')) => '/',
            ('~', Some(literal @ ('*' | '$'))) => literal,
            ('~', _) => return Err("expected `0` for `~`, `1` for `/`, `*` or `$` after `~`".to_owned()),
            (other, _) => other,
        });
    }
    Ok(name)
}

impl Place {
    /// Returns `true` if it is a tool, and nothing in it.
    pub(crate) fn is_tool(&self) -> bool {
        self.role == Role::Input && self.steps.is_empty()
    }

    /// Returns the shapes at the place in the document of its tool and role: in a union, those of every branch.
    pub(crate) fn find(&self, document: &Document<'_>) -> Result<Vec<Found>, Lost> {
        let mut here = vec![Found { field: None, slot: Slot { shape: document.root, nullable: false } }];
        for (followed, step) in self.steps.iter().enumerate() {
            let shapes: Vec<ShapeId> = here.iter().map(|found| found.slot.shape).collect();
            let holders = document.shapes.leaves(&shapes);
            let mut next = Vec::new();
            for found in holders.iter().flat_map(|holder| below(document, *holder, step)) {
                if !next.contains(&found) {
                    next.push(found);
                }
            }
            if next.is_empty() {
                let mut known = Vec::new();
                for shape in holders.iter().map(|holder| document.shapes.get(*holder)) {
                    if let Shape::Struct(object) = shape {
                        known.extend(object.fields.iter().map(|field| escaped(&field.wire)));
                    }
                    known.extend((!parts(shape).is_empty()).then(|| EACH.to_owned()));
                }
                return Err(Lost { followed, known: distinct(known) });
            }
            here = next;
        }
        Ok(here)
    }
}

fn below(document: &Document<'_>, holder: ShapeId, step: &Step) -> Vec<Found> {
    match (step, document.shapes.get(holder)) {
        (Step::Property(name), Shape::Struct(object)) => {
            let fields = object.fields.iter().enumerate().filter(|(_, field)| field.wire == *name);
            fields.map(|(index, field)| Found { field: Some((holder, index)), slot: field.slot }).collect()
        }
        (Step::Property(_), _) => Vec::new(),
        (Step::Each, shape) => parts(shape).into_iter().map(|slot| Found { field: None, slot }).collect(),
    }
}

/// Returns the items of an array, or the values of a map.
pub(super) fn parts(shape: &Shape) -> Vec<Slot> {
    match shape {
        Shape::List(slot) | Shape::Map(slot) | Shape::Struct(StructShape { unknown: Unknown::Keep(slot), .. }) => {
            vec![*slot]
        }
        Shape::Tuple(slots) => slots.clone(),
        Shape::Prefixed(slots, rest) => [slots.as_slice(), rest.as_slice()].concat(),
        _ => Vec::new(),
    }
}

/// Finds a place. `every` names the tools of the snapshot, bound or not.
pub(crate) fn locate(tools: &[ToolPlan<'_>], every: &[&str], text: &str) -> Result<Located, Nowhere> {
    let shown = printable(text);
    let place: Place = text.parse().map_err(|reason| Nowhere {
        message: format!("invalid place `{shown}`: {reason}"),
        help: "expected `TOOL`, `TOOL/PROPERTY/*/PROPERTY` or `TOOL/$output/PROPERTY`".to_owned(),
    })?;
    let Some((index, tool)) = tools.iter().enumerate().find(|(_, tool)| tool.wire == place.tool) else {
        return Err(no_tool(&place, text, every));
    };
    let Some(schema) = tool.schema(place.role) else {
        return Err(Nowhere {
            message: format!("`{shown}` not found: tool `{}` declares no `outputSchema`", printable(tool.wire)),
            help: "its result has no types of its own".to_owned(),
        });
    };
    match place.find(&schema.document) {
        Ok(found) => Ok(Located { place, tool: index, found }),
        Err(lost) => Err(no_place(&place, &lost)),
    }
}

fn no_tool(place: &Place, text: &str, every: &[&str]) -> Nowhere {
    let (tool, shown) = (printable(&place.tool), printable(text));
    if every.contains(&place.tool.as_str()) {
        return Nowhere {
            message: format!("`{shown}` not found: tool `{tool}` is not bound"),
            help: "it is excluded by `tools` or `exclude`".to_owned(),
        };
    }
    let whole = every
        .iter()
        .find(|name| text.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    let help = match (whole, nearest(&place.tool, every.iter().copied()).first()) {
        (Some(name), _) => format!("the tool `{}` is written `{}` here", printable(name), printable(&escaped(name))),
        (None, Some(near)) => format!("did you mean `{}`?", printable(&escaped(near))),
        (None, None) => "`mcp-bindgen list` shows the tools of a snapshot".to_owned(),
    };
    Nowhere { message: format!("`{shown}` not found: unknown tool `{tool}`"), help }
}

fn no_place(place: &Place, Lost { followed, known }: &Lost) -> Nowhere {
    let step = place.steps.get(*followed).map(ToString::to_string).unwrap_or_default();
    let mut before = place.clone();
    before.steps.truncate(*followed);
    let (place, before) = (printable(&place.to_string()), printable(&before.to_string()));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = nearest(&step, known.iter().copied());
    let help = match (near.is_empty(), known.is_empty()) {
        (false, _) => format!("did you mean {}?", listed(&near, near.len())),
        (true, false) => format!("there is {}", listed(&known, MOST_NAMED)),
        (true, true) => "it has no named parts".to_owned(),
    };
    Nowhere { message: format!("`{place}` not found: no `{}` in `{before}`", printable(&step)), help }
}

/// Lists at most `most` names.
pub(super) fn listed(names: &[&str], most: usize) -> String {
    let shown: Vec<String> = names.iter().take(most).map(|name| format!("`{}`", printable(name))).collect();
    format!("{}{}", shown.join(", "), if names.len() > most { ", .." } else { "" })
}

/// The maximum number of listed names if no name is near.
const MOST_NAMED: usize = 12;

#[cfg(test)]
mod tests {
    use mcp_bindgen_schema::diagnostics::Reporter;
    use serde_json::{Value, json};

    use super::*;

    fn property(name: &str) -> Step {
        Step::Property(name.to_owned())
    }

    #[test]
    fn places_parse_and_round_trip() {
        for (text, tool, role, steps) in [
            ("create_issue", "create_issue", Role::Input, vec![]),
            ("create_issue/labels", "create_issue", Role::Input, vec![property("labels")]),
            ("a/list/*/name", "a", Role::Input, vec![property("list"), Step::Each, property("name")]),
            ("a/$output", "a", Role::Output, vec![]),
            ("a/$output/*/x", "a", Role::Output, vec![Step::Each, property("x")]),
            ("a/x/$output", "a", Role::Input, vec![property("x"), property("$output")]),
            ("a/~$output", "a", Role::Input, vec![property("$output")]),
            ("repo~1create/~*", "repo/create", Role::Input, vec![property("*")]),
            ("a/x~0y/*z", "a", Role::Input, vec![property("x~y"), property("*z")]),
            ("a/", "a", Role::Input, vec![property("")]),
        ] {
            let place: Place = text.parse().unwrap();
            assert_eq!(place, Place { tool: tool.to_owned(), role, steps }, "{text}");
            assert_eq!(place.to_string().parse(), Ok(place), "{text}");
        }
        for text in ["", "/labels", "a/~2", "a/~"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }

    fn found(schema: &Value, place: &str) -> Result<Vec<Option<(String, bool)>>, Lost> {
        let document = Document::read(schema, Role::Input, &mut Reporter::new("t", 0, "/inputSchema"));
        let wire = |(holder, index): (ShapeId, usize)| match document.shapes.get(holder) {
            Shape::Struct(object) => (object.fields[index].wire.clone(), object.tag.is_some()),
            other => panic!("{other:?}"),
        };
        let found = place.parse::<Place>().unwrap().find(&document)?;
        Ok(found.into_iter().map(|found| found.field.map(wire)).collect())
    }

    #[test]
    fn places_resolve_through_arrays_maps_references_and_unions() {
        let schema = json!({
            "type": "object",
            "properties": {
                "entities": {"type": "array", "items": {"$ref": "#/$defs/Entity"}},
                "by_name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Entity"}},
                "shape": {"oneOf": [
                    {"type": "object", "properties": {"kind": {"const": "a"}, "size": {}}, "required": ["kind"]},
                    {"type": "object", "properties": {"kind": {"const": "b"}, "size": {}}, "required": ["kind"]},
                    {"type": "null"},
                ]},
            },
            "$defs": {"Entity": {
                "type": ["object", "null"],
                "properties": {"name": {}, "parent": {"$ref": "#/$defs/Entity"}},
            }},
        });
        let field = |name: &str, tagged| Some((name.to_owned(), tagged));
        assert_eq!(found(&schema, "t"), Ok(vec![None]));
        assert_eq!(found(&schema, "t/entities/*"), Ok(vec![None]));
        assert_eq!(found(&schema, "t/entities/*/name"), Ok(vec![field("name", false)]));
        assert_eq!(found(&schema, "t/by_name/*/parent/parent/name"), Ok(vec![field("name", false)]));
        assert_eq!(found(&schema, "t/shape/size"), Ok(vec![field("size", true); 2]));
        let lost = |followed, known: &[&str]| {
            Err(Lost { followed, known: known.iter().map(|step| (*step).to_owned()).collect() })
        };
        assert_eq!(found(&schema, "t/entities/name"), lost(1, &["*"]));
        assert_eq!(found(&schema, "t/entity"), lost(0, &["by_name", "entities", "shape"]));
        assert_eq!(found(&schema, "t/entities/*/name/x"), lost(3, &[]));
    }
}
