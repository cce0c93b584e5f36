//! Options of a server's generated code: `unknown` and `[servers.x.rust]`. They are not used at run time, so the
//! configuration in bindings leaves them out.

use super::ConfigPlace;
use crate::words::words;

words! {
    /// The handling of properties that a schema does not declare.
    pub enum UnknownKeys {
        /// They are not kept.
        #[default]
        Ignore = "ignore",
        /// They are kept, in a field `extra`.
        Keep = "keep",
    }
}

/// `[servers.x.rust]`: options of generated code. They never change the JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RustConfig {
    /// Additional derives; their keys are empty.
    pub derive: Vec<RustRule>,
    /// New names for tools and properties, by place.
    pub rename: Vec<RustRule>,
    /// Types of the program for definitions, by pointer.
    pub extern_types: Vec<RustRule>,
    /// Shapes that become one type wherever they occur, by the type's name.
    pub shared: Vec<RustRule>,
    /// Switches by key, `true` or `false`.
    pub switches: Vec<RustRule>,
}

/// An entry of `[servers.x.rust]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RustRule {
    /// The key; empty in a list.
    pub key: String,
    /// The value.
    pub value: String,
    /// The position of the entry.
    pub place: ConfigPlace,
}

impl RustRule {
    /// Creates an entry that is in no file.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), place: ConfigPlace::default() }
    }
}
