//! A content block of a result.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A content block of a result. `extra` has its other members: `annotations`, `_meta`, keys of the server. Serialized
/// as the server sent it, except for the order of keys.
///
/// ```
/// use mcp_bindgen_runtime::Content;
///
/// let block = serde_json::json!({ "type": "text", "text": "hello", "annotations": { "audience": ["user"] } });
/// let content = Content::from_json(block.clone());
/// assert_eq!(content.as_text(), Some("hello"));
/// assert_eq!(serde_json::to_value(&content)?, block);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// `text`
    #[non_exhaustive]
    Text {
        /// The text.
        text: String,
        /// The other keys of the block.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// `image`
    #[non_exhaustive]
    Image {
        /// The picture, in base64.
        data: String,
        /// Its media type.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// The other keys of the block.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// `audio`
    #[non_exhaustive]
    Audio {
        /// The sound, in base64.
        data: String,
        /// Its media type.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// The other keys of the block.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// `resource`: a resource with its contents.
    #[non_exhaustive]
    Resource {
        /// The resource, as sent.
        resource: Value,
        /// The other keys of the block.
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// `resource_link`: a resource that can be read from the server.
    #[serde(untagged, serialize_with = "as_sent")]
    ResourceLink {
        /// The resource's URI.
        uri: String,
        /// The whole block, as sent.
        link: Value,
    },
    /// A block of a type or form that this version does not know, as sent.
    #[serde(untagged)]
    Other(Value),
}

impl Content {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: Map::new() }
    }

    /// Reads one content block.
    pub fn from_json(block: Value) -> Self {
        Self::known(&block).unwrap_or(Self::Other(block))
    }

    fn known(block: &Value) -> Option<Self> {
        let fields = block.as_object()?;
        let string = |key: &str| fields.get(key)?.as_str().map(str::to_owned);
        let without = |known: &[&str]| {
            let others = fields.iter().filter(|(key, _)| *key != "type" && !known.contains(&key.as_str()));
            others.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let media = &["data", "mimeType"];
        Some(match fields.get("type")?.as_str()? {
            "text" => Self::Text { text: string("text")?, extra: without(&["text"]) },
            "image" => Self::Image { data: string("data")?, mime_type: string("mimeType")?, extra: without(media) },
            "audio" => Self::Audio { data: string("data")?, mime_type: string("mimeType")?, extra: without(media) },
            "resource" => {
                let resource = fields.get("resource").filter(|resource| resource.is_object())?.clone();
                Self::Resource { resource, extra: without(&["resource"]) }
            }
            "resource_link" => Self::ResourceLink { uri: string("uri")?, link: block.clone() },
            _ => return None,
        })
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text { text, .. } = self { Some(text) } else { None }
    }

    /// Returns the audience and the priority of the block (`annotations`), as sent.
    pub fn annotations(&self) -> Option<&Value> {
        self.other("annotations")
    }

    /// Returns `_meta` of the block.
    pub fn meta(&self) -> Option<&Value> {
        self.other("_meta")
    }

    fn other(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Text { extra, .. }
            | Self::Image { extra, .. }
            | Self::Audio { extra, .. }
            | Self::Resource { extra, .. } => extra.get(key),
            Self::ResourceLink { link: block, .. } | Self::Other(block) => block.get(key),
        }
    }
}

/// Writes the whole block, of which the URI is a part.
fn as_sent<S: Serializer>(_: &str, block: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    block.serialize(serializer)
}
