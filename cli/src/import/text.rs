//! The files of hosts, JSON with comments and TOML, as one kind of value.

use std::ffi::OsStr;
use std::path::Path;

use jsonc_parser::ast;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use mcp_bindgen_model::FileError;
use serde_json::{Map, Value};
use toml_edit::DocumentMut;

/// Parses TOML, or JSON with comments and trailing commas. An empty file is an empty object. Also returns the keys that
/// are there twice, of which hosts take the last one.
///
/// # Errors
/// Fails with line and column, and without any content of the file.
pub(super) fn parse(path: &Path, text: &str) -> Result<(Map<String, Value>, Vec<String>), FileError> {
    let mut twice = Vec::new();
    let parsed = match path.extension().and_then(OsStr::to_str) {
        Some("toml") => toml(text),
        Some("yaml" | "yml") => {
            Err(FileError::new("YAML files are not supported").with_help("add its servers with `mcp-bindgen add`"))
        }
        _ => json(text, &mut twice),
    };
    match parsed.map_err(|error| error.in_file(path))? {
        Value::Object(root) => Ok((root, twice)),
        _ => Err(FileError::new("the file is not a JSON object").in_file(path).at(1, 1)),
    }
}

fn json(text: &str, twice: &mut Vec<String>) -> Result<Value, FileError> {
    let lenient = ParseOptions { allow_missing_commas: false, ..ParseOptions::default() };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &lenient).map_err(|error| {
        let message = format!("not valid JSON: {}", error.kind().to_string().to_lowercase());
        error_at(text, error.range().start, message)
    })?;
    Ok(parsed.value.map_or_else(|| Map::new().into(), |value| from_json(value, twice)))
}

fn from_json(value: ast::Value<'_>, twice: &mut Vec<String>) -> Value {
    match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => literal.value.into(),
        ast::Value::NumberLit(literal) => {
            serde_json::from_str(literal.value).unwrap_or_else(|_| Value::String(literal.value.to_owned()))
        }
        ast::Value::StringLit(literal) => Value::String(literal.value.into_owned()),
        ast::Value::Array(array) => array.elements.into_iter().map(|element| from_json(element, twice)).collect(),
        ast::Value::Object(object) => {
            let mut map = Map::new();
            for property in object.properties {
                let key = property.name.into_string();
                if map.insert(key.clone(), from_json(property.value, twice)).is_some() {
                    twice.push(key);
                }
            }
            Value::Object(map)
        }
    }
}

fn toml(text: &str) -> Result<Value, FileError> {
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        // The parser's message repeats the line, which may contain a secret.
        error_at(text, error.span().map_or(0, |span| span.start), "not valid TOML".to_owned())
    })?;
    Ok(from_toml(&document.into_table().into_inline_table().into()))
}

fn from_toml(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(date) => date.value().to_string().into(),
        toml_edit::Value::Array(array) => array.iter().map(from_toml).collect(),
        toml_edit::Value::InlineTable(table) => table.iter().map(|(key, value)| (key, from_toml(value))).collect(),
    }
}

/// Creates an error with the line and column of an offset, both from 1; columns count characters.
fn error_at(text: &str, at: usize, message: String) -> FileError {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    FileError::new(message).at(before.matches('\n').count() + 1, line.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<(String, Vec<String>), FileError> {
        parse(name.as_ref(), text).map(|(root, twice)| (Value::Object(root).to_string(), twice))
    }

    #[test]
    fn host_files_are_parsed_with_comments_and_trailing_commas() {
        let text = "// ours\n{\"a\": [1, 2.5, true, null,], /* two */ \"b\": {\"c\": \"d\",}, \"b\": \"x\",}\n";
        let (root, twice) = read("x.json", text).unwrap();
        assert_eq!(root, r#"{"a":[1,2.5,true,null],"b":"x"}"#);
        assert_eq!(twice, ["b"]);
        assert_eq!(read("x.json", "// nothing\n").unwrap().0, "{}");
        let (root, _) = read("x.toml", "a = [1, 2.5]\n[b.c]\nd = 1979-05-27\n[[e]]\nf = true\n").unwrap();
        assert_eq!(root, r#"{"a":[1,2.5],"b":{"c":{"d":"1979-05-27"}},"e":[{"f":true}]}"#);
    }

    #[test]
    fn malformed_host_file_error_has_a_position_and_no_content() {
        for (name, text, place) in [
            ("x.json", "{\n  \"token\": \"ghp_x\"\n  \"b\": 1}", Some((2, 19))),
            ("x.json", "[\"ghp_x\"]", Some((1, 1))),
            ("x.json", "{\"a\": ghp_x}", Some((1, 7))),
            ("x.toml", "a = 1\ntoken = ghp_x\n", Some((2, 9))),
        ] {
            let error = read(name, text).err().unwrap();
            assert_eq!(error.position, place, "{error}");
            assert!(!error.to_string().contains("ghp_x"), "{error}");
        }
        assert!(read("x.json", &"[".repeat(100_000)).is_err());
        assert!(read("x.toml", &format!("a = {}", "[".repeat(100_000))).is_err());
    }
}
