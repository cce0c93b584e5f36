//! One tool's override into a file that people write, too.

use serde_json::{Map, Value, json};

use super::{FORMAT, Overrides, ToolOverride};

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
    pub fn put(&mut self, tool: &str, said: ToolOverride) {
        let mut file = match serde_json::from_str(&self.text) {
            Ok(Value::Object(file)) => file,
            _ => Map::from_iter([("format".to_owned(), json!(FORMAT))]),
        };
        let tools = file.entry("tools").or_insert_with(|| json!({}));
        if let Value::Object(tools) = tools {
            let entry = tools.entry(tool).or_insert_with(|| json!({}));
            *entry = in_the_order_of(entry, said.to_json());
        }
        let text = format!("{:#}\n", Value::Object(file));
        self.text = if self.text.contains("\r\n") { text.replace('\n', "\r\n") } else { text };
        self.tools.insert(tool.to_owned(), said);
    }
}

/// Sorts members in the order of `known`; new ones follow.
fn in_the_order_of(known: &Value, mut said: Map<String, Value>) -> Value {
    let kept = known.as_object().into_iter().flat_map(Map::keys);
    let mut ordered: Map<String, Value> = kept.filter_map(|key| Some((key.clone(), said.shift_remove(key)?))).collect();
    ordered.extend(said);
    Value::Object(ordered)
}
