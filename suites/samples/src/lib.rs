//! Helpers shared by the test suites, so that each task has one implementation. They read the corpus, walk a schema
//! along a value, compare values, generate schemas, and write types by hand.

mod by_hand;
pub mod corpus;
mod differences;
mod nulls;
mod place;
mod random;
pub mod references;
pub mod schemas;
pub mod values;

use std::path::Path;

use mcp_bindgen_schema::Role;
use serde_json::Value;

pub use by_hand::{ByHand, by_hand};
pub use differences::{Difference, differences, same_number};
pub use nulls::without_needless_nulls;
pub use place::Place;
pub use random::{Random, from_environment, seed};

/// An error of a test suite, for people.
pub type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// The root of the repository.
#[must_use]
pub fn repository() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.ancestors().nth(2).unwrap_or(folder)
}

/// The name of a role, as the sample values of the corpus have it.
#[must_use]
pub fn role_name(role: Role) -> &'static str {
    match role {
        Role::Input => "input",
        Role::Output => "output",
    }
}

/// The role of that name.
#[must_use]
pub fn role_named(name: &str) -> Option<Role> {
    [Role::Input, Role::Output].into_iter().find(|role| role_name(*role) == name)
}

/// The key of a tool that holds its schema of that role.
#[must_use]
pub fn schema_key(role: Role) -> &'static str {
    match role {
        Role::Input => "inputSchema",
        Role::Output => "outputSchema",
    }
}

/// The schema of a tool.
#[must_use]
pub fn schema_of(tool: &Value, role: Role) -> Option<&Value> {
    tool.get(schema_key(role))
}
