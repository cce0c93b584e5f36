//! The files of hosts, JSON with comments and TOML, as one kind of value.

use jsonc_parser::ast;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use mcp_bindgen_model::FileError;
use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, TableLike};

/// A file that was read.
#[derive(Default)]
pub(super) struct Document {
    pub(super) root: Map<String, Value>,
    /// Keys that are there twice; hosts take the last one.
    pub(super) twice: Vec<String>,
}

/// Reads JSON with comments and trailing commas. An empty file is an empty object.
///
/// # Errors
/// Fails with line and column, and without any content of the file.
pub(super) fn json(text: &str) -> Result<Document, FileError> {
    let lenient = ParseOptions { allow_missing_commas: false, ..ParseOptions::default() };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &lenient).map_err(|error| {
        let (line, column) = position(text, error.range().start);
        FileError::new(format!("not valid JSON: {}", error.kind().to_string().to_lowercase())).at(line, column)
    })?;
    let mut document = Document::default();
    match parsed.value {
        None => Ok(document),
        Some(value) => match from_json(value, &mut document.twice) {
            Value::Object(root) => Ok(Document { root, ..document }),
            _ => Err(FileError::new("the file is not a JSON object").at(1, 1)),
        },
    }
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
                let value = from_json(property.value, twice);
                if map.insert(key.clone(), value).is_some() {
                    twice.push(key);
                }
            }
            Value::Object(map)
        }
    }
}

/// Reads TOML.
///
/// # Errors
/// Fails like [`json`].
pub(super) fn toml(text: &str) -> Result<Document, FileError> {
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        // The parser's message repeats the line, which may contain a secret.
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        FileError::new("not valid TOML").at(line, column)
    })?;
    Ok(Document { root: from_table(document.as_table()), twice: Vec::new() })
}

fn from_table(table: &dyn TableLike) -> Map<String, Value> {
    table.iter().map(|(key, item)| (key.to_owned(), from_toml(item))).collect()
}

fn from_toml(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => from_toml_value(value),
        Item::Table(table) => from_table(table).into(),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| from_table(table)).collect(),
    }
}

fn from_toml_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(date) => date.value().to_string().into(),
        toml_edit::Value::Array(array) => array.iter().map(from_toml_value).collect(),
        toml_edit::Value::InlineTable(table) => from_table(table).into(),
    }
}

/// Returns the 1-based line and column of an offset; columns count characters.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_files_are_parsed_with_comments_and_trailing_commas() {
        let text = "// ours\n{\"a\": [1, 2.5, true, null,], /* two */ \"b\": {\"c\": \"d\",}, \"b\": \"x\",}\n";
        let document = json(text).unwrap();
        assert_eq!(Value::Object(document.root).to_string(), r#"{"a":[1,2.5,true,null],"b":"x"}"#);
        assert_eq!(document.twice, ["b"]);
        assert!(json("// nothing\n").unwrap().root.is_empty());
        let document = toml("a = [1, 2.5]\n[b.c]\nd = 1979-05-27\n[[e]]\nf = true\n").unwrap();
        assert_eq!(
            Value::Object(document.root).to_string(),
            r#"{"a":[1,2.5],"b":{"c":{"d":"1979-05-27"}},"e":[{"f":true}]}"#
        );
    }

    #[test]
    fn malformed_host_file_error_has_a_position_and_no_content() {
        for (error, place) in [
            (json("{\n  \"token\": \"ghp_x\"\n  \"b\": 1}").err().unwrap(), Some((2, 19))),
            (json("[\"ghp_x\"]").err().unwrap(), Some((1, 1))),
            (json("{\"a\": ghp_x}").err().unwrap(), Some((1, 7))),
            (toml("a = 1\ntoken = ghp_x\n").err().unwrap(), Some((2, 9))),
        ] {
            assert_eq!(error.position, place, "{error}");
            assert!(!error.to_string().contains("ghp_x"), "{error}");
        }
        assert!(json(&"[".repeat(100_000)).is_err() && toml(&format!("a = {}", "[".repeat(100_000))).is_err());
    }
}
