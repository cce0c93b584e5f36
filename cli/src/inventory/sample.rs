//! An example of a call on the command line, with the required arguments.

use std::cell::Cell;
use std::collections::HashSet;

use mcp_bindgen_schema::{Document, Field, Presence, Shape, ShapeId, Shapes, StructShape};
use serde_json::{Map, Value, json};

use crate::text::command_line;

/// Objects deeper inside are left empty.
const DEEPEST: usize = 6;
/// The maximum number of values; others are left out. Required properties that refer to each other have exponentially
/// many.
const MOST_VALUES: usize = 1_000;

/// Returns a command such as `mcp-bindgen call github create_issue --args '{"title":"TITLE"}'`.
pub(super) fn command(server: &str, tool: &str, input: &Document<'_>) -> String {
    let sample = Sample { shapes: &input.shapes, left: Cell::new(MOST_VALUES) }.shape(input.root, "VALUE", 0);
    let is_empty = sample.as_object().is_some_and(Map::is_empty);
    let json = sample.to_string();
    let arguments = if is_empty { Vec::new() } else { vec!["--args", &json] };
    // After `--` a name that begins with a dash is not an option.
    let words = match tool.starts_with('-') {
        true => [&["mcp-bindgen", "call"], &*arguments, &["--", server, tool]].concat(),
        false => [&["mcp-bindgen", "call", server, tool], &*arguments].concat(),
    };
    command_line(words)
}

struct Sample<'s> {
    shapes: &'s Shapes,
    /// The number of values that are still created.
    left: Cell<usize>,
}

impl Sample<'_> {
    fn shape(&self, id: ShapeId, name: &str, depth: usize) -> Value {
        self.left.set(self.left.get().saturating_sub(1));
        if depth > DEEPEST {
            return Value::Null;
        }
        match self.shapes.get(id) {
            Shape::Anything | Shape::Opaque | Shape::Text => placeholder(name),
            Shape::AnyOf(kinds) => match kinds.names().first().copied() {
                Some("boolean") => json!(true),
                Some("number") => json!(1),
                Some("array") => json!([]),
                Some("object") => json!({}),
                Some("null") => Value::Null,
                _ => placeholder(name),
            },
            Shape::Null => Value::Null,
            Shape::Boolean => json!(true),
            Shape::I64 | Shape::U64 | Shape::Number => json!(1),
            Shape::TextEnum(values) => values.first().map_or(Value::Null, |value| json!(value)),
            Shape::LiteralEnum(values) => values.first().cloned().unwrap_or_default(),
            Shape::List(item) => json!([self.shape(item.shape, name, depth + 1)]),
            Shape::Tuple(items) | Shape::Prefixed(items, _) => {
                let items = items.iter().take_while(|_| self.has_room());
                items.map(|item| self.shape(item.shape, name, depth + 1)).collect()
            }
            Shape::Map(_) | Shape::FreeMap => json!({}),
            Shape::Struct(object) => self.object(object, depth),
            Shape::Union(union) => {
                let Some(branch) = union.branches.first() else { return Value::Null };
                let value = self.shape(branch.shape, name, depth + 1);
                match (value, &union.tag, &branch.tag) {
                    (Value::Object(mut object), Some(key), Some(tag)) => {
                        let tag = if key.is_text { json!(tag) } else { serde_json::from_str(tag).unwrap_or_default() };
                        object.insert(key.name.clone(), tag);
                        Value::Object(object)
                    }
                    (value, ..) => value,
                }
            }
            Shape::Named(inner) => self.shape(inner.shape, name, depth + 1),
        }
    }

    /// Creates an object with the required properties. If one of several sets must be complete, the first is included.
    fn object(&self, object: &StructShape, depth: usize) -> Value {
        let demanded: HashSet<&String> = object.require_any.iter().filter_map(|sets| sets.first()).flatten().collect();
        let is_wanted = |field: &&Field| field.presence == Presence::Required || demanded.contains(&field.wire);
        let wanted = object.fields.iter().filter(is_wanted).take_while(|_| self.has_room());
        wanted.map(|field| (field.wire.as_str(), self.shape(field.slot.shape, &field.wire, depth + 1))).collect()
    }

    fn has_room(&self) -> bool {
        self.left.get() > 0
    }
}

/// Returns a text that says what to put in its place.
fn placeholder(name: &str) -> Value {
    Value::from(name.to_uppercase())
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_schema::Role;
    use mcp_bindgen_schema::diagnostics::Reporter;

    use super::*;

    #[test]
    fn sample_call_sets_the_required_arguments() {
        let call = |tool: &str, schema: &Value| {
            command("gh", tool, &Document::read(schema, Role::Input, &mut Reporter::new(tool, 0, "/inputSchema")))
        };
        let schema = json!({"type": "object", "required": ["title", "n"], "properties": {
            "title": {"type": "string"}, "n": {"type": "array", "items": {"type": "integer"}}, "more": {"type": "string"}}});
        assert_eq!(call("new", &schema), r#"mcp-bindgen call gh new --args '{"title":"TITLE","n":[1]}'"#);
        assert_eq!(call("it's", &json!({"type": "object"})), r"mcp-bindgen call gh 'it'\''s'");
        assert_eq!(call("-x", &json!({"type": "object"})), "mcp-bindgen call -- gh -x");
        let tagged = json!({"type": "object", "required": ["p"], "properties": {"p": {"oneOf": [
            {"type": "object", "required": ["kind", "x"], "properties": {"kind": {"const": "a"}, "x": {"type": "boolean"}}},
            {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "b"}}}]}}});
        assert!(
            call("t", &tagged).contains(r#""x":true"#) && call("t", &tagged).contains(r#""kind":"a""#),
            "{}",
            call("t", &tagged)
        );
    }

    #[test]
    fn sample_of_exponentially_many_values_is_short() {
        let names: Vec<String> = (0..30).map(|n| format!("p{n}")).collect();
        let properties: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({"$ref": "#"}))).collect();
        let schema = json!({"type": "object", "required": names, "properties": properties});
        let document = Document::read(&schema, Role::Input, &mut Reporter::new("t", 0, "/inputSchema"));
        assert!(command("s", "t", &document).len() < 50_000);
    }
}
