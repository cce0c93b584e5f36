//! Learning from results: a schema of every value that was seen, which also reads the next one.
//!
//! Values become [`Sample`]s, and samples are merged. Neither their order nor how often one is seen makes a difference, and
//! a sample that was read back from [its schema](Sample::schema) goes on as if it had never been written.
//!
//! | seen | schema |
//! |---|---|
//! | a whole number, and one with a fraction | `number` |
//! | `null` beside something else | `["string", "null"]` and the like |
//! | `null` alone | anything, with a description that says so |
//! | several kinds | `anyOf`, one of a kind |
//! | strings | `string`: that few were seen is no promise, so there are no enums |
//! | arrays | `array` of everything that any of their items was; without `items` where all were empty |
//! | objects | `properties`; `required` are those that every object at this place had; others may come |
//! | objects under changing keys | `additionalProperties` of everything that any of their values was |
//!
//! An object has changing keys where one of them looks like an id (a whole number, a UUID, 16 or more hexadecimal
//! digits, a date, a path, a mail address), where there are more than 64 of which none is always there, or where there are
//! more than 256. Numbers that one type of Rust cannot hold exactly are anything (beyond 64 bits; fractions beside whole
//! ones beyond 2^53), and so is what nests deeper than 24 levels, or less deep where the schema would have more than 2,000
//! places.
//!
//! [`schema_of_few`](Sample::schema_of_few) requires nothing yet: `x-in-every-result` has what would be required.
//!
//! No value that was seen is in the schema, keys alone are.
//!
//! ```
//! use mcp_bindgen_schema::infer::Sample;
//! use serde_json::json;
//!
//! let mut seen = Sample::of(&json!({ "number": 1, "title": "It broke", "body": null }));
//! seen.merge(&Sample::of(&json!({ "number": 2, "title": "Again", "body": "It did.", "labels": [] })));
//! assert_eq!(seen.schema(), json!({
//!     "type": "object",
//!     "properties": {
//!         "body": { "type": ["string", "null"] },
//!         "labels": { "type": "array" },
//!         "number": { "type": "integer" },
//!         "title": { "type": "string" },
//!     },
//!     "required": ["body", "number", "title"],
//! }));
//! assert_eq!(Sample::of_schema(&seen.schema()), Some(seen));
//! ```

mod keys;
mod print;
mod read;
mod sample;

pub use sample::Sample;
