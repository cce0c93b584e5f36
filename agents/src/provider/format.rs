//! The particulars of a provider: each has one of these, in its own file.

use mcp_bindgen_schema::provider::Dialect;
use serde_json::{Map, Value, json};

use super::ModelCall;
use super::answers::Group;
use super::parts::{Part, Takes};

/// The form of a provider's API, and its limits.
pub(crate) struct Format {
    /// The calls in a reply.
    pub(super) calls: fn(&Value) -> Vec<ModelCall>,
    /// The kinds of content that results may hold.
    pub(super) takes: Takes,
    /// The result of one call.
    pub(super) result: fn(&Group<'_>, Vec<Part>) -> Value,
    /// The messages with the results of a turn.
    pub(super) messages: fn(Vec<Value>) -> Vec<Value>,
    /// A tool.
    pub(crate) declaration: fn(Declaration<'_>) -> Value,
    /// The value of `tools` in a request.
    pub(crate) list: fn(Vec<Value>) -> Vec<Value>,
    /// The JSON Schema that it takes.
    pub(crate) dialect: Dialect,
    /// How many tools a request may declare, where that is bounded.
    pub(crate) tools_at_most: Option<usize>,
    /// How many characters a description may have, where that is bounded.
    pub(crate) description_at_most: Option<usize>,
    /// Whether a tool has to have a description.
    pub(crate) needs_description: bool,
    /// How many strict tools a request may have, with how many optional parameters and parameters of several types.
    pub(crate) strict_at_most: (usize, usize, usize),
    /// The mode that a request needs where all its tools are strict.
    pub(crate) strict_mode: Option<&'static str>,
    /// The tool by which the provider searches deferred ones.
    pub(crate) search: Option<fn() -> Value>,
}

/// No bound.
pub(super) const ANY_NUMBER: (usize, usize, usize) = (usize::MAX, usize::MAX, usize::MAX);

/// A tool as it is declared.
#[derive(Debug)]
pub(crate) struct Declaration<'a> {
    /// `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, which all of them take.
    pub(crate) name: &'a str,
    pub(crate) description: Option<&'a str>,
    /// In the provider's dialect; an object at its root.
    pub(crate) schema: Value,
    /// Whether a model may send nothing but values of the schema.
    pub(crate) is_strict: bool,
}

impl Declaration<'_> {
    /// The members that every provider has, with the schema under a key of its own.
    pub(super) fn members(self, schema: &str) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("name".to_owned(), json!(self.name));
        if let Some(description) = self.description {
            members.insert("description".to_owned(), json!(description));
        }
        members.insert(schema.to_owned(), self.schema);
        members
    }

    /// The same with `strict`, whether or not it is so.
    pub(super) fn members_with_strict(self, schema: &str) -> Map<String, Value> {
        let is_strict = self.is_strict;
        let mut members = self.members(schema);
        members.insert("strict".to_owned(), json!(is_strict));
        members
    }
}
