//! Command-line flags for the arguments of a tool: their names and values, parsing a command line, and printing
//! arguments as one.
//!
//! Values are parsed by the [shapes](crate::Shapes) of the tool's schema; nothing is guessed or added. `--NAME VALUE`
//! or `--NAME=VALUE`:
//!
//! - NAME is the property's exact name, or its kebab case if that is unique. Dots select members of objects and maps:
//!   `--env.KEY v`.
//! - `--NAME:=JSON` is JSON for any property: `null`, `[]`, objects. `--NAME:=@FILE` reads it from a file, `:=@-`
//!   from the standard input.
//! - Strings are taken literally: `007`, `true`, an empty one. Numbers are JSON numbers; an integer that would lose
//!   digits is an error. If several types are possible, a value that is exactly the JSON of one that is not a string
//!   has that type, and every other value is a string; `null` is a string if strings are possible.
//! - `--NAME` and `--no-NAME` are `true` and `false`, and take no value.
//! - Flags of arrays can be repeated: each `--NAME VALUE` is one element. A single JSON array is the whole array if
//!   all its elements are valid, unless it is valid as an element. Other flags cannot be repeated.
//! - For strings, `@FILE` reads a file, `@-` the standard input, and `@@x` is `@x`.
//! - `--args JSON`, `--args @FILE` or `--args -` is the base, in which flags override values.
//! - `--arg NAME=VALUE` and `--arg NAME:=JSON` set any property, also one with the name of the program's own options,
//!   which take precedence as flags; a name with `=` is written as a JSON string.
//!
//! ```
//! use mcp_bindgen_schema::flags::{Flags, OwnOption};
//! use serde_json::json;
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {
//!         "owner": {"type": "string"},
//!         "perPage": {"type": "integer"},
//!         "labels": {"type": "array", "items": {"type": "string"}},
//!         "draft": {"type": "boolean"},
//!         "format": {"enum": ["json", "csv"]},
//!     },
//!     "required": ["owner"],
//! });
//! let flags = Flags::new(&schema, [OwnOption::new("format").takes_value()]);
//!
//! let words = ["--owner", "007", "--per-page", "-1", "--labels", "a", "--labels=b,c", "--no-draft", "--arg", "format=csv"];
//! let words = words.map(str::to_owned);
//! let arguments = flags.parse(&words, &mut |_| Err("no file is read here".to_owned())).unwrap();
//! let expected = json!({"owner": "007", "perPage": -1, "labels": ["a", "b,c"], "draft": false, "format": "csv"});
//! assert_eq!(arguments, *expected.as_object().unwrap());
//!
//! let faults = flags.parse(&["--ownr=x".to_owned()], &mut |_| Err(String::new())).unwrap_err();
//! let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
//! assert_eq!(faults, [
//!     "the tool has no argument `ownr`\n  = help: did you mean `--owner`?",
//!     "`--owner <STRING>` is required",
//! ]);
//! ```

mod describe;
mod names;
mod parse;
mod print;
mod typed;
mod view;
mod words;

use std::fmt;
use std::sync::atomic::AtomicUsize;

use mcp_bindgen_model::printable;
use serde_json::Value;

use crate::Role;
use crate::diagnostics::Reporter;
use crate::document::Document;
use crate::shape::{ShapeId, Shapes, Slot};

pub use describe::Flag;
pub use parse::FileRef;
use view::View;
pub use words::{OwnOption, Split};

/// The flags of one tool.
#[derive(Debug)]
pub struct Flags {
    shapes: Shapes,
    root: ShapeId,
    own: Vec<OwnOption>,
    described: Vec<Flag>,
    /// The number of times that names were split, which bounds the list.
    splits: AtomicUsize,
}

impl Flags {
    /// Reads a tool's `inputSchema`. Never fails: properties without a type accept any value. `own` are the options
    /// of the program, which take precedence over properties; `args` and `arg` are always among them.
    #[must_use]
    pub fn new(schema: &Value, own: impl IntoIterator<Item = OwnOption>) -> Self {
        let document = Document::read(schema, Role::Input, &mut Reporter::new("", 0, "/inputSchema"));
        let Document { schemas, shapes, root, .. } = document;
        let (own, mut described) = (own.into_iter().collect(), Vec::new());
        let mut flags = Self { shapes, root, own, described: Vec::new(), splits: AtomicUsize::new(0) };
        flags.describe(&schemas, &flags.root_view(), None, &[], &mut described);
        flags.described = described;
        flags
    }

    /// Returns the flags, in the order of the schema; those inside an object follow the object's own. Very large
    /// tools and deeply nested objects are truncated.
    #[must_use]
    pub fn list(&self) -> &[Flag] {
        &self.described
    }

    /// Returns `true` if the tool accepts undeclared arguments, which `--arg` sends.
    #[must_use]
    pub fn takes_undeclared(&self) -> bool {
        self.root_view().undeclared().is_some()
    }

    fn root_view(&self) -> View<'_> {
        View::of(&self.shapes, [Slot { shape: self.root, nullable: false }])
    }
}

/// An error in the arguments of a call. All texts are safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlagFault {
    /// The kind of error.
    pub kind: FlagFaultKind,
    /// The error.
    pub message: String,
    /// The next step.
    pub help: Option<String>,
}

/// The kinds of [`FlagFault`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlagFaultKind {
    /// The tool has no such property.
    Unknown,
    /// The name could be that of several properties.
    Ambiguous,
    /// A word that belongs to no flag.
    Stray,
    /// A flag without its value.
    NoValue,
    /// The value is invalid for the property.
    Value,
    /// A value that must be JSON is not, or a number in it cannot be sent exactly as written.
    Json,
    /// A property that takes one value was given several.
    Twice,
    /// A file, or the standard input, cannot be read.
    Unreadable,
    /// An option of the program, in place of a property.
    Own,
    /// A required property was not given.
    Missing,
}

impl FlagFault {
    fn new(kind: FlagFaultKind, message: &str, help: Option<String>) -> Self {
        Self { kind, message: printable(message), help: help.map(|help| printable(&help)) }
    }
}

impl fmt::Display for FlagFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.message)?;
        match &self.help {
            Some(help) => write!(formatter, "\n  = help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FlagFault {}
