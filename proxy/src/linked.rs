//! The resources that a server names in its results and tools, whether or not it lists them.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use lru::LruCache;
use mcp_bindgen_runtime::{Caller, Content, ToolResult};
use serde_json::Value;

use super::lock::lock;

/// The number of remembered URIs for each server, each with the caller whose result named it.
const MOST: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// The URIs in the results of a server, the latest ones.
pub(super) struct Linked(Mutex<LruCache<(String, String), ()>>);

impl Default for Linked {
    fn default() -> Self {
        // `LruCache::new` takes the memory of all of them at once.
        let mut latest = LruCache::unbounded();
        latest.resize(MOST);
        Self(Mutex::new(latest))
    }
}

impl Linked {
    /// Remembers the URIs of a caller's result.
    pub(super) fn note(&self, caller: &Caller, result: &ToolResult) {
        let uris = result.content.iter().filter_map(|content| match content {
            Content::ResourceLink { uri, .. } => Some(uri.as_str()),
            Content::Resource { resource, .. } => resource.get("uri")?.as_str(),
            _ => None,
        });
        let mut linked = lock(&self.0);
        for uri in uris {
            linked.put((caller.key(), uri.to_owned()), ());
        }
    }

    pub(super) fn has(&self, caller: &Caller, uri: &str) -> bool {
        let key = (caller.key(), uri.to_owned());
        lock(&self.0).get(&key).is_some()
    }
}

/// Returns `true` if one of the tools has this resource as its user interface (MCP Apps).
pub(super) fn is_shown_by(tools: &[Value], uri: &str) -> bool {
    tools.iter().filter_map(|tool| tool.get("_meta")).any(|meta| {
        let shown = meta.pointer("/ui/resourceUri").or_else(|| meta.get("ui/resourceUri"));
        shown.and_then(Value::as_str) == Some(uri)
    })
}
