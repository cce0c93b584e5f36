//! minijinja, as all text here is made with it.

use std::collections::BTreeSet;

use minijinja::{AutoEscape, Environment, Error, Template, UndefinedBehavior};

use crate::text::line;

/// The work limit of one text, in instructions, or in pieces of 64 bytes of output. Real templates stay far below it,
/// and 64 MiB of text fit.
const FUEL: u64 = 2_000_000;

/// Creates an environment in which templates read only their inputs: no files and no other templates.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment
}

/// minijinja's own words, without the template around them.
pub(crate) fn in_words(error: &Error) -> String {
    let kind = error.kind();
    line(&error.detail().map_or_else(|| kind.to_string(), |detail| format!("{kind}: {detail}")))
}

/// Returns the variables that a template uses and does not set, without globals.
pub(crate) fn undeclared(template: &Template<'_, '_>, environment: &Environment<'_>) -> BTreeSet<String> {
    let is_global = |name: &String| environment.globals().any(|(global, _)| global == name);
    template.undeclared_variables(false).into_iter().filter(|name| !is_global(name)).collect()
}
