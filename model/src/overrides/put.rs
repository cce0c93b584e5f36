//! One tool's override into a file that people write, too.

use serde_json::{Map, Value};

use super::{FORMAT, Overrides, ToolOverride};
use crate::json_text::object;

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
