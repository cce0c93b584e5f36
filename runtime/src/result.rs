//! What a tool answered.

use serde_json::{Map, Value};

use crate::CallError;

/// The result of a call, as the server sent it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The server's name.
    pub server: String,
    /// The tool's wire name.
    pub tool: String,
    /// The content blocks, in order.
    pub content: Vec<Content>,
    /// `structuredContent`; `Some(Value::Null)` where the server sent `null`.
    pub structured: Option<Value>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// `_meta`.
    pub meta: Option<Map<String, Value>>,
}

impl ToolResult {
    /// A result with neither content nor structured content, for fakes in tests.
    pub fn new(server: impl Into<String>, tool: impl Into<String>) -> Self {
        Self { server: server.into(), tool: tool.into(), ..Self::default() }
    }

    /// Reads the `result` of a `tools/call` response. Nothing in it can make this fail: a block of an unknown type or
    /// form is kept as [`Content::Other`].
    pub fn from_json(server: impl Into<String>, tool: impl Into<String>, result: Value) -> Self {
        let mut read = Self::new(server, tool);
        let Value::Object(mut fields) = result else {
            read.content = vec![Content::Other(result)];
            return read;
        };
        read.content = match fields.remove("content") {
            Some(Value::Array(blocks)) => blocks.into_iter().map(Content::from_json).collect(),
            None | Some(Value::Null) => Vec::new(),
            Some(block) => vec![Content::from_json(block)],
        };
        read.structured = fields.remove("structuredContent");
        read.is_error = fields.get("isError") == Some(&Value::Bool(true));
        if let Some(Value::Object(meta)) = fields.remove("_meta") {
            read.meta = Some(meta);
        }
        read
    }

    /// The result, unless the tool says that it failed.
    ///
    /// # Errors
    /// [`CallError::Tool`] with the result.
    pub fn success(self) -> Result<Self, CallError> {
        if self.is_error { Err(CallError::Tool(Box::new(self))) } else { Ok(self) }
    }

    /// The text blocks, joined by newlines.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }

    /// `structuredContent`, where the server sent it.
    pub fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }
}

/// One block of a tool's answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// `text`
    Text {
        /// The text.
        text: String,
    },
    /// `image`
    Image {
        /// The picture, in base64.
        data: String,
        /// Its media type.
        mime_type: String,
    },
    /// `audio`
    Audio {
        /// The sound, in base64.
        data: String,
        /// Its media type.
        mime_type: String,
    },
    /// `resource`: a resource with its contents.
    Resource {
        /// The resource, as sent.
        resource: Value,
    },
    /// `resource_link`: a resource that can be read from the server.
    ResourceLink {
        /// The resource's URI.
        uri: String,
        /// The whole block, as sent.
        link: Value,
    },
    /// A block of a type or form that this version does not know, as sent.
    Other(Value),
}

impl Content {
    /// Reads one content block.
    pub fn from_json(block: Value) -> Self {
        match Self::known(&block) {
            Some(content) => content,
            None => Self::Other(block),
        }
    }

    fn known(block: &Value) -> Option<Self> {
        let string = |key: &str| block.get(key)?.as_str().map(str::to_owned);
        Some(match block.get("type")?.as_str()? {
            "text" => Self::Text { text: string("text")? },
            "image" => Self::Image { data: string("data")?, mime_type: string("mimeType")? },
            "audio" => Self::Audio { data: string("data")?, mime_type: string("mimeType")? },
            "resource" => Self::Resource { resource: block.get("resource").filter(|r| r.is_object())?.clone() },
            "resource_link" => Self::ResourceLink { uri: string("uri")?, link: block.clone() },
            _ => return None,
        })
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_every_block_and_keeps_the_unknown() {
        let odd = json!({"type": "hologram", "data": [1]});
        let broken = json!({"type": "text", "text": 5});
        let result = ToolResult::from_json(
            "s",
            "t",
            json!({
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image", "data": "AA==", "mimeType": "image/png"},
                    {"type": "resource_link", "uri": "file:///x", "name": "x"},
                    {"type": "resource", "resource": {"uri": "file:///x", "text": "x"}},
                    odd, broken,
                    {"type": "text", "text": "b"}
                ],
                "structuredContent": null, "isError": true, "_meta": {"k": 1}, "tools": []
            }),
        );
        assert_eq!(result.text(), "a\nb");
        assert_eq!(result.structured(), Some(&Value::Null));
        assert!(result.is_error);
        assert_eq!(result.meta.as_ref().and_then(|meta| meta.get("k")), Some(&json!(1)));
        assert_eq!(result.content[4..6], [Content::Other(odd), Content::Other(broken)]);
    }

    #[test]
    fn reads_results_of_no_known_form() {
        assert_eq!(ToolResult::from_json("s", "t", json!({})), ToolResult::new("s", "t"));
        assert_eq!(ToolResult::from_json("s", "t", json!(5)).content, vec![Content::Other(json!(5))]);
        assert!(!ToolResult::from_json("s", "t", json!({"isError": null})).is_error);
    }
}
