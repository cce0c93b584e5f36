//! Learns schemas from results.
//!
//! Values become [`Sample`]s, and samples are merged, independent of order and repetition. A sample can be read back
//! from [its schema](Sample::schema) without loss.
//!
//! | seen | schema |
//! |---|---|
//! | integers and fractions | `number` |
//! | `null` and another type | `["string", "null"]` and the like |
//! | only `null` | anything, with a description |
//! | several types | `anyOf` with one schema for each |
//! | strings | `string`, never an enum |
//! | arrays | `array` of the merged items; without `items` if all were empty |
//! | objects | `properties`, and in `required` those of every object; others are allowed |
//! | objects with variable keys | `additionalProperties` of the merged values |
//!
//! An object has variable keys if one of them looks like an id (an integer, a UUID, 16 or more hexadecimal digits, a
//! date, a path, an email address), if there are more than 64 and none is in every object, or if there are more than
//! 256. Numbers that no Rust type holds exactly are anything (beyond 64 bits; fractions together with integers beyond
//! 2^53), and so are values nested deeper than 24 levels, or fewer if the schema would have more than 2,000
//! positions.
//!
//! [`schema_of_few`](Sample::schema_of_few) has no `required`: `x-in-every-result` lists these properties instead.
//!
//! The schema contains keys, but no values.
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

mod sample;
mod schema;

pub use sample::Sample;
