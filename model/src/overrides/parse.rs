//! Parses the file. Everything that would be ignored is an error.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{FORMAT, Overrides, ToolOverride, inside};
use crate::config::read::{Kind, Node, Reader, suggestion};
use crate::json_text::{check_format, check_not_empty, fault, not_json, placed};
use crate::text::without_byte_order_mark;
use crate::{FileError, pointer_key, pointer_segment, printable};

/// The file in messages.
const WHAT: &str = "the overrides file";

impl Overrides {
    /// Parses overrides.
    ///
    /// # Errors
    /// Fails if the text is not JSON, is of a newer format, has a key twice or one that is not known, or says of a tool
    /// nothing at all or what makes no sense: line and column.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let text = without_byte_order_mark(text);
        check_not_empty(WHAT, text)?;
        let value = text.parse::<Value>().map_err(|error| not_json(WHAT, text, &error))?;
        let file = Part { text, pointer: String::new(), shown: WHAT.to_owned(), value: &value };
        if let Some(format) = value.get("format") {
            check_format(WHAT, format.as_u64(), FORMAT).map_err(|error| placed(error, text, "/format"))?;
        }
        file.known(&["format", "tools"])?;
        check_unique(text)?;
        let Some(tools) = file.member("tools", "`tools`".to_owned()) else {
            let error = file.error("missing object `tools`");
            return Err(error.with_help("its keys are tool names, its values the overrides"));
        };
        let mut overrides = Self { text: text.to_owned(), ..Self::default() };
        for (name, value) in tools.object()? {
            let tool = tools.child(name, value, format!("the override of tool `{}`", printable(name)));
            overrides.tools.insert(name.clone(), tool.tool()?);
        }
        Ok(overrides)
    }
}

/// A value of the file, with its pointer and its name in messages.
struct Part<'a> {
    text: &'a str,
    pointer: String,
    shown: String,
    value: &'a Value,
}

impl<'a> Part<'a> {
    fn child(&self, key: &str, value: &'a Value, shown: String) -> Self {
        Part { text: self.text, pointer: format!("{}/{}", self.pointer, pointer_segment(key)), shown, value }
    }

    fn member(&self, key: &str, shown: String) -> Option<Self> {
        self.value.get(key).map(|value| self.child(key, value, shown))
    }

    fn error(&self, message: impl Into<String>) -> FileError {
        in_tool(fault(self.text, &self.pointer, message), &self.pointer)
    }

    fn object(&self) -> Result<&'a Map<String, Value>, FileError> {
        self.value.as_object().ok_or_else(|| self.error(format!("{} is not an object", self.shown)))
    }

    /// Returns the members of an object, all of whose keys must be known.
    fn known(&self, keys: &[&str]) -> Result<&'a Map<String, Value>, FileError> {
        let members = self.object()?;
        match members.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            Some((key, value)) => {
                let message = format!("unknown key `{}` in {}", printable(key), self.shown);
                let error = self.child(key, value, String::new()).error(message);
                Err(error.with_help(suggestion(key, keys, "known keys:")))
            }
            None => Ok(members),
        }
    }

    fn tool(&self) -> Result<ToolOverride, FileError> {
        let shown = &self.shown;
        self.known(&["patch", "outputSchema", "learnedFrom"])?;
        let patch = self.member("patch", format!("the patch in {shown}"));
        let patch = patch.map(|patch| patch.patch()).transpose()?.unwrap_or_default();
        let schema = self.member("outputSchema", format!("`outputSchema` in {shown}"));
        schema.as_ref().map(Part::object).transpose()?;
        let learned = self.member("learnedFrom", String::new());
        let count = learned.as_ref().map(|learned| {
            let count = learned.value.as_u64().filter(|count| *count > 0);
            count.ok_or_else(|| learned.error("`learnedFrom` must be a whole number above zero"))
        });
        let learned_from = count.transpose()?;
        match (schema, learned) {
            (Some(schema), _) if patch.contains_key("outputSchema") => {
                let pointer = format!("{}/patch/outputSchema", self.pointer);
                let message = format!("{shown} has both an `outputSchema` and a patch for it");
                let error = Part { pointer, ..schema }.error(message);
                Err(error.with_help("write the change into `outputSchema`"))
            }
            (None, Some(learned)) => {
                Err(learned.error(format!("{shown} has `learnedFrom` without a learned `outputSchema`")))
            }
            (None, None) if patch.is_empty() => {
                let error = self.error(format!("{shown} has no effect"));
                Err(error.with_help("remove it, or add a `patch` or an `outputSchema`"))
            }
            (schema, _) => {
                let output_schema = schema.map(|schema| schema.value.clone());
                Ok(ToolOverride { patch, output_schema, learned_from })
            }
        }
    }

    fn patch(&self) -> Result<Map<String, Value>, FileError> {
        let patch = self.known(&["inputSchema", "outputSchema"])?;
        for (key, value) in patch {
            let schema = self.child(key, value, format!("`{key}` in {}", self.shown));
            let problem = match value {
                Value::Null if key == "inputSchema" => "removes `inputSchema`, which is required",
                Value::Null => continue,
                _ if schema.object()?.is_empty() => "has no effect",
                _ => continue,
            };
            return Err(schema.error(format!("{} {problem}", self.shown)));
        }
        Ok(patch.clone())
    }
}

/// Fails if an object has a key twice: a JSON parser keeps the last of two members of one name.
fn check_unique(text: &str) -> Result<(), FileError> {
    let reader = Reader::new(Some(text), None, true);
    let Ok(file) = reader.json(text) else { return Ok(()) };
    let Some((twice, pointer)) = repeated(&file) else { return Ok(()) };
    Err(in_tool(reader.error(twice.key_at, format!("duplicate key `{}`", printable(&twice.key))), &pointer))
}

/// Returns the first repeated key below a node, with its pointer from there. The node was parsed as JSON before, so it
/// is not nested deep.
fn repeated(node: &Node) -> Option<(&Node, String)> {
    let mut seen = HashSet::new();
    let is_list = matches!(node.kind, Kind::List(_));
    let (Kind::List(children) | Kind::Table(children)) = &node.kind else { return None };
    children.iter().enumerate().find_map(|(place, child)| {
        let is_new = is_list || seen.insert(child.key.as_str());
        let (twice, below) = if is_new { repeated(child)? } else { (child, String::new()) };
        let segment = if is_list { place.to_string() } else { pointer_segment(&child.key) };
        Some((twice, format!("/{segment}{below}")))
    })
}

/// Adds the tool that a pointer leads to, and the place in it.
fn in_tool(error: FileError, pointer: &str) -> FileError {
    let Some(below) = pointer.strip_prefix("/tools/") else { return error };
    let (tool, below) = below.split_at(below.find('/').unwrap_or(below.len()));
    error.inside(inside(&pointer_key(tool), below))
}
