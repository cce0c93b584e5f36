//! Parses the file. Everything that would be ignored is an error.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{FORMAT, Overrides, ToolOverride, inside, tool_pointer};
use crate::config::read::{Kind, Node, Reader, suggestion};
use crate::json_text::{check_format, fault, not_json};
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
        let file = File { text, value: text.parse().map_err(|error| not_json(WHAT, text, &error))? };
        if let Some(format) = file.value.get("format") {
            check_format(WHAT, text, "/format", format, FORMAT)?;
        }
        let members = file.object("", WHAT, &["format", "tools"])?;
        check_unique(text)?;
        if !members.contains_key("tools") {
            let error = file.error("", "missing object `tools`");
            return Err(error.with_help("its keys are tool names, its values the overrides"));
        }
        let mut overrides = Self { text: text.to_owned(), ..Self::default() };
        for name in file.object("/tools", "`tools`", &[])?.keys() {
            overrides.tools.insert(name.clone(), file.tool(name)?);
        }
        Ok(overrides)
    }
}

/// A file of overrides.
struct File<'a> {
    text: &'a str,
    value: Value,
}

impl File<'_> {
    /// Returns an error at a pointer.
    fn error(&self, pointer: &str, message: impl Into<String>) -> FileError {
        in_tool(fault(self.text, pointer, message), pointer)
    }

    /// Returns the members of the object at a pointer, which `shown` names. All of its keys must be known, if any are.
    fn object(&self, pointer: &str, shown: &str, known: &[&str]) -> Result<&Map<String, Value>, FileError> {
        let Some(Value::Object(members)) = self.value.pointer(pointer) else {
            return Err(self.error(pointer, format!("{shown} is not an object")));
        };
        match members.keys().find(|key| !known.is_empty() && !known.contains(&key.as_str())) {
            Some(key) => {
                let message = format!("unknown key `{}` in {shown}", printable(key));
                let error = self.error(&format!("{pointer}/{}", pointer_segment(key)), message);
                Err(error.with_help(suggestion(key, known, "known keys:")))
            }
            None => Ok(members),
        }
    }

    fn tool(&self, name: &str) -> Result<ToolOverride, FileError> {
        let (pointer, shown) = (tool_pointer(name), format!("the override of tool `{}`", printable(name)));
        let members = self.object(&pointer, &shown, &["patch", "outputSchema", "learnedFrom"])?;
        let mut patch = Map::new();
        if members.contains_key("patch") {
            patch.clone_from(self.patch(&format!("{pointer}/patch"), &format!("the patch in {shown}"))?);
        }
        let output_schema = members.get("outputSchema");
        if output_schema.is_some() {
            self.object(&format!("{pointer}/outputSchema"), &format!("`outputSchema` in {shown}"), &[])?;
        }
        let learned = members.get("learnedFrom").map(|count| count.as_u64().filter(|count| *count > 0));
        let error = |below: &str, message: String| self.error(&format!("{pointer}{below}"), message);
        Err(match (output_schema, learned) {
            (_, Some(None)) => error("/learnedFrom", "`learnedFrom` must be a whole number above zero".to_owned()),
            (Some(_), _) if patch.contains_key("outputSchema") => {
                let message = format!("{shown} has both an `outputSchema` and a patch for it");
                error("/patch/outputSchema", message).with_help("write the change into `outputSchema`")
            }
            (None, Some(_)) => {
                error("/learnedFrom", format!("{shown} has `learnedFrom` without a learned `outputSchema`"))
            }
            (None, None) if patch.is_empty() => {
                let help = "remove it, or add a `patch` or an `outputSchema`";
                error("", format!("{shown} has no effect")).with_help(help)
            }
            (schema, _) => {
                return Ok(ToolOverride { patch, output_schema: schema.cloned(), learned_from: learned.flatten() });
            }
        })
    }

    fn patch(&self, pointer: &str, shown: &str) -> Result<&Map<String, Value>, FileError> {
        let patch = self.object(pointer, shown, &["inputSchema", "outputSchema"])?;
        for (key, value) in patch {
            let pointer = format!("{pointer}/{key}");
            let problem = match value {
                Value::Null if key == "inputSchema" => "removes `inputSchema`, which is required",
                Value::Null => continue,
                _ if self.object(&pointer, &format!("`{key}` in {shown}"), &[])?.is_empty() => "has no effect",
                _ => continue,
            };
            return Err(self.error(&pointer, format!("{shown} {problem}")));
        }
        Ok(patch)
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
