//! Parses the file. Everything that would be ignored is an error.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::{FORMAT, Overrides, ToolOverride, inside, tool_pointer};
use crate::config::node::{Kind, Node, SourceText, from_json};
use crate::json_text::{check_format, check_not_empty, fault, not_json, placed};
use crate::text::{line_and_column, without_byte_order_mark};
use crate::{FileError, nearest, pointer_key, pointer_segment, printable};

/// The file in messages.
const WHAT: &str = "the overrides file";
const KEYS: [&str; 2] = ["format", "tools"];
const TOOL_KEYS: [&str; 3] = ["patch", "outputSchema", "learnedFrom"];
const SCHEMAS: [&str; 2] = ["inputSchema", "outputSchema"];

impl Overrides {
    /// Parses overrides.
    ///
    /// # Errors
    /// Fails if the text is not JSON, is of a newer format, has a key twice or one that is not known, or says of a tool
    /// nothing at all or what makes no sense: line and column.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let text = without_byte_order_mark(text);
        check_not_empty(WHAT, text)?;
        let file: Value = serde_json::from_str(text).map_err(|error| not_json(WHAT, text, &error))?;
        let Value::Object(file) = file else {
            return Err(fault(text, "", format!("{WHAT} is not a JSON object")));
        };
        let reader = Reader { text, tool: None };
        if let Some(format) = file.get("format") {
            check_format(WHAT, format.as_u64(), FORMAT).map_err(|error| placed(error, text, "/format"))?;
        }
        reader.known_keys(&file, "", &KEYS, "the overrides file")?;
        reader.no_key_twice()?;
        let tools = match file.get("tools") {
            Some(Value::Object(tools)) => tools,
            Some(_) => return Err(fault(text, "/tools", "`tools` is not an object")),
            None => {
                return Err(fault(text, "", "missing object `tools`")
                    .with_help("its keys are tool names, its values the overrides"));
            }
        };
        let read = |name, tool| Reader { text, tool: Some(name) }.tool(name, tool);
        let mut overrides = Self { tools: BTreeMap::new(), text: text.to_owned(), path: None };
        for (name, tool) in tools {
            overrides.tools.insert(name.clone(), read(name, tool)?);
        }
        Ok(overrides)
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The tool whose override is read.
    tool: Option<&'a str>,
}

impl Reader<'_> {
    fn fault(&self, place: &str, message: impl Into<String>) -> FileError {
        let error = fault(self.text, place, message);
        match self.tool {
            Some(tool) => error.inside(inside(tool, place.strip_prefix(&tool_pointer(tool)).unwrap_or_default())),
            None => error,
        }
    }

    fn tool(&self, name: &str, value: &Value) -> Result<ToolOverride, FileError> {
        let place = tool_pointer(name);
        let shown = format!("the override of tool `{}`", printable(name));
        let tool = self.object(value, &place, &shown)?;
        self.known_keys(tool, &place, &TOOL_KEYS, &shown)?;
        let said = ToolOverride {
            patch: self.patch(tool, &place, &shown)?,
            output_schema: tool.get("outputSchema").cloned(),
            learned_from: self.learned_from(tool, &place)?,
        };
        if let Some(schema) = &said.output_schema {
            self.object(schema, &format!("{place}/outputSchema"), &format!("`outputSchema` in {shown}"))?;
            if said.patch.contains_key("outputSchema") {
                let message = format!("{shown} has both an `outputSchema` and a patch for it");
                return Err(self
                    .fault(&format!("{place}/patch/outputSchema"), message)
                    .with_help("write the change into `outputSchema`"));
            }
        } else if said.learned_from.is_some() {
            let message = format!("{shown} has `learnedFrom` without a learned `outputSchema`");
            return Err(self.fault(&format!("{place}/learnedFrom"), message));
        }
        if said.patch.is_empty() && said.output_schema.is_none() {
            return Err(self
                .fault(&place, format!("{shown} has no effect"))
                .with_help("remove it, or add a `patch` or an `outputSchema`"));
        }
        Ok(said)
    }

    fn patch(&self, tool: &Map<String, Value>, place: &str, shown: &str) -> Result<Map<String, Value>, FileError> {
        let Some(patch) = tool.get("patch") else {
            return Ok(Map::new());
        };
        let (place, shown) = (format!("{place}/patch"), format!("the patch in {shown}"));
        let patch = self.object(patch, &place, &shown)?;
        self.known_keys(patch, &place, &SCHEMAS, &shown)?;
        for (key, value) in patch {
            let place = format!("{place}/{key}");
            match value {
                Value::Null if key == "inputSchema" => {
                    let message = format!("{shown} removes `inputSchema`, which is required");
                    return Err(self.fault(&place, message));
                }
                Value::Null => {}
                Value::Object(patch) if patch.is_empty() => {
                    return Err(self.fault(&place, format!("{shown} has no effect")));
                }
                _ => drop(self.object(value, &place, &format!("`{key}` in {shown}"))?),
            }
        }
        Ok(patch.clone())
    }

    fn learned_from(&self, tool: &Map<String, Value>, place: &str) -> Result<Option<u64>, FileError> {
        let Some(value) = tool.get("learnedFrom") else {
            return Ok(None);
        };
        value.as_u64().filter(|count| *count > 0).map(Some).ok_or_else(|| {
            let message = "`learnedFrom` must be a whole number above zero";
            self.fault(&format!("{place}/learnedFrom"), message)
        })
    }

    fn object<'v>(&self, value: &'v Value, place: &str, shown: &str) -> Result<&'v Map<String, Value>, FileError> {
        value.as_object().ok_or_else(|| self.fault(place, format!("{shown} is not an object")))
    }

    fn known_keys(
        &self,
        object: &Map<String, Value>,
        place: &str,
        known: &[&str],
        shown: &str,
    ) -> Result<(), FileError> {
        let Some(unknown) = object.keys().find(|key| !known.contains(&key.as_str())) else {
            return Ok(());
        };
        let message = format!("unknown key `{}` in {shown}", printable(unknown));
        let help = match nearest(unknown, known.iter().copied()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys are `{}`", known.join("`, `")),
        };
        Err(self.fault(&format!("{place}/{}", pointer_segment(unknown)), message).with_help(help))
    }

    /// A JSON parser keeps the last of two members of one name.
    fn no_key_twice(&self) -> Result<(), FileError> {
        let Ok(file) = from_json(SourceText { text: Some(self.text), path: None }, self.text) else { return Ok(()) };
        let Some((at, pointer)) = repeated(&file, &mut String::new()) else { return Ok(()) };
        let (line, column) = line_and_column(self.text, at);
        let key = pointer_key(pointer.rsplit('/').next().unwrap_or_default());
        let error = FileError::new(format!("duplicate key `{}`", printable(&key))).at(line, column);
        match pointer.strip_prefix("/tools/").and_then(|below| below.find('/').map(|end| below.split_at(end))) {
            Some((tool, below)) => Err(error.inside(inside(&pointer_key(tool), below))),
            None => Err(error),
        }
    }
}

/// Returns the offset and the pointer of the first repeated key below `pointer`. The node was parsed as JSON before, so it is not
/// nested deep.
fn repeated(node: &Node, pointer: &mut String) -> Option<(usize, String)> {
    let end = pointer.len();
    match &node.kind {
        Kind::List(elements) => elements.iter().enumerate().find_map(|(place, element)| {
            pointer.truncate(end);
            pointer.push_str(&format!("/{place}"));
            repeated(element, pointer)
        }),
        Kind::Table(entries) => {
            let mut seen = HashSet::new();
            entries.iter().find_map(|entry| {
                pointer.truncate(end);
                pointer.push('/');
                pointer.push_str(&pointer_segment(&entry.key));
                if seen.insert(&entry.key) {
                    repeated(&entry.value, pointer)
                } else {
                    Some((entry.at, pointer.clone()))
                }
            })
        }
        _ => None,
    }
}
