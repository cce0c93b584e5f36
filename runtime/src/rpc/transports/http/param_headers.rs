//! `x-mcp-header`: arguments that HTTP servers of protocol 2026-07-28 want mirrored in `Mcp-Param-*` headers.

use std::collections::HashMap;
use std::slice;
use std::sync::Mutex;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::ground::sync::lock;

const ANNOTATION: &str = "x-mcp-header";
/// The keywords whose members are schemas by name.
const NAMED_SCHEMAS: [&str; 5] = ["properties", "$defs", "definitions", "dependentSchemas", "patternProperties"];

/// The headers of a tool, with the paths of the arguments that they mirror.
type Mirrored = HashMap<HeaderName, Vec<String>>;

/// The annotations of the tools that are known on one connection.
#[derive(Default)]
pub(crate) struct ParamHeaders(Mutex<HashMap<String, Mirrored>>);

impl ParamHeaders {
    /// Records the annotations of a tool.
    ///
    /// # Errors
    /// Fails with the fault in them: such a tool must not be offered over HTTP.
    pub(crate) fn learn(&self, tool: &str, input_schema: &Value) -> Result<(), String> {
        let mut mirrored = Mirrored::new();
        collect(input_schema, Some(&[]), &mut mirrored)?;
        lock(&self.0).insert(tool.to_owned(), mirrored);
        Ok(())
    }

    /// Returns the headers that a call carries.
    pub(crate) fn of_call(&self, tool: &str, arguments: &Value) -> HeaderMap {
        let tools = lock(&self.0);
        let header = |(header, path): (&HeaderName, &Vec<String>)| {
            let argument = path.iter().try_fold(arguments, |value, key| value.get(key))?;
            Some((header.clone(), header_value(argument)?))
        };
        tools.get(tool).into_iter().flatten().filter_map(header).collect()
    }
}

fn header_value(argument: &Value) -> Option<HeaderValue> {
    let text = match argument {
        Value::String(text) => encode(text),
        Value::Bool(_) | Value::Number(_) => argument.to_string(),
        _ => return None,
    };
    HeaderValue::from_str(&text).ok()
}

/// Encodes a value in base64 if a header cannot carry it unchanged.
pub(super) fn encode(text: &str) -> String {
    let padded = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let unprintable = text.chars().any(|c| !(' '..='~').contains(&c));
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if padded || unprintable || looks_encoded {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    } else {
        text.to_owned()
    }
}

/// Collects the annotations of a schema; `path` is set while only `properties` lead here from the root.
fn collect(schema: &Value, path: Option<&[String]>, found: &mut Mirrored) -> Result<(), String> {
    let keywords = match schema {
        Value::Object(keywords) => keywords,
        Value::Array(items) => return items.iter().try_for_each(|item| collect(item, None, found)),
        _ => return Ok(()),
    };
    if let Some(name) = keywords.get(ANNOTATION) {
        let path =
            path.filter(|path| !path.is_empty()).ok_or_else(|| format!("`{ANNOTATION}` is not on an argument"))?;
        let header = header_name(name, keywords, &path.join("."))?;
        if found.insert(header.clone(), path.to_vec()).is_some() {
            return Err(format!("two arguments use the header `{header}`"));
        }
    }
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("default" | "const" | "enum" | "examples", _) => {}
            (_, Value::Object(schemas)) if NAMED_SCHEMAS.contains(&keyword.as_str()) => {
                let path = path.filter(|_| keyword == "properties");
                for (name, schema) in schemas {
                    let path = path.map(|path| [path, slice::from_ref(name)].concat());
                    collect(schema, path.as_deref(), found)?;
                }
            }
            _ => collect(value, None, found)?,
        }
    }
    Ok(())
}

fn header_name(name: &Value, schema: &Map<String, Value>, at: &str) -> Result<HeaderName, String> {
    if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return Err(format!("`{ANNOTATION}` of `{at}` requires a string, an integer or a boolean"));
    }
    name.as_str()
        .filter(|name| !name.is_empty())
        .and_then(|name| HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes()).ok())
        .ok_or_else(|| format!("`{ANNOTATION}` of `{at}` is not a header name: {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn headers(schema: Value, arguments: Value) -> Vec<(String, String)> {
        let known = ParamHeaders::default();
        known.learn("t", &schema).expect("valid annotations");
        let headers = known.of_call("t", &arguments);
        headers.iter().map(|(k, v)| (k.to_string(), v.to_str().expect("visible").to_owned())).collect()
    }

    #[test]
    fn annotated_arguments_become_headers_at_any_depth() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "page": {"type": "object", "properties": {"size": {"type": "integer", "x-mcp-header": "Size"}}},
            "absent": {"type": "string", "x-mcp-header": "Absent"}
        }});
        let mut found = headers(schema, json!({"region": "é", "page": {"size": 5}, "absent": null}));
        found.sort();
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        assert_eq!(found, [pair("mcp-param-region", "=?base64?w6k=?="), pair("mcp-param-size", "5")]);
    }

    #[test]
    fn annotation_outside_the_arguments_is_an_error() {
        let annotated = json!({"type": "string", "x-mcp-header": "Region"});
        for name in ["region", "default"] {
            let schema = json!({"$defs": {name: annotated}});
            assert!(ParamHeaders::default().learn("t", &schema).is_err(), "{name}");
        }
    }

    #[test]
    fn header_values_outside_ascii_are_encoded_in_base64() {
        assert_eq!(encode("plain text"), "plain text");
        assert_eq!(encode(" padded"), "=?base64?IHBhZGRlZA==?=");
        assert_eq!(encode("a\r\nb"), "=?base64?YQ0KYg==?=");
        assert_eq!(encode("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
        for unchanged in ["", "=?base64?x", "x?="] {
            assert_eq!(encode(unchanged), unchanged);
        }
    }

    #[test]
    fn invalid_annotations_are_refused() {
        let refused = [
            json!({"x-mcp-header": "Root"}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": 5}}}),
            json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "object", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}}),
            json!({"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}}),
            json!({"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]}),
            json!({"$defs": {"a": {"type": "string", "x-mcp-header": "A"}}}),
        ];
        for schema in refused {
            assert!(ParamHeaders::default().learn("t", &schema).is_err(), "{schema}");
        }
        let data = json!({"properties": {"a": {"default": {"x-mcp-header": "A"}}}});
        assert_eq!(headers(data, json!({"a": "text"})), []);
    }
}
