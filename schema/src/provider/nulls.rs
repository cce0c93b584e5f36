//! The way back: what a strict model has to send as `null` is absent for the server.

use serde_json::Value;

/// The nulls that an original schema does not have.
#[derive(Clone, Debug)]
pub struct Nulls {}

impl Nulls {
    /// Those of a schema.
    #[must_use]
    pub fn of(_schema: &Value) -> Self {
        Self {}
    }

    /// Takes out of what a model sent each `null` of a property that the schema does not require and that cannot be `null`,
    /// at every depth.
    pub fn take_out(&self, _arguments: &mut Value) {}
}
