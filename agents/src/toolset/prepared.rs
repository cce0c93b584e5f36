//! The state of a tool's schema for calls, made once.

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::validate::{UnusableSchema, Validator, Violation};
use mcp_bindgen_schema::provider::Nulls;
use serde_json::Value;

use super::entry::Entry;

impl Entry {
    /// Returns the nulls that a strict model has to send, and a server does not expect.
    pub(super) fn nulls(&self) -> &Nulls {
        self.nulls.get_or_init(|| Nulls::of(&self.input_schema))
    }

    /// Checks arguments against the schema, if it is usable. A faulty schema is not an error of the model, and the
    /// server decides in the end.
    pub(super) fn check(&self, arguments: &Value) -> Result<(), Violation> {
        self.validator().map_or(Ok(()), |validator| validator.check(arguments))
    }

    /// Returns the faults of arguments, but no more than `most`.
    pub(super) fn violations(&self, arguments: &Value, most: usize) -> Vec<Violation> {
        self.validator().map_or_else(Vec::new, |validator| validator.violations(arguments, most))
    }

    fn validator(&self) -> Option<&Validator> {
        let made = || {
            let unusable = |error: UnusableSchema| {
                let why = printable(&error.to_string());
                tracing::debug!("arguments are not validated, because the schema is unusable: {why}");
            };
            Validator::new(&self.input_schema).map_err(unusable).ok()
        };
        self.validator.get_or_init(made).as_ref()
    }
}
