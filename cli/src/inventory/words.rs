//! Descriptions of parameters and values, from shapes: schemas with the same meaning have the same description.

use std::cell::Cell;
use std::collections::HashSet;

use mcp_bindgen_model::{TemplateVariable, UriTemplate};
use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Field, Presence, Role, Shape, ShapeId, Shapes, Slot, StructShape};
use serde_json::Value;

use super::Parameter;
use crate::flags::prompt_schema;

/// Objects deeper inside are not spelt out.
const DEEPEST: usize = 2;
/// The maximum number of listed enumeration values, object properties or union branches.
const MOST_NAMED: usize = 8;
/// The maximum depth of values; deeper ones are a cycle of definitions without an object.
const LONGEST_CHAIN: usize = 6;
/// The maximum number of values in the description of a parameter or a result: definitions that refer to each other
/// several times have exponentially many.
const MOST_VALUES: usize = 1_000;

/// Returns the properties of a tool's arguments, those that are required first.
pub(super) fn of_tool(input: &Document<'_>) -> Vec<Parameter> {
    let mut parameters = declared(input);
    // Sorting keeps the order of the schema within both groups.
    parameters.sort_by_key(|parameter| !parameter.required);
    parameters
}

/// Returns the arguments of a prompt.
pub(super) fn of_prompt(prompt: &Value) -> Vec<Parameter> {
    declared(&Document::read(&prompt_schema(prompt), Role::Input, &mut Reporter::new("", 0, "")))
}

/// Returns the variables of a template; empty if it is invalid.
pub(super) fn of_template(template: &str) -> Vec<Parameter> {
    let parameter = |variable: TemplateVariable| Parameter {
        kind: if variable.is_list { "string, or list of strings" } else { "string" }.to_owned(),
        required: variable.is_required,
        name: variable.name,
        description: None,
    };
    let variables = UriTemplate::parse(template).map(|template| template.variables()).unwrap_or_default();
    variables.into_iter().map(parameter).collect()
}

/// Describes the structured result of a tool.
pub(super) fn of_result(output: &Document<'_>) -> String {
    Words::new(&output.shapes).shape(output.root, 0)
}

/// Returns the properties in the order of the schema.
fn declared(input: &Document<'_>) -> Vec<Parameter> {
    let Shape::Struct(object) = input.shapes.get(input.root) else { return Vec::new() };
    let parameter = |field: &Field| Parameter {
        name: field.wire.clone(),
        kind: Words::new(&input.shapes).slot(field.slot, 0),
        required: field.presence == Presence::Required,
        description: description(input, field),
    };
    object.fields.iter().map(parameter).collect()
}

/// Returns the description by the first of the schemas of a property.
fn description(document: &Document<'_>, field: &Field) -> Option<String> {
    let sources = field.schemas.iter().flat_map(|schema| document.schemas.described_by(*schema));
    let sources: Vec<_> = sources.collect();
    let said = |key: &str| {
        let mut texts = sources.iter().filter_map(|source| source.get(key)?.as_str().map(str::trim));
        texts.find(|text| !text.is_empty()).map(str::to_owned)
    };
    said("description").or_else(|| said("title").filter(|title| !title.eq_ignore_ascii_case(&field.wire)))
}

/// Describes values of one schema, such as `list of strings or null`.
struct Words<'s> {
    shapes: &'s Shapes,
    /// The number of values that are still described.
    left: Cell<usize>,
}

impl<'s> Words<'s> {
    fn new(shapes: &'s Shapes) -> Self {
        Self { shapes, left: Cell::new(MOST_VALUES) }
    }

    fn slot(&self, slot: Slot, depth: usize) -> String {
        let words = self.shape(slot.shape, depth);
        let says_null = matches!(self.shapes.get(slot.shape), Shape::Anything | Shape::Null);
        if slot.nullable && !says_null { format!("{words} or null") } else { words }
    }

    fn shape(&self, id: ShapeId, depth: usize) -> String {
        self.left.set(self.left.get().saturating_sub(1));
        if depth > LONGEST_CHAIN || self.left.get() == 0 {
            return "any value".to_owned();
        }
        match self.shapes.get(id) {
            Shape::Anything => "any value".to_owned(),
            Shape::AnyOf(kinds) => either(kinds.names().into_iter().map(str::to_owned).collect()),
            Shape::Null => "null".to_owned(),
            Shape::Boolean => "boolean".to_owned(),
            Shape::I64 => "integer".to_owned(),
            Shape::U64 => "integer from 0".to_owned(),
            Shape::Number => "number".to_owned(),
            Shape::Text => "string".to_owned(),
            Shape::TextEnum(values) => one_of(values.iter().map(|value| Value::from(value.as_str()).to_string())),
            Shape::LiteralEnum(values) => one_of(values.iter().map(Value::to_string)),
            Shape::List(item) => format!("list of {}", self.many(*item, depth)),
            Shape::Tuple(items) => format!("list of exactly ({})", self.each(items, depth)),
            Shape::Prefixed(items, rest) => {
                let rest = rest.map(|rest| format!(", then {}", self.many(rest, depth))).unwrap_or_default();
                format!("list that begins with ({}){rest}", self.each(items, depth))
            }
            Shape::Map(value) => format!("object of {} by any key", self.many(*value, depth)),
            Shape::FreeMap => "object".to_owned(),
            Shape::Struct(object) => self.object(object, depth),
            Shape::Union(union) => {
                let branches = union.branches.iter().take_while(|_| self.left.get() > 0);
                either(branches.map(|branch| self.shape(branch.shape, depth + 1)).collect())
            }
            // One that is not the outermost is on a cycle, or deep inside.
            Shape::Named(inner) => self.slot(*inner, depth + depth.min(1)),
            Shape::Opaque => "a type of the program's".to_owned(),
        }
    }

    /// Returns the plural form.
    fn many(&self, slot: Slot, depth: usize) -> String {
        let words = self.slot(slot, depth + 1);
        match words.as_str() {
            "string" | "boolean" | "integer" | "number" | "object" => format!("{words}s"),
            "any value" => "any values".to_owned(),
            _ if words.contains(" or ") => format!("({words})"),
            _ => words,
        }
    }

    /// Lists the first items of an array.
    fn each(&self, items: &[Slot], depth: usize) -> String {
        let items: Vec<String> = items.iter().take(MOST_NAMED).map(|item| self.slot(*item, depth + 1)).collect();
        items.join(", ")
    }

    /// Formats an object such as `object {owner, repo, labels?}`.
    fn object(&self, object: &StructShape, depth: usize) -> String {
        if depth >= DEEPEST || object.fields.is_empty() {
            return "object".to_owned();
        }
        let name = |field: &Field| {
            let optional = if field.presence == Presence::Required { "" } else { "?" };
            match self.shape(field.slot.shape, DEEPEST).as_str() {
                kind if kind == "string" || kind.len() > 24 => format!("{}{optional}", field.wire),
                kind => format!("{}{optional}: {kind}", field.wire),
            }
        };
        format!("object {{{}}}", first(object.fields.iter().map(name), ", "))
    }
}

/// Joins the first values, and counts the others.
fn first(values: impl ExactSizeIterator<Item = String>, separator: &str) -> String {
    let more = values.len().saturating_sub(MOST_NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    values.take(MOST_NAMED).chain(more).collect::<Vec<_>>().join(separator)
}

fn one_of(mut values: impl ExactSizeIterator<Item = String>) -> String {
    match values.len() {
        1 => values.next().unwrap_or_default(),
        _ => format!("one of {}", first(values, ", ")),
    }
}

fn either(mut kinds: Vec<String>) -> String {
    let mut seen = HashSet::new();
    kinds.retain(|kind| seen.insert(kind.clone()));
    if kinds.is_empty() { "any value".to_owned() } else { first(kinds.into_iter(), " or ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(schema: &Value) -> String {
        let schema = json!({"type": "object", "properties": {"p": schema}});
        let mut reporter = Reporter::new("tool", 0, "/inputSchema");
        let document = Document::read(&schema, Role::Input, &mut reporter);
        let Shape::Struct(object) = document.shapes.get(document.root) else { panic!("an object") };
        Words::new(&document.shapes).slot(object.fields[0].slot, 0)
    }

    #[test]
    fn schemas_are_described_in_words() {
        for (schema, expected) in [
            (json!({"type": "string"}), "string"),
            (json!({"type": ["string", "null"]}), "string or null"),
            (json!({"type": "array", "items": {"type": "string"}}), "list of strings"),
            (json!({"type": "array", "items": {"type": ["string", "integer"]}}), "list of (integer or string)"),
            (json!({"enum": ["open", "closed"]}), r#"one of "open", "closed""#),
            (json!({"const": 3}), "3"),
            (json!({"type": "integer", "minimum": 0}), "integer from 0"),
            (json!({"type": "object"}), "object"),
            (json!({"type": "object", "additionalProperties": {"type": "number"}}), "object of numbers by any key"),
            (json!({}), "any value"),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}),
                "object {a, b?: integer}",
            ),
        ] {
            assert_eq!(words(&schema), expected, "{schema}");
        }
        let many: Vec<String> = (0..20).map(|n| format!("v{n}")).collect();
        assert!(words(&json!({"enum": many})).ends_with("12 more"));
    }

    #[test]
    fn recursive_schema_description_is_finite() {
        let node =
            json!({"type": "object", "properties": {"next": {"$ref": "#/properties/p"}, "n": {"type": "number"}}});
        assert_eq!(words(&node), "object {next?: object, n?: number}");
        let list = words(&json!({"type": "array", "items": {"$ref": "#/properties/p"}}));
        assert_eq!(list, "list of list of list of list of any values");
    }

    #[test]
    fn description_of_exponentially_many_values_is_bounded() {
        let item = json!({"$ref": "#/properties/p"});
        let tuple = |length: usize| json!({"type": "array", "prefixItems": vec![&item; length], "minItems": length, "items": false});
        let lists: Vec<Value> = (1..20).map(tuple).collect();
        let text = words(&json!({"anyOf": lists}));
        assert!(text.len() < 20_000, "{}", text.len());
        // Other parameters are described all the same.
        let schema = json!({"type": "object", "properties": {"p": {"anyOf": lists}, "q": {"type": "string"}}});
        let parameters = declared(&Document::read(&schema, Role::Input, &mut Reporter::new("tool", 0, "/inputSchema")));
        assert_eq!(parameters[1].kind, "string");
    }
}
