//! Values of TOML and JSON files, with their positions.

use std::path::Path;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde_json::{Number, Value};
use toml::de::{DeTable, DeValue};

use crate::FileError;
use crate::secrets::quoted;
use crate::side_by_side::in_order;
use crate::text::line_and_column;

/// A value with its position.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) at: usize,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// A number, or `None` if JSON cannot represent it.
    Number(Option<Number>),
    Date,
    Text(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: usize,
    pub(crate) value: Node,
}

impl Node {
    /// Returns the elements of a list.
    pub(crate) fn elements(&self) -> &[Self] {
        if let Kind::List(elements) = &self.kind { elements } else { &[] }
    }

    /// Returns the name of the value's type for errors.
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Date => "a date",
            Kind::Text(_) => "a string",
            Kind::List(_) => "an array",
            Kind::Table(_) => "a table",
        }
    }
}

/// The text that nodes point into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceText<'a> {
    pub(crate) text: Option<&'a str>,
    pub(crate) path: Option<&'a Path>,
}

impl SourceText<'_> {
    pub(crate) fn error(&self, at: usize, message: impl Into<String>) -> FileError {
        let mut error = FileError::new(message);
        if let Some(path) = self.path {
            error = error.in_file(path);
        }
        match self.text.map(|text| line_and_column(text, at)) {
            Some((line, column)) => error.at(line, column),
            None => error,
        }
    }
}

pub(crate) fn from_toml(source: SourceText<'_>, text: &str) -> Result<Node, FileError> {
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let said = error.message();
        let named = text.get(span.clone()).filter(|_| said == "duplicate key");
        let message = match named {
            Some(key) => format!("duplicate key `{}`", quoted(key)),
            None => format!("not valid TOML: {said}"),
        };
        source.error(span.start, message)
    })?;
    Ok(toml_table(table.get_ref(), table.span().start))
}

fn toml_table(table: &DeTable<'_>, at: usize) -> Node {
    let entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            at: key.span().start,
            value: toml_value(value.get_ref(), value.span().start),
        })
        .collect();
    Node { kind: Kind::Table(in_order(entries, |entry| entry.at)), at }
}

fn toml_value(value: &DeValue<'_>, at: usize) -> Node {
    let kind = match value {
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Integer(integer) => {
            Kind::Number(i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(Number::from))
        }
        DeValue::Float(float) => Kind::Number(float.as_str().parse().ok().and_then(Number::from_f64)),
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Datetime(_) => Kind::Date,
        DeValue::Array(elements) => {
            Kind::List(elements.iter().map(|element| toml_value(element.get_ref(), element.span().start)).collect())
        }
        DeValue::Table(table) => return toml_table(table, at),
    };
    Node { kind, at }
}

const STRICT_JSON: jsonc_parser::ParseOptions = jsonc_parser::ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(crate) fn from_json(source: SourceText<'_>, text: &str) -> Result<Node, FileError> {
    let parsed = jsonc_parser::parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &STRICT_JSON)
        .map_err(|error| source.error(error.range().start, format!("not valid JSON: {}", error.kind())))?;
    match parsed.value {
        Some(value) => Ok(json_value(value)),
        None => Err(source.error(0, "the file is empty")),
    }
}

fn json_value(value: ast::Value<'_>) -> Node {
    let at = value.range().start;
    let kind = match value {
        ast::Value::NullKeyword(_) => Kind::Null,
        ast::Value::BooleanLit(literal) => Kind::Bool(literal.value),
        ast::Value::NumberLit(literal) => Kind::Number(serde_json::from_str(literal.value).ok()),
        ast::Value::StringLit(literal) => Kind::Text(literal.value.into_owned()),
        ast::Value::Array(array) => Kind::List(array.elements.into_iter().map(json_value).collect()),
        ast::Value::Object(object) => {
            let mut entries: Vec<Entry> = Vec::with_capacity(object.properties.len());
            for property in object.properties {
                let at = property.range.start;
                let key = property.name.into_string();
                entries.push(Entry { key, at, value: json_value(property.value) });
            }
            Kind::Table(entries)
        }
    };
    Node { kind, at }
}

/// Converts a JSON value to a node without a position in a text.
pub(crate) fn from_value(value: &Value) -> Node {
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(value) => Kind::Bool(*value),
        Value::Number(number) => Kind::Number(Some(number.clone())),
        Value::String(text) => Kind::Text(text.clone()),
        Value::Array(elements) => Kind::List(elements.iter().map(from_value).collect()),
        Value::Object(members) => Kind::Table(
            members.iter().map(|(key, value)| Entry { key: key.clone(), at: 0, value: from_value(value) }).collect(),
        ),
    };
    Node { kind, at: 0 }
}
