//! Messages about invalid arguments.

use mcp_bindgen_schema::{Kinds, Shape, ShapeId, Slot, StructShape, listed, shortened};
use serde_json::Value;

use super::accepts::{Acceptance, absent, has, tag, unmet};
use super::tools::{Arguments, Tool};
use crate::ast::{Action, Part, Term};
use crate::fault::{Fault, MOST_FAULTS, Place, meant};

/// The maximum number of listed values to show, and of characters of each.
const LISTED: usize = 8;
const LONGEST: usize = 40;

impl Tool {
    /// Checks the arguments of an action, and returns the errors in the order of the text.
    #[must_use]
    pub fn check(&self, action: &Action, place: Place) -> Vec<Fault> {
        let fields = action.arguments.iter().map(|argument| (argument.name.clone(), argument.value.clone())).collect();
        let arguments = self.arguments();
        let mut explaining =
            Explaining { tool: self.prefixed(), arguments, acceptance: Acceptance::new(&arguments.shapes) };
        let place_of = |argument: Option<usize>| Some(action.arguments.get(argument?)?.place);
        let faults = explaining.whole(&Term::Object(fields)).into_iter();
        let mut faults: Vec<Fault> =
            faults.map(|(argument, message)| Fault::new(place_of(argument).unwrap_or(place), message)).collect();
        faults.sort_by_key(|fault| fault.place);
        faults
    }
}

/// The faults of an object: each with the number of its member, if it is in one.
type Faults = Vec<(Option<usize>, String)>;

struct Explaining<'t> {
    tool: &'t str,
    arguments: &'t Arguments,
    acceptance: Acceptance<'t>,
}

impl<'t> Explaining<'t> {
    /// Returns the faults of all arguments. A tool without an object schema takes any.
    fn whole(&mut self, whole: &Term) -> Faults {
        let root = self.arguments.whole();
        let Term::Object(fields) = whole else { return Vec::new() };
        if self.acceptance.slot(whole, root) {
            return Vec::new();
        }
        let meant_shape = self.meant_branch(whole, root.shape);
        let faults = meant_shape.map(|shape| self.members(shape, fields, None)).unwrap_or_default();
        let shapes: Vec<&Shape> = self.shapes(root).collect();
        if !faults.is_empty() || !shapes.iter().any(|shape| shape.kinds().has(Kinds::OBJECT)) {
            return faults;
        }
        let objects = || {
            shapes.iter().filter_map(|shape| match shape {
                Shape::Struct(object) => Some(object),
                _ => None,
            })
        };
        let is_known =
            |key: &str| objects().any(|object| object.tag.as_deref() == Some(key) || object.slot(key).is_some());
        let unknown = fields.iter().enumerate().filter(|(_, (key, _))| !is_known(key)).map(|(at, (key, _))| {
            let hint = meant(key, objects().flat_map(names));
            (Some(at), format!("`{}` takes no `{key}`{hint}", self.tool))
        });
        let unknown: Faults = unknown.take(MOST_FAULTS).collect();
        if !unknown.is_empty() {
            return unknown;
        }
        let message = "takes one of several sets of arguments, and these match none of them";
        vec![(None, format!("`{}` {message}", self.tool))]
    }

    /// Returns the faults in the members of an object; `path` is its position, unless it is all arguments.
    fn members(&mut self, shape: &Shape, fields: &[(String, Term)], path: Option<&str>) -> Faults {
        let subject = path.unwrap_or(self.tool);
        let mut faults = Vec::new();
        for (at, (key, term)) in fields.iter().enumerate() {
            let message = match shape {
                _ if faults.len() >= MOST_FAULTS => break,
                Shape::Struct(object) if object.tag.as_ref() == Some(key) => None,
                Shape::Struct(object) if object.slot(key).is_none() => Some(match path {
                    None if object.fields.is_empty() => format!("`{subject}` takes no `{key}`: it has no arguments"),
                    _ => format!("`{subject}` takes no `{key}`{}", meant(key, names(object))),
                }),
                _ => member(shape, key).and_then(|slot| {
                    let path = path.map_or_else(|| key.clone(), |path| format!("{path}.{key}"));
                    self.value(term, slot, &path)
                }),
            };
            faults.extend(message.map(|message| (Some(at), message)));
        }
        if let Shape::Struct(object) = shape {
            let missing = self.missing(object, fields).map(|missing| format!("`{subject}` needs {missing}"));
            faults.extend(missing.map(|message| (None, message)));
        }
        faults
    }

    /// Returns the fault in a value, if there is one; `path` is its position.
    fn value(&mut self, term: &Term, slot: Slot, path: &str) -> Option<String> {
        if self.acceptance.slot(term, slot) {
            return None;
        }
        let inner = match (self.meant_branch(term, slot.shape), term) {
            (Some(shape), Term::List(items)) if shape.has_length(items.len()) => items
                .iter()
                .enumerate()
                .find_map(|(index, term)| self.value(term, shape.item(index)?, &format!("{path}[{index}]"))),
            (Some(shape), Term::Object(fields)) => {
                self.members(shape, fields, Some(path)).into_iter().next().map(|(_, message)| message)
            }
            _ => None,
        };
        Some(inner.unwrap_or_else(|| self.mismatch(term, slot, path)))
    }

    fn missing(&self, object: &StructShape, fields: &[(String, Term)]) -> Option<String> {
        let has = has(fields);
        let absent = absent(object, &has).into_iter().map(|key| match object.field(key) {
            Some(field) => format!("`{key}`: {}", self.expects(field.slot)),
            None => format!("`{key}`"),
        });
        let absent: Vec<String> = absent.collect();
        if !absent.is_empty() {
            return Some(absent.join(", and "));
        }
        let named = |set: &Vec<String>| set.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" with ");
        Some(unmet(object, &has)?.iter().map(named).collect::<Vec<_>>().join(" or "))
    }

    /// Returns the only shape that the author can have meant.
    fn meant_branch(&self, term: &Term, shape: ShapeId) -> Option<&'t Shape> {
        let shapes = &self.arguments.shapes;
        if let Shape::Union(union) = shapes.get(shape)
            && let Some(tag) = tag(union, term)
        {
            let mut branches = union.branches.iter();
            return branches.find(|branch| branch.tag.as_ref() == Some(&tag)).map(|branch| shapes.get(branch.shape));
        }
        let mut of_kind = self.shapes(Slot { shape, nullable: false }).filter(|shape| match shape {
            Shape::Map(_) | Shape::Struct(_) => matches!(term, Term::Object(_)),
            shape => shape.is_array() && matches!(term, Term::List(_)),
        });
        of_kind.next().filter(|_| of_kind.next().is_none())
    }

    /// Returns each possible shape of a value, without unions and names.
    fn shapes(&self, slot: Slot) -> impl Iterator<Item = &'t Shape> + use<'t> {
        self.arguments.leaves(&[slot]).into_iter()
    }

    fn mismatch(&self, term: &Term, slot: Slot, path: &str) -> String {
        let hint = match term {
            Term::Text(text) => {
                let listed = self.shapes(slot).filter_map(|shape| match shape {
                    Shape::TextEnum(names) => Some(names),
                    _ => None,
                });
                text.plain().map(|text| meant(text, listed.flatten().map(String::as_str))).unwrap_or_default()
            }
            Term::Literal(Value::Null) => "; leave it out".to_owned(),
            _ => String::new(),
        };
        format!("`{path}` of `{}` is {}, not {}{hint}", self.tool, self.expects(slot), shown(term))
    }

    fn expects(&self, slot: Slot) -> String {
        let null = slot.nullable.then(|| "null".to_owned());
        let mut known = std::collections::HashSet::new();
        let mut expected: Vec<String> = self.shapes(slot).map(expected).chain(null).collect();
        expected.retain(|name| known.insert(name.clone()));
        expected.join(" or ")
    }
}

/// Returns the slot of a member of an object.
fn member(shape: &Shape, key: &str) -> Option<Slot> {
    match shape {
        Shape::Struct(object) => object.slot(key),
        Shape::Map(slot) => Some(*slot),
        _ => None,
    }
}

/// Returns the declared properties, for hints.
fn names(object: &StructShape) -> impl Iterator<Item = &str> {
    object.fields.iter().map(|field| field.wire.as_str())
}

fn expected(shape: &Shape) -> String {
    let name = match shape {
        Shape::Null => "null",
        Shape::Boolean => "true or false",
        Shape::I64 => "an integer",
        Shape::U64 => "a non-negative integer",
        Shape::Number => "a number",
        Shape::Text => "a text",
        Shape::List(_) | Shape::Prefixed(_, Some(_)) => "a list",
        Shape::Prefixed(items, None) => return format!("a list of at most {}", items.len()),
        Shape::Tuple(items) => return format!("a list of {}", items.len()),
        Shape::Map(_) | Shape::FreeMap | Shape::Struct(_) => "an object",
        Shape::TextEnum(names) => return one_of(names.iter().map(|name| Value::from(name.as_str()))),
        Shape::LiteralEnum(values) => return one_of(values.iter().cloned()),
        Shape::AnyOf(kinds) => return format!("of type {}", kinds.names().join(" or ")),
        Shape::Anything | Shape::Opaque | Shape::Named(_) | Shape::Union(_) => "a value",
    };
    name.to_owned()
}

fn one_of(values: impl Iterator<Item = Value>) -> String {
    format!("one of {}", listed(values.map(|value| cut(&value.to_string())), LISTED))
}

/// Returns a term in a message.
fn shown(term: &Term) -> String {
    match term {
        Term::Literal(value) => value.to_string(),
        Term::Text(text) => {
            let whole: String = text
                .parts
                .iter()
                .map(|part| match part {
                    Part::Literal(literal) => literal.clone(),
                    Part::Expression(code) => format!("{{{{ {code} }}}}"),
                })
                .collect();
            format!("the text {}", cut(&Value::from(whole).to_string()))
        }
        Term::Variable(code) => format!("`{}`", cut(code)),
        Term::List(items) => format!("a list of {}", items.len()),
        Term::Object(_) => "such an object".to_owned(),
    }
}

fn cut(text: &str) -> String {
    shortened(text, LONGEST)
}
