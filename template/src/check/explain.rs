//! Messages about invalid arguments.

use mcp_bindgen_schema::{Shape, ShapeId, Slot, StructShape, listed, shortened};
use serde_json::Value;

use super::accepts::{Acceptance, is_complete, tag};
use super::tools::Tool;
use crate::ast::{Action, Argument, Part, Term};
use crate::fault::{Fault, Place, meant};

/// The maximum number of listed values to show, and of characters of each.
const LISTED: usize = 8;
const LONGEST: usize = 40;

impl Tool {
    /// Checks the arguments of an action, and returns the errors in the order of the text.
    #[must_use]
    pub fn check(&self, action: &Action, place: Place) -> Vec<Fault> {
        let mut faults = self.whole(action, place);
        faults.sort_by_key(|fault| fault.place);
        faults
    }

    fn whole(&self, action: &Action, place: Place) -> Vec<Fault> {
        let leaves = self.arguments().leaves(&[self.arguments().whole()]);
        match leaves.as_slice() {
            [only] => match self.arguments().shapes.get(*only) {
                Shape::Struct(object) => self.object(object, &action.arguments, place),
                Shape::Map(slot) => {
                    action.arguments.iter().filter_map(|argument| self.argument(argument, *slot)).collect()
                }
                _ => Vec::new(),
            },
            several => self.choice(several, action, place),
        }
    }

    fn object(&self, object: &StructShape, arguments: &[Argument], place: Place) -> Vec<Fault> {
        let mut faults = Vec::new();
        let has = |key: &str| arguments.iter().any(|argument| argument.name == key);
        if let Some(missing) = self.missing(object, has) {
            faults.push(Fault::new(place, format!("`{}` needs {missing}", self.prefixed())));
        }
        for argument in arguments {
            let slot = match object.slot(&argument.name) {
                Some(slot) => slot,
                None if object.tag.as_ref() == Some(&argument.name) => continue,
                None => {
                    let hint = if object.fields.is_empty() {
                        ": it has no arguments".to_owned()
                    } else {
                        meant(&argument.name, names(object))
                    };
                    let message = format!("`{}` takes no `{}`{hint}", self.prefixed(), argument.name);
                    faults.push(Fault::new(argument.place, message));
                    continue;
                }
            };
            faults.extend(self.argument(argument, slot));
        }
        faults
    }

    fn argument(&self, argument: &Argument, slot: Slot) -> Option<Fault> {
        let message =
            self.value(&argument.value, slot, &argument.name, &mut Acceptance::new(&self.arguments().shapes))?;
        Some(Fault::new(argument.place, message))
    }

    /// Explains the arguments of a tool that takes one of several objects.
    fn choice(&self, leaves: &[ShapeId], action: &Action, place: Place) -> Vec<Fault> {
        let fields = action.arguments.iter().map(|argument| (argument.name.clone(), argument.value.clone())).collect();
        let whole = Term::Object(fields);
        let root = self.arguments().whole();
        if Acceptance::new(&self.arguments().shapes).slot(&whole, root) {
            return Vec::new();
        }
        let objects = || {
            leaves.iter().filter_map(|id| match self.arguments().shapes.get(*id) {
                Shape::Struct(object) => Some(object),
                _ => None,
            })
        };
        if let Some(Shape::Struct(object)) =
            self.meant_branch(&whole, root.shape).map(|id| self.arguments().shapes.get(id))
        {
            let faults = self.object(object, &action.arguments, place);
            if !faults.is_empty() {
                return faults;
            }
        }
        let known =
            |key: &str| objects().any(|object| object.tag.as_deref() == Some(key) || object.slot(key).is_some());
        let unknown: Vec<Fault> = action
            .arguments
            .iter()
            .filter(|argument| !known(&argument.name))
            .map(|argument| {
                let hint = meant(&argument.name, objects().flat_map(names));
                let message = format!("`{}` takes no `{}`{hint}", self.prefixed(), argument.name);
                Fault::new(argument.place, message)
            })
            .collect();
        if unknown.is_empty() {
            vec![Fault::new(
                place,
                format!("`{}` takes one of several sets of arguments, and these match none of them", self.prefixed()),
            )]
        } else {
            unknown
        }
    }

    /// Returns the fault in a value, if there is one; `path` is its position.
    fn value(&self, term: &Term, slot: Slot, path: &str, acceptance: &mut Acceptance<'_>) -> Option<String> {
        if acceptance.slot(term, slot) {
            return None;
        }
        let branch = self.meant_branch(term, slot.shape);
        let shape = branch.map(|id| self.arguments().shapes.get(id));
        let inner = match (shape, term) {
            (Some(shape), Term::List(items)) if shape.has_length(items.len()) => {
                items.iter().enumerate().find_map(|(index, term)| {
                    self.value(term, shape.item(index)?, &format!("{path}[{index}]"), acceptance)
                })
            }
            (Some(Shape::Map(value)), Term::Object(fields)) => {
                fields.iter().find_map(|(key, term)| self.value(term, *value, &format!("{path}.{key}"), acceptance))
            }
            (Some(Shape::Struct(object)), Term::Object(fields)) => self.members(object, fields, path, acceptance),
            _ => None,
        };
        Some(inner.unwrap_or_else(|| self.mismatch(term, slot, path)))
    }

    fn members(
        &self,
        object: &StructShape,
        fields: &[(String, Term)],
        path: &str,
        acceptance: &mut Acceptance<'_>,
    ) -> Option<String> {
        let has = |key: &str| fields.iter().any(|(name, _)| name == key);
        let wrong = fields.iter().find_map(|(key, term)| {
            if acceptance.member(object, key, term) {
                return None;
            }
            match object.slot(key) {
                Some(slot) => self.value(term, slot, &format!("{path}.{key}"), acceptance),
                None => Some(format!("`{path}` takes no `{key}`{}", meant(key, names(object)))),
            }
        });
        wrong.or_else(|| self.missing(object, has).map(|missing| format!("`{path}` needs {missing}")))
    }

    fn missing(&self, object: &StructShape, has: impl Fn(&str) -> bool) -> Option<String> {
        if is_complete(object, &has) {
            return None;
        }
        let missing: Vec<String> = object
            .required
            .iter()
            .chain(object.tag.iter().filter(|tag| !object.required.contains(tag)))
            .filter(|key| !has(key))
            .map(|key| match object.field(key) {
                Some(field) => format!("`{key}`: {}", self.expects(field.slot)),
                None => format!("`{key}`"),
            })
            .collect();
        if !missing.is_empty() {
            return Some(missing.join(", and "));
        }
        let sets = object.require_any.iter().find(|sets| !sets.iter().any(|set| set.iter().all(|key| has(key))))?;
        let named = |set: &Vec<String>| set.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" with ");
        Some(sets.iter().map(named).collect::<Vec<_>>().join(" or "))
    }

    /// Returns the only shape that the author can have meant.
    fn meant_branch(&self, term: &Term, shape: ShapeId) -> Option<ShapeId> {
        let shapes = &self.arguments().shapes;
        if let Shape::Union(union) = shapes.get(shape)
            && let Some(tag) = tag(union, term)
        {
            return union.branches.iter().find(|branch| branch.tag.as_ref() == Some(&tag)).map(|branch| branch.shape);
        }
        let leaves = self.arguments().leaves(&[Slot { shape, nullable: false }]);
        let mut of_kind = leaves.into_iter().filter(|id| match shapes.get(*id) {
            shape if shape.is_array() => matches!(term, Term::List(_)),
            Shape::Map(_) | Shape::Struct(_) => matches!(term, Term::Object(_)),
            _ => false,
        });
        let first = of_kind.next();
        if of_kind.next().is_some() { None } else { first }
    }

    fn mismatch(&self, term: &Term, slot: Slot, path: &str) -> String {
        let listed: Vec<&str> = self
            .arguments()
            .leaves(&[slot])
            .into_iter()
            .filter_map(|id| match self.arguments().shapes.get(id) {
                Shape::TextEnum(names) => Some(names),
                _ => None,
            })
            .flatten()
            .map(String::as_str)
            .collect();
        let hint = match term {
            Term::Text(text) => text.plain().map_or_else(String::new, |text| meant(text, listed)),
            Term::Literal(Value::Null) => "; leave it out".to_owned(),
            _ => String::new(),
        };
        format!("`{path}` of `{}` is {}, not {}{hint}", self.prefixed(), self.expects(slot), shown(term))
    }

    fn expects(&self, slot: Slot) -> String {
        let mut expected: Vec<String> =
            self.arguments().leaves(&[slot]).into_iter().map(|id| expected(self.arguments().shapes.get(id))).collect();
        if slot.nullable {
            expected.push("null".to_owned());
        }
        let mut known = std::collections::HashSet::new();
        expected.retain(|name| known.insert(name.clone()));
        expected.join(" or ")
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
