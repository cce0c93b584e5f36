//! The meaning of an MCP server's JSON Schemas. A schema document is read once, into the [`Shapes`] that its values can
//! have, and everything that has a question about a schema asks them: the generator, drift, the command line.
//!
//! ```
//! use mcp_bindgen_schema::diagnostics::Reporter;
//! use mcp_bindgen_schema::{Document, Role, Shape};
//!
//! let schema = serde_json::json!({"type": "object", "properties": {"owner": {"type": "string"}}});
//! let mut reporter = Reporter::new("create_issue", 0, "/inputSchema");
//! let document = Document::read(&schema, Role::Input, &mut reporter);
//! let Shape::Struct(object) = document.shapes.get(document.root) else { panic!("an object with properties") };
//! assert_eq!(object.fields[0].wire, "owner");
//! ```

mod alike;
mod bundle;
mod checks;
pub mod diagnostics;
mod document;
pub mod drift;
#[cfg(feature = "flags")]
pub mod flags;
#[cfg(feature = "infer")]
pub mod infer;
#[cfg(feature = "provider")]
mod joined;
mod keys;
mod lower;
pub mod names;
mod normalize;
mod number;
#[cfg(feature = "provider")]
pub mod provider;
mod shape;
mod texts;
mod view;
mod wrapper;

pub use alike::{Alike, Class};
pub use bundle::{Bundle, Draft, NAMED_SCHEMAS, SCHEMA, SCHEMA_LIST, Target, below, lookup, subschemas};
pub use checks::Checks;
pub use document::Document;
#[cfg(feature = "provider")]
pub use joined::JoinedTools;
pub use normalize::{Kinds, SchemaId, Schemas};
pub use number::same;
pub use shape::{
    Branch, Field, Presence, Role, Shape, ShapeId, Shapes, Slot, StructShape, TagKey, UnionShape, Unknown,
};
#[cfg(feature = "provider")]
pub use texts::{descriptions, visible_texts};
pub use texts::{listed, shortened};
pub use view::{apply_views, declared_arguments, type_in_words, viewed_tool};
pub use wrapper::{WRAPPER_FIELD, wrapped_field, wraps_result};
