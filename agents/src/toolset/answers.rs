//! The results of a tool as its server declares them, in a line of TypeScript for models.

use std::sync::OnceLock;

use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Field, Presence, Role, Shape, Shapes, Slot, WRAPPER_FIELD, wraps_result};
use serde_json::Value;

use crate::text::line;

/// The notations of a type go from this many levels of objects down to the names of its keys.
const DEEPEST: usize = 3;
/// The maximum number of shown keys of an object, values of an enumeration, or alternatives.
const MOST_NAMED: usize = 12;
/// Longer values of an enumeration are not written.
const LONGEST_WORD: usize = 24;

/// The `outputSchema` of a tool.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    schema: Option<Value>,
    /// From the most detailed to the shortest.
    notations: OnceLock<Vec<String>>,
}

impl Answers {
    /// Creates the answer type from a declared schema, if any.
    pub(super) fn of(schema: Option<Value>) -> Self {
        Self { schema: schema.filter(Value::is_object), notations: OnceLock::new() }
    }

    /// Returns `true` if results are in the one-field wrapper that FastMCP and the official Python SDK add to values
    /// that are not objects.
    pub(crate) fn wraps(&self) -> bool {
        self.schema.as_ref().is_some_and(wraps_result)
    }

    /// Returns the most detailed type of at most `bytes` bytes: `{id: number, labels?: string[]}`.
    pub(super) fn within(&self, bytes: usize) -> Option<&str> {
        let notations = self.notations.get_or_init(|| self.written());
        notations.iter().map(String::as_str).find(|notation| notation.len() <= bytes)
    }

    fn written(&self) -> Vec<String> {
        let Some(schema) = &self.schema else { return Vec::new() };
        let Document { shapes, root, .. } = Document::read(schema, Role::Output, &mut Reporter::new("", 0, ""));
        let wrapped = match shapes.get(root) {
            Shape::Struct(object) if self.wraps() => object.field(WRAPPER_FIELD).map(|field| field.slot),
            _ => None,
        };
        let root = wrapped.unwrap_or(Slot { shape: root, nullable: false });
        let written = (0..=DEEPEST).rev().map(|levels| notation(&shapes, root, levels, 0));
        let mut notations: Vec<String> = written.filter(|notation| says_something(notation)).collect();
        notations.dedup();
        notations
    }
}

/// Returns `true` for types that say more than that there is a result.
fn says_something(notation: &str) -> bool {
    !["unknown", "object", "{}", "string", "null"].contains(&notation)
}

/// Returns a type, with objects down to a number of levels. It is `depth` types inside of the whole.
fn notation(shapes: &Shapes, slot: Slot, levels: usize, depth: usize) -> String {
    /// Lists within lists are written so far.
    const MOST_LISTS: usize = 8;
    if depth > MOST_LISTS {
        return "unknown".to_owned();
    }
    let inner = |slot: Slot, levels: usize| notation(shapes, slot, levels, depth + 1);
    let written = match shapes.get(slot.shape) {
        Shape::Anything | Shape::Opaque => "unknown".to_owned(),
        Shape::AnyOf(kinds) => either(kinds.names().into_iter().map(|kind| match kind {
            "integer" => "number".to_owned(),
            "array" => "unknown[]".to_owned(),
            kind => kind.to_owned(),
        })),
        Shape::Null => "null".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::I64 | Shape::U64 | Shape::Number => "number".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::TextEnum(values) => literals(values.iter().map(|value| Value::from(value.as_str())), "string"),
        Shape::LiteralEnum(values) => literals(values.iter().cloned(), "unknown"),
        Shape::List(item) => match inner(*item, levels) {
            item if is_choice(&item) => format!("({item})[]"),
            item => format!("{item}[]"),
        },
        Shape::Tuple(items) => {
            let items = items.iter().take(MOST_NAMED).map(|item| inner(*item, levels));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        Shape::Prefixed(..) => "unknown[]".to_owned(),
        Shape::Map(value) => format!("Record<string, {}>", inner(*value, levels.saturating_sub(1))),
        Shape::FreeMap => "object".to_owned(),
        Shape::Struct(object) => {
            let field = |field: &Field| {
                let optional = if field.presence == Presence::Required { "" } else { "?" };
                let name = format!("{}{optional}", key(&field.wire));
                match levels.checked_sub(1) {
                    None => name,
                    Some(levels) => format!("{name}: {}", inner(field.slot, levels)),
                }
            };
            let more = (object.fields.len() > MOST_NAMED).then(|| "...".to_owned());
            let fields: Vec<String> = object.fields.iter().take(MOST_NAMED).map(field).chain(more).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Shape::Union(union) => {
            let slots = union.branches.iter().map(|branch| Slot { shape: branch.shape, nullable: false });
            either(slots.map(|slot| inner(slot, levels.saturating_sub(1))))
        }
        Shape::Named(slot) => inner(*slot, levels),
    };
    let has_null = written == "unknown" || written == "null";
    if slot.nullable && !has_null { format!("{written} | null") } else { written }
}

/// Returns `true` for alternatives that no bracket holds together.
fn is_choice(notation: &str) -> bool {
    let mut open = 0_usize;
    notation.chars().any(|character| {
        match character {
            '{' | '[' | '(' | '<' => open += 1,
            '}' | ']' | ')' | '>' => open = open.saturating_sub(1),
            _ => {}
        }
        character == '|' && open == 0
    })
}

/// Returns a key as TypeScript writes it.
fn key(name: &str) -> String {
    let is_plain = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'));
    if is_plain { name.to_owned() } else { Value::from(line(name)).to_string() }
}

fn literals(values: impl ExactSizeIterator<Item = Value>, otherwise: &str) -> String {
    let all = values.len();
    let words: Vec<String> = values.take(MOST_NAMED).map(|value| line(&value.to_string())).collect();
    if all > MOST_NAMED || words.iter().any(|word| word.len() > LONGEST_WORD) {
        return otherwise.to_owned();
    }
    words.join(" | ")
}

fn either(kinds: impl Iterator<Item = String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for kind in kinds {
        if kind == "unknown" {
            return kind;
        }
        if !different.contains(&kind) {
            different.push(kind);
        }
    }
    if different.is_empty() || different.len() > MOST_NAMED { "unknown".to_owned() } else { different.join(" | ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn within(schema: &Value, bytes: usize) -> Option<String> {
        Answers::of(Some(schema.clone())).within(bytes).map(str::to_owned)
    }

    #[test]
    fn output_types_are_written_as_typescript() {
        let issue = json!({ "type": "object", "required": ["id", "state"], "properties": {
            "id": { "type": "integer" },
            "state": { "enum": ["open", "closed"] },
            "labels": { "type": "array", "items": { "type": ["string", "null"] } },
            "user": { "type": "object", "properties": { "login": { "type": "string" }, "of": { "type": "object", "properties": { "x": {} } } } },
            "na me": { "type": "object", "additionalProperties": { "type": "number" } },
        } });
        let whole = r#"{id: number, state: "open" | "closed", labels?: (string | null)[], user?: {login?: string, of?: {x?: unknown}}, "na me"?: Record<string, number>}"#;
        assert_eq!(within(&issue, 200).as_deref(), Some(whole));
        let less = r#"{id: number, state: "open" | "closed", labels?: (string | null)[], user?: {login?, of?}, "na me"?: Record<string, number>}"#;
        assert_eq!(within(&issue, whole.len() - 20).as_deref(), Some(less));
        let names = r#"{id, state, labels?, user?, "na me"?}"#;
        assert_eq!(within(&issue, 60).as_deref(), Some(names));
        assert_eq!(within(&issue, 20), None);
        let list = json!({ "type": "object", "required": ["result"], "x-fastmcp-wrap-result": true,
            "properties": { "result": { "type": "array", "items": { "type": "integer" } } } });
        assert_eq!(within(&list, 60).as_deref(), Some("number[]"), "the wrapper is not seen");
    }

    #[test]
    fn uninformative_output_types_are_omitted() {
        for schema in [
            json!({ "type": "object" }),
            json!({ "type": "string" }),
            json!({}),
            json!({ "type": "object", "properties": {} }),
        ] {
            assert_eq!(within(&schema, 1_000), None, "{schema}");
        }
        assert_eq!(Answers::of(None).within(1_000), None);
    }

    #[test]
    fn recursive_types_are_written_finitely() {
        let node = json!({ "type": "object", "properties": { "next": { "$ref": "#" }, "n": { "type": "number" } } });
        let whole = within(&node, 1_000).unwrap();
        assert!(whole.len() < 200, "{whole}");
        let lists = json!({ "type": "object", "properties": { "l": { "$ref": "#/$defs/l" } },
            "$defs": { "l": { "type": "array", "items": { "$ref": "#/$defs/l" } } } });
        assert!(within(&lists, 1_000).unwrap().len() < 100);
    }
}
