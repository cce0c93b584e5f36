//! Corrections to a server's tools, in a file next to its snapshot. In that file, everything that would be ignored is an
//! error.

mod apply;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::config::read::{Kind, Node, Reader, suggestion};
use crate::json_text::{check_format, fault, not_json, object};
use crate::text::without_byte_order_mark;
use crate::{ByName, FileError, Snapshot, locate, pointer_key, pointer_segment, printable, read_text};

const FORMAT: u32 = 1;

/// Corrections to the tools that a server declares: the file `mcp/<server>.overrides.json` next to its snapshot.
///
/// ```
/// use mcp_bindgen_model::{Overrides, Snapshot};
///
/// let snapshot = Snapshot::parse(r#"{ "tools": [{ "name": "count", "inputSchema": { "type": "object" } }] }"#)?;
/// let overrides = Overrides::parse(r#"{ "format": 1, "tools": { "count": { "outputSchema": { "type": "integer" } } } }"#)?;
/// let mended = overrides.apply(&snapshot)?;
/// assert_eq!(mended.tools[0]["outputSchema"]["type"], "integer");
/// assert_eq!(mended.overridden.get("count").map(|tool| &tool.declared), snapshot.tools.first());
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Overrides {
    /// The override of each tool, by its name on the server.
    pub tools: ByName<ToolOverride>,
    /// The text that it was read from, to find places in.
    text: String,
    path: Option<PathBuf>,
}

/// The override of one tool.
///
/// ```
/// use mcp_bindgen_model::{Overrides, ToolOverride};
///
/// let mut overrides = Overrides::default();
/// let mut count = ToolOverride::default();
/// count.output_schema = Some(serde_json::json!({ "type": "integer" }));
/// count.learned_from = Some(12);
/// overrides.tools.insert("count".to_owned(), count);
/// assert!(overrides.to_text().contains(r#""learnedFrom": 12"#));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOverride {
    /// A JSON merge patch (RFC 7396) of the tool; its only members are `inputSchema` and `outputSchema`.
    pub patch: Map<String, Value>,
    /// The tool's `outputSchema`, instead of the server's.
    pub output_schema: Option<Value>,
    /// The number of results that `output_schema` was learned from.
    pub learned_from: Option<u64>,
}

impl Overrides {
    /// Reads overrides from a file.
    ///
    /// # Errors
    /// Fails like [`parse`](Self::parse), or if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let overrides = Self::parse(&read_text(path)?).map_err(|error| error.in_file(path))?;
        Ok(Self { path: Some(path.to_owned()), ..overrides })
    }

    /// Reads the overrides of a snapshot, if there are any.
    ///
    /// # Errors
    /// Fails like [`load`](Self::load).
    pub fn load_beside(snapshot: impl AsRef<Path>) -> Result<Option<Self>, FileError> {
        let path = Self::beside(snapshot);
        // A link that leads nowhere is something to complain of.
        if path.symlink_metadata().is_err() { Ok(None) } else { Self::load(path).map(Some) }
    }

    /// Returns the path of a snapshot's overrides.
    ///
    /// ```
    /// let path = mcp_bindgen_model::Overrides::beside("mcp/github.json");
    /// assert_eq!(path.to_str(), Some("mcp/github.overrides.json"));
    /// ```
    #[must_use]
    pub fn beside(snapshot: impl AsRef<Path>) -> PathBuf {
        snapshot.as_ref().with_extension("overrides.json")
    }

    /// Returns the file that they were read from.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the text that they were read from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.text
    }

    /// Finds the line and column, from 1, of the override for a position in a tool: `/inputSchema/properties/labels`.
    #[must_use]
    pub fn position(&self, tool: &str, pointer: &str) -> Option<(usize, usize)> {
        let tool = tool_pointer(tool);
        locate(&self.text, &format!("{tool}/patch{pointer}"))
            .or_else(|| locate(&self.text, &format!("{tool}{pointer}")))
    }

    /// Formats the file: tools sorted by name, two spaces, line feeds.
    #[must_use]
    pub fn to_text(&self) -> String {
        let tools = self.tools.iter().map(|(name, tool)| (name.as_str(), Some(tool.to_json().into()))).collect();
        let file = object(vec![("format", Some(FORMAT.into())), ("tools", Some(object(tools).into()))]);
        format!("{:#}\n", Value::Object(file))
    }

    /// Writes the file atomically if it changes; returns whether it did.
    ///
    /// # Errors
    /// Fails if the file cannot be written; the old one is then still there.
    #[cfg(feature = "write")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<bool, FileError> {
        crate::write_if_changed(path.as_ref(), self.to_text().as_bytes())
    }

    /// Returns the snapshot with these overrides applied.
    ///
    /// # Errors
    /// The first of [`misfits`](Self::misfits).
    pub fn apply(&self, snapshot: &Snapshot) -> Result<Snapshot, FileError> {
        let (mended, misfits) = apply::apply(self, snapshot);
        misfits.into_iter().next().map_or(Ok(mended), Err)
    }

    /// Returns the overrides that do not fit a snapshot: of removed tools, patches at removed positions or that
    /// remove missing ones, and overrides without effect.
    #[must_use]
    pub fn misfits(&self, snapshot: &Snapshot) -> Vec<FileError> {
        apply::apply(self, snapshot).1
    }
}

impl ToolOverride {
    fn to_json(&self) -> Map<String, Value> {
        let patch = (!self.patch.is_empty()).then(|| self.patch.clone().into());
        let learned_from = self.learned_from.map(Value::from);
        object(vec![("patch", patch), ("outputSchema", self.output_schema.clone()), ("learnedFrom", learned_from)])
    }
}

/// Returns the pointer of a tool's override in the file.
fn tool_pointer(tool: &str) -> String {
    format!("/tools/{}", pointer_segment(tool))
}

/// Formats the subject of an error: a tool, and a position in it.
fn inside(tool: &str, pointer: &str) -> String {
    let tool = printable(tool);
    if pointer.is_empty() { format!("tool {tool}") } else { format!("tool {tool}, {}", printable(pointer)) }
}

impl Overrides {
    /// Sets the override of a tool. In the text ([`source`](Self::source)) everything else keeps its form and order;
    /// a new tool is appended.
    ///
    /// ```
    /// use mcp_bindgen_model::{Overrides, ToolOverride};
    ///
    /// let mut overrides = Overrides::parse(r#"{ "tools": { "b": { "outputSchema": {} } }, "format": 1 }"#)?;
    /// let mut said = ToolOverride::default();
    /// said.output_schema = Some(serde_json::json!({ "type": "integer" }));
    /// overrides.put("a", said);
    /// let text = overrides.source().replace(char::is_whitespace, "");
    /// assert_eq!(text, r#"{"tools":{"b":{"outputSchema":{}},"a":{"outputSchema":{"type":"integer"}}},"format":1}"#);
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    #[inline]
    pub fn put(&mut self, tool: &str, said: ToolOverride) {
        let mut file = match self.text.parse() {
            Ok(Value::Object(file)) => file,
            _ => object(vec![("format", Some(FORMAT.into()))]),
        };
        let tools = file.entry("tools").or_insert(Map::new().into());
        if let Value::Object(tools) = tools {
            let entry = tools.entry(tool).or_insert(Value::Null);
            // Members that are there already keep their order; new ones follow.
            let (mut members, mut new) = (entry.as_object().cloned().unwrap_or_default(), said.to_json());
            members.retain(|key, _| new.contains_key(key));
            members.append(&mut new);
            *entry = members.into();
        }
        let text = format!("{:#}\n", Value::Object(file));
        self.text = if self.text.contains("\r\n") { text.replace('\n', "\r\n") } else { text };
        self.tools.insert(tool.to_owned(), said);
    }
}

/// The file in messages.
const WHAT: &str = "the overrides file";

impl Overrides {
    /// Parses overrides.
    ///
    /// # Errors
    /// Fails, with line and column, if the text is not JSON, has a newer format, a duplicate or unknown key, or an
    /// override that is invalid or has no effect.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let text = without_byte_order_mark(text);
        let mut file = File { text, value: text.parse().map_err(|error| not_json(WHAT, text, &error))? };
        if let Some(format) = file.value.get("format") {
            check_format(WHAT, text, "/format", format, FORMAT)?;
        }
        let members = file.object("", WHAT, &["format", "tools"])?;
        check_unique(text)?;
        if !members.contains_key("tools") {
            let error = file.error("", "missing object `tools`");
            return Err(error.with_help("its keys are tool names, its values the overrides"));
        }
        // Sorted, so that `insert` appends.
        if let Some(Value::Object(tools)) = file.value.get_mut("tools") {
            tools.sort_keys();
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

    /// Returns the members of the object at a pointer, which `shown` names. Its keys must be among `known`; an empty
    /// `known` allows any key.
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
