//! The offer of a server, in a file that is kept with the code.

use std::path::Path;

use serde_json::{Map, Value};

use crate::json_text::{check_format, fault, not_json, object};
use crate::text::without_byte_order_mark;
use crate::{ByName, FileError, View, canonical_json, parse_leniently, read_text};

const FORMAT: u32 = 1;
/// The file in messages.
const WHAT: &str = "the snapshot";

/// The tools, prompts and resource templates of a server: the file `mcp/<server>.json`.
///
/// ```
/// use mcp_bindgen_model::Snapshot;
///
/// let snapshot = Snapshot::parse(r#"{ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] }"#)?;
/// assert_eq!(snapshot.tools[0]["name"], "echo");
/// assert!(snapshot.to_text().starts_with("{\n  \"format\": 1,\n  \"tools\": ["));
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The server's name in the configuration.
    pub server: Option<String>,
    /// The negotiated protocol version.
    pub protocol_version: Option<String>,
    /// The server's description of itself.
    pub server_info: Option<Value>,
    /// The server's capabilities.
    pub capabilities: Option<Value>,
    /// The client capabilities with which the lists were requested.
    pub client_capabilities: Option<Value>,
    /// The server's instructions.
    pub instructions: Option<String>,
    /// The tools as the server sent them, including items that are not objects.
    pub tools: Vec<Value>,
    /// The prompts as the server sent them.
    pub prompts: Vec<Value>,
    /// The resource templates as the server sent them.
    pub resource_templates: Vec<Value>,
    /// The skills (SEP-2640), each entry as the server sent it: with the digests of its files.
    pub skills: Vec<Value>,
    /// The changes by overrides, by the name of the tool; `tools` includes them. Not part of the file.
    pub overridden: ByName<Overridden>,
    /// The tools that a configuration shows otherwise, by their names on the server; `tools` has them as they are seen.
    /// Not part of the file.
    pub viewed: ByName<Viewed>,
}

/// A tool of a snapshot that an override changed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overridden {
    /// The tool as the server declared it.
    pub declared: Value,
    /// The number of results that its `outputSchema` was learned from.
    pub learned_from: Option<u64>,
}

/// A tool of a snapshot that a configuration shows otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Viewed {
    /// The view.
    pub view: View,
    /// The tool without the view, but with its overrides.
    pub before: Value,
}

impl Viewed {
    /// Creates a tool that was seen like this before.
    #[must_use]
    pub fn new(view: View, before: Value) -> Self {
        Self { view, before }
    }

    /// Returns the title, the description and the annotations that the server declares, as far as it does.
    #[must_use]
    pub fn declared_texts(&self) -> Value {
        let texts = ["title", "description", "annotations"].into_iter();
        Value::Object(texts.filter_map(|key| Some((key.to_owned(), self.before.get(key)?.clone()))).collect())
    }
}

impl Snapshot {
    /// Parses a snapshot, a `tools/list` result, or a JSON-RPC response with one. Like [`parse_leniently`], it keeps
    /// everything but the numbers that a double cannot hold.
    ///
    /// # Errors
    /// Fails if the text is empty, cut off, not JSON, of a newer format, or has no array `tools`: line and column.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let text = without_byte_order_mark(text);
        let read = parse_leniently(text).map_err(|error| not_json(WHAT, text, &error))?;
        let (members, inside) = match read.value {
            Value::Object(mut message) if message.contains_key("jsonrpc") => match message.remove("result") {
                Some(Value::Object(result)) => (result, "/result"),
                _ => return Err(fault(text, "", "the JSON-RPC message has no result object")),
            },
            Value::Object(members) => (members, ""),
            _ => return Err(fault(text, "", "expected a JSON object")),
        };
        let mut file = File { text, inside, members };
        if let Some(format) = file.value("format") {
            check_format(WHAT, text, &format!("{inside}/format"), &format, FORMAT)?;
        }
        Ok(Self {
            server: file.server(),
            protocol_version: file.text("protocolVersion")?,
            server_info: file.value("serverInfo"),
            capabilities: file.value("capabilities"),
            client_capabilities: file.value("clientCapabilities"),
            instructions: file.text("instructions")?,
            tools: file.list("tools")?.ok_or_else(|| {
                fault(text, inside, "missing array `tools`")
                    .with_help("expected a file written by `mcp-bindgen sync`, or a `tools/list` result")
            })?,
            prompts: file.list("prompts")?.unwrap_or_default(),
            resource_templates: file.list("resourceTemplates")?.unwrap_or_default(),
            skills: file.list("skills")?.unwrap_or_default(),
            ..Self::default()
        })
    }

    /// Reads a snapshot from a file.
    ///
    /// # Errors
    /// Fails like [`parse`](Self::parse), or if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        Self::parse(&read_text(path)?).map_err(|error| error.in_file(path))
    }

    /// Returns `true` if a text is a snapshot in a newer format, which must not be overwritten.
    pub fn is_newer(text: &str) -> bool {
        let file = parse_leniently(text).ok();
        file.and_then(|file| file.value.get("format")?.as_u64()).is_some_and(|format| format > u64::from(FORMAT))
    }

    /// Formats the file: lists sorted by name, two spaces, line feeds; independent of the time and the machine.
    #[inline]
    pub fn to_text(&self) -> String {
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        let list = |list: &[Value]| (!list.is_empty()).then(|| sorted(list));
        let file = object(vec![
            ("format", Some(FORMAT.into())),
            ("server", text(&self.server)),
            ("protocolVersion", text(&self.protocol_version)),
            ("serverInfo", self.server_info.clone()),
            ("capabilities", self.capabilities.clone()),
            ("clientCapabilities", self.client_capabilities.clone()),
            ("instructions", text(&self.instructions)),
            ("tools", Some(sorted(&self.tools))),
            ("prompts", list(&self.prompts)),
            ("resourceTemplates", list(&self.resource_templates)),
            ("skills", list(&self.skills)),
        ]);
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
}

fn sorted(list: &[Value]) -> Value {
    // Items with the same name are ordered by content, and equal ones by their places.
    let mut sorted = Map::new();
    for (place, item) in list.iter().enumerate() {
        let name = item.get("name").or_else(|| item.get("uri")).and_then(Value::as_str);
        let name = name.map_or_else(String::new, |name| format!(" {name}"));
        sorted.insert(format!("{name}\0{}\0{place:08}", canonical_json(item)), item.clone());
    }
    sorted.sort_keys();
    sorted.into_iter().map(|(_, item)| item).collect()
}

/// The members of a snapshot while they are taken out of it.
struct File<'a> {
    text: &'a str,
    inside: &'static str,
    members: Map<String, Value>,
}

impl File<'_> {
    fn value(&mut self, key: &str) -> Option<Value> {
        self.members.remove(key).filter(|value| !value.is_null())
    }

    /// Takes a value of a type, which `kind` names.
    fn typed<T>(&mut self, key: &str, kind: &str, of: fn(Value) -> Option<T>) -> Result<Option<T>, FileError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let pointer = format!("{}/{key}", self.inside);
        of(value).map(Some).ok_or_else(|| fault(self.text, &pointer, format!("`{key}` is not {kind}")))
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, FileError> {
        self.typed(key, "a string", |value| if let Value::String(text) = value { Some(text) } else { None })
    }

    fn list(&mut self, key: &str) -> Result<Option<Vec<Value>>, FileError> {
        self.typed(key, "an array", |value| if let Value::Array(list) = value { Some(list) } else { None })
    }

    /// Collections of tool lists keep a description of the server here, with its name.
    fn server(&mut self) -> Option<String> {
        match self.value("server")? {
            Value::String(name) => Some(name),
            other => other.get("name").and_then(Value::as_str).map(str::to_owned),
        }
    }
}
