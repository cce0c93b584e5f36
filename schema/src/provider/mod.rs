//! The subset of JSON Schema that each provider takes, and the way back from what a model sends.
//!
//! A schema is rewritten for one provider at a time: [`strict`]ly, where its subset allows that, so that the model can
//! send nothing else; [`loose`]ly otherwise. What a provider has no words for goes to the description, and a call is to be
//! validated against the original schema all the same. What a model sends goes through [`Nulls::take_out`] first.
//!
//! Both are printed from the [shapes](crate::Shapes) of the schema, so every dialect, reference and combination is read the
//! way that all else reads it, and what is too large for the shapes is anything here too.
//!
//! ```
//! use mcp_bindgen_schema::provider::{Dialect, Nulls, strict};
//! use serde_json::json;
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {"path": {"type": "string", "minLength": 1}, "depth": {"type": "integer"}},
//!     "required": ["path"],
//! });
//! let rewrite = strict(&schema, Dialect::OpenAi).unwrap();
//! assert_eq!(rewrite.schema, json!({
//!     "type": "object",
//!     "properties": {
//!         "path": {"type": "string", "description": "Not empty"},
//!         "depth": {"type": ["integer", "null"]},
//!     },
//!     "required": ["path", "depth"],
//!     "additionalProperties": false,
//! }));
//!
//! let mut sent = json!({"path": "src", "depth": null});
//! Nulls::of(&schema).take_out(&mut sent);
//! assert_eq!(sent, json!({"path": "src"}));
//! ```

mod apart;
mod definitions;
mod limits;
mod names;
mod notes;
mod nulls;
mod objects;
mod print;
mod reading;
mod rewrite;
mod root;
mod subset;
mod words;

pub use nulls::Nulls;
pub use rewrite::{Dialect, Load, Lost, NotStrict, Renamed, Rewrite, loose, strict};
