//! Values of TOML and JSON files with their positions, and reading typed pieces out of them, with one kind of error for
//! every kind of file.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde_json::Number;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{Key, has};
use crate::secrets::quoted;
use crate::side_by_side::in_order;
use crate::text::line_and_column;
use crate::{ConfigPlace, ConfigPlaces, FileError, nearest};

/// A value with its key, and the positions of both.
pub(crate) struct Node {
    /// The key; empty for the whole file and for elements of a list.
    pub(crate) key: String,
    pub(crate) key_at: usize,
    pub(crate) at: usize,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// A number, or `None` if JSON cannot represent it.
    Number(Option<Number>),
    Date,
    Text(String),
    List(Vec<Node>),
    Table(Vec<Node>),
}

impl Node {
    /// Returns the elements of a list.
    pub(crate) fn elements(&self) -> &[Self] {
        if let Kind::List(elements) = &self.kind { elements } else { &[] }
    }

    /// Returns the members of a table, without those that are `null`.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Self> {
        let members = if let Kind::Table(members) = &self.kind { members.as_slice() } else { &[] };
        members.iter().filter(|member| !matches!(member.kind, Kind::Null))
    }

    /// Returns a member of a table, unless it is `null`.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.members().find(|member| member.key == key)
    }

    /// Returns the name of the value's type for errors.
    fn type_name(&self) -> &'static str {
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

fn toml_node(key: &str, key_at: usize, value: &Spanned<DeValue<'_>>) -> Node {
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Integer(integer) => {
            Kind::Number(i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(Number::from))
        }
        DeValue::Float(float) => Kind::Number(float.as_str().parse().ok().and_then(Number::from_f64)),
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Datetime(_) => Kind::Date,
        DeValue::Array(elements) => Kind::List(elements.iter().map(|element| toml_node("", 0, element)).collect()),
        DeValue::Table(table) => {
            let members = table.iter().map(|(key, value)| toml_node(key.get_ref(), key.span().start, value)).collect();
            Kind::Table(in_order(members, |member| member.key_at))
        }
    };
    Node { key: key.to_owned(), key_at, at: value.span().start, kind }
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

fn json_node(key: String, key_at: usize, value: ast::Value<'_>) -> Node {
    let at = value.range().start;
    let kind = match value {
        ast::Value::NullKeyword(_) => Kind::Null,
        ast::Value::BooleanLit(literal) => Kind::Bool(literal.value),
        ast::Value::NumberLit(literal) => Kind::Number(serde_json::from_str(literal.value).ok()),
        ast::Value::StringLit(literal) => Kind::Text(literal.value.into_owned()),
        ast::Value::Array(array) => {
            Kind::List(array.elements.into_iter().map(|element| json_node(String::new(), 0, element)).collect())
        }
        ast::Value::Object(object) => {
            let member = |property: ast::ObjectProp<'_>| {
                json_node(property.name.into_string(), property.range.start, property.value)
            };
            Kind::Table(object.properties.into_iter().map(member).collect())
        }
    };
    Node { key, key_at, at, kind }
}

/// A problem in a valid configuration.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigWarning {
    /// The server concerned.
    pub server: Option<String>,
    /// The problem, with its position and the next step.
    pub error: FileError,
    /// `true` if it is the reason why the server was left out.
    pub is_rejection: bool,
}

impl ConfigWarning {
    /// Returns `true` if it is the reason why the server of this name was left out.
    pub(crate) fn rejects(&self, name: &str) -> bool {
        self.is_rejection && self.server.as_deref() == Some(name)
    }
}

/// Prints only the error, because a misplaced secret may be used as a name.
impl fmt::Debug for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

/// A form of texts, as errors describe it.
pub(crate) struct TextForm {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    pub(crate) help: &'static str,
}

/// Reads one file, and collects warnings.
pub(crate) struct Reader<'a> {
    /// The text that nodes point into, if errors have positions.
    pub(crate) text: Option<&'a str>,
    pub(crate) path: Option<&'a Path>,
    /// `true` if unknown and useless keys are errors: in files of this project, but not in those of other programs.
    pub(crate) strict: bool,
    pub(crate) warnings: Vec<ConfigWarning>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: Option<&'a str>, path: Option<&'a Path>, strict: bool) -> Self {
        Self { text, path, strict, warnings: Vec::new() }
    }

    pub(crate) fn toml(&self, text: &str) -> Result<Node, FileError> {
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let message = match text.get(span.clone()).filter(|_| error.message() == "duplicate key") {
                Some(key) => format!("duplicate key `{}`", quoted(key)),
                None => format!("not valid TOML: {}", error.message()),
            };
            self.error(span.start, message)
        })?;
        Ok(toml_node("", 0, &Spanned::new(table.span(), DeValue::Table(table.into_inner()))))
    }

    pub(crate) fn json(&self, text: &str) -> Result<Node, FileError> {
        let parsed = jsonc_parser::parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &STRICT_JSON)
            .map_err(|error| self.error(error.range().start, format!("not valid JSON: {}", error.kind())))?;
        let node = parsed.value.map(|value| json_node(String::new(), 0, value));
        node.ok_or_else(|| self.error(0, "the file is empty"))
    }

    pub(crate) fn place(&self, at: usize) -> ConfigPlace {
        let position = self.text.map(|text| line_and_column(text, at));
        ConfigPlace { path: self.path.map(Path::to_owned), position }
    }

    pub(crate) fn error(&self, at: usize, message: impl Into<String>) -> FileError {
        self.place(at).error(message)
    }

    /// Returns the positions of a table, of its keys, and of their members and texts.
    pub(crate) fn places(&self, node: &Node) -> ConfigPlaces {
        let mut places = ConfigPlaces::default();
        places.add(String::new(), self.place(node.at));
        if let Kind::Table(members) = &node.kind {
            members.iter().for_each(|member| self.add_places(member, &mut places));
        }
        places
    }

    /// Adds the positions of a key, and of its members and texts.
    pub(crate) fn add_places(&self, node: &Node, places: &mut ConfigPlaces) {
        let key = &node.key;
        places.add(key.clone(), self.place(node.key_at));
        // `null` is included, which is a value of an argument.
        if let Kind::Table(members) = &node.kind {
            members.iter().for_each(|member| places.add(format!("{key}/{}", member.key), self.place(member.key_at)));
        }
        for element in node.elements() {
            if let Kind::Text(text) = &element.kind {
                places.add(format!("{key}/{text}"), self.place(element.at));
            }
        }
    }

    /// Fails with a message if a name is not an identifier that every provider accepts.
    pub(crate) fn check_snake_case(&self, at: usize, name: &str, message: String) -> Result<(), FileError> {
        let is_inner = |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit();
        if name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_inner) {
            return Ok(());
        }
        Err(self.error(at, message).with_help("use 1 to 64 of a-z, 0-9 and `_`, and begin with a letter"))
    }

    pub(crate) fn warn(&mut self, server: &str, error: FileError, is_rejection: bool) {
        self.warnings.push(ConfigWarning { server: Some(server.to_owned()), error, is_rejection });
    }

    pub(crate) fn wrong_type(&self, node: &Node, what: &str, expected: &str) -> FileError {
        self.error(node.at, format!("{what} must be {expected}, not {}", node.type_name()))
    }

    /// Returns the members of a table. JSON allows repeated keys, so they are only an error in parts that this program
    /// reads.
    pub(crate) fn table<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Node], FileError> {
        let Kind::Table(members) = &node.kind else { return Err(self.wrong_type(node, what, "a table")) };
        let mut seen = HashSet::new();
        match members.iter().find(|member| !seen.insert(member.key.as_str())) {
            Some(twice) => Err(self.error(twice.key_at, format!("duplicate key `{}`", quoted(&twice.key)))),
            None => Ok(members),
        }
    }

    /// Returns the members of a table, all of whose keys must be known.
    pub(crate) fn known<'n>(&self, node: &'n Node, what: &str, keys: &[Key]) -> Result<&'n [Node], FileError> {
        let members = self.table(node, what)?;
        match members.iter().find(|member| !has(keys, &member.key)) {
            Some(unknown) => Err(self.unknown_key(unknown, what, keys)),
            None => Ok(members),
        }
    }

    pub(crate) fn unknown_key(&self, node: &Node, what: &str, keys: &[Key]) -> FileError {
        let keys: Vec<&str> = keys.iter().map(|key| key.name).collect();
        let help = suggestion(&node.key, &keys, "known keys:");
        self.error(node.key_at, format!("unknown key `{}` in {what}", quoted(&node.key))).with_help(help)
    }

    pub(crate) fn list<'n>(&self, node: &'n Node, what: &str, expected: &str) -> Result<&'n [Node], FileError> {
        if let Kind::List(elements) = &node.kind { Ok(elements) } else { Err(self.wrong_type(node, what, expected)) }
    }

    pub(crate) fn text<'n>(&self, node: &'n Node, what: &str) -> Result<&'n str, FileError> {
        if let Kind::Text(text) = &node.kind { Ok(text) } else { Err(self.wrong_type(node, what, "a string")) }
    }

    /// Reads a text of a certain form.
    pub(crate) fn parsed<T>(
        &self,
        node: &Node,
        what: &str,
        TextForm { name, example, help }: TextForm,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, FileError> {
        let error = match &node.kind {
            Kind::Text(text) => match parse(text) {
                Some(value) => return Ok(value),
                None => self.error(node.at, format!("{what} is not {name}")),
            },
            _ => self.wrong_type(node, what, &format!("{name} such as \"{example}\"")),
        };
        Err(error.with_help(help))
    }

    /// Reads one of these words.
    pub(crate) fn word<'w>(&self, node: &Node, what: &str, words: &[&'w str]) -> Result<&'w str, FileError> {
        let text = self.text(node, what)?;
        let found = words.iter().copied().find(|word| *word == text);
        found.ok_or_else(|| self.unknown_word(node, what, text, words))
    }

    pub(crate) fn unknown_word(&self, node: &Node, what: &str, text: &str, words: &[&str]) -> FileError {
        // Another word may be anything, a secret in the wrong line included.
        let is_short = text.len() <= 5 && text.bytes().all(|b| b.is_ascii_lowercase());
        let message = if is_short || !nearest(text, words.iter().copied()).is_empty() {
            format!("invalid value `{}` for {what}", quoted(text))
        } else {
            format!("{what} has an invalid value")
        };
        self.error(node.at, message).with_help(suggestion(text, words, "expected"))
    }
}

/// Returns the nearest of the known words, or all of them.
pub(crate) fn suggestion(word: &str, known: &[&str], all: &str) -> String {
    match nearest(word, known.iter().copied()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{all} {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}
