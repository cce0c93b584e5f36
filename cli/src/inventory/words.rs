//! Descriptions of values, from shapes: schemas with the same meaning have the same description.

use mcp_bindgen_schema::{Document, Field, Presence, Shape, ShapeId, Shapes, Slot, StructShape};
use serde_json::Value;

/// Values deeper inside are not spelt out.
const DEEPEST: usize = 2;
/// The maximum number of listed enumeration values, object properties or union branches.
const MOST_NAMED: usize = 8;
/// The maximum depth of values; deeper ones are a cycle of definitions without an object.
const LONGEST_CHAIN: usize = 8;

/// Describes a value in this place: `list of strings or null`.
pub(super) fn of_slot(shapes: &Shapes, slot: Slot) -> String {
    Words { shapes }.slot(slot, 0, 0)
}

/// Describes the whole value of a schema.
pub(super) fn of_root(document: &Document<'_>) -> String {
    Words { shapes: &document.shapes }.shape(document.root, 0, 0)
}

/// Returns the description by the first of the schemas of a property.
pub(super) fn description(document: &Document<'_>, field: &Field) -> Option<String> {
    let sources = field.schemas.iter().flat_map(|schema| document.schemas.described_by(*schema));
    let sources: Vec<_> = sources.collect();
    let said = |key: &str| {
        let mut texts = sources.iter().filter_map(|source| source.get(key)?.as_str().map(str::trim));
        texts.find(|text| !text.is_empty()).map(str::to_owned)
    };
    said("description").or_else(|| said("title").filter(|title| !title.eq_ignore_ascii_case(&field.wire)))
}

struct Words<'s> {
    shapes: &'s Shapes,
}

impl Words<'_> {
    fn slot(&self, slot: Slot, depth: usize, chain: usize) -> String {
        let words = self.shape(slot.shape, depth, chain);
        let says_null = matches!(self.shapes.get(slot.shape), Shape::Anything | Shape::Null);
        if slot.nullable && !says_null { format!("{words} or null") } else { words }
    }

    fn shape(&self, id: ShapeId, depth: usize, chain: usize) -> String {
        if chain > LONGEST_CHAIN {
            return "any value".to_owned();
        }
        let chain = chain + 1;
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
            Shape::List(item) => format!("list of {}", self.many(*item, depth, chain)),
            Shape::Tuple(items) => {
                let items = items.iter().take(MOST_NAMED).map(|item| self.slot(*item, depth + 1, chain));
                format!("list of exactly ({})", items.collect::<Vec<_>>().join(", "))
            }
            Shape::Prefixed(items, rest) => {
                let items = items.iter().take(MOST_NAMED).map(|item| self.slot(*item, depth + 1, chain));
                let items = items.collect::<Vec<_>>().join(", ");
                let rest = rest.map(|rest| format!(", then {}", self.many(rest, depth, chain))).unwrap_or_default();
                format!("list that begins with ({items}){rest}")
            }
            Shape::Map(value) => format!("object of {} by any key", self.many(*value, depth, chain)),
            Shape::FreeMap => "object".to_owned(),
            Shape::Struct(object) => self.object(object, depth, chain),
            Shape::Union(union) => {
                let branches = union.branches.iter().map(|branch| self.shape(branch.shape, depth + 1, chain));
                either(branches.collect())
            }
            Shape::Named(inner) => self.slot(*inner, depth, chain),
            Shape::Opaque => "a type of the program's".to_owned(),
        }
    }

    /// Returns the plural form.
    fn many(&self, slot: Slot, depth: usize, chain: usize) -> String {
        let words = self.slot(slot, depth + 1, chain);
        match words.as_str() {
            "string" | "boolean" | "integer" | "number" | "object" => format!("{words}s"),
            "any value" => "any values".to_owned(),
            _ if words.contains(" or ") => format!("({words})"),
            _ => words,
        }
    }

    /// Formats an object such as `object {owner, repo, labels?}`.
    fn object(&self, object: &StructShape, depth: usize, chain: usize) -> String {
        if depth >= DEEPEST || object.fields.is_empty() {
            return "object".to_owned();
        }
        let name = |field: &Field| {
            let optional = if field.presence == Presence::Required { "" } else { "?" };
            match self.shape(field.slot.shape, DEEPEST, chain).as_str() {
                "string" => format!("{}{optional}", field.wire),
                kind if kind.len() > 24 => format!("{}{optional}", field.wire),
                kind => format!("{}{optional}: {kind}", field.wire),
            }
        };
        let mut fields: Vec<String> = object.fields.iter().take(MOST_NAMED).map(name).collect();
        more(&mut fields, object.fields.len());
        format!("object {{{}}}", fields.join(", "))
    }
}

/// Values of a list that are not all named are counted.
fn more(named: &mut Vec<String>, all: usize) {
    if all > named.len() {
        named.push(format!("{} more", all - named.len()));
    }
}

fn one_of(values: impl ExactSizeIterator<Item = String>) -> String {
    let all = values.len();
    let mut named: Vec<String> = values.take(MOST_NAMED).collect();
    if let [only] = named.as_slice() {
        return only.clone();
    }
    more(&mut named, all);
    format!("one of {}", named.join(", "))
}

fn either(kinds: Vec<String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for kind in kinds {
        if !different.contains(&kind) {
            different.push(kind);
        }
    }
    let all = different.len();
    different.truncate(MOST_NAMED);
    more(&mut different, all);
    if different.is_empty() { "any value".to_owned() } else { different.join(" or ") }
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_schema::Role;
    use mcp_bindgen_schema::diagnostics::Reporter;
    use serde_json::json;

    use super::*;

    fn words(schema: &Value) -> String {
        let schema = json!({"type": "object", "properties": {"p": schema}});
        let mut reporter = Reporter::new("tool", 0, "/inputSchema");
        let document = Document::read(&schema, Role::Input, &mut reporter);
        let Shape::Struct(object) = document.shapes.get(document.root) else { panic!("an object") };
        of_slot(&document.shapes, object.fields[0].slot)
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
        assert!(list.starts_with("list of list of") && list.ends_with("any values") && list.len() < 100, "{list}");
    }
}
