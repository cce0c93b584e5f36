//! One schema by typify: prepared, generated, rewritten; or the reason why not.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::{Ident, TokenStream};
use quote::format_ident;
use schemars_08::schema::Schema;
use serde_json::Value;
use syn::File;
use typify_impl::{TypeSpace, TypeSpaceSettings};

use super::{Replacement, prepare, rewrite};
use crate::options::Options;

/// Returns the types of one schema, or why typify does not give them.
pub(super) fn types_of(schema: &Value, name: &str, module: &str, options: &Options) -> Result<Replacement, String> {
    let prepared = prepare::prepared(schema, name)?;
    prepare::check_conflicts(&prepared)?;
    let schemas: BTreeMap<String, Schema> =
        serde_json::from_value(Value::Object(prepared)).map_err(|error| first_line(&error.to_string()))?;
    let (tokens, root) =
        catch_unwind(AssertUnwindSafe(|| generate(schemas, name))).unwrap_or_else(|panic| Err(message(&*panic)))?;
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let file: File = syn::parse2(tokens).map_err(|error| format!("its code does not parse: {error}"))?;
    let facts = rewrite::describe(&file, &root, &required)?;
    let (module, private) = (format_ident!("{module}"), &options.private_path());
    Ok(Replacement {
        items: rewrite::module(file, &root, &facts.constructor(&root, private), private)?,
        wrapped: facts.field_type("result", &module).map(|ty| rewrite::rewritten(ty, private)),
        root,
        module,
    })
}

/// Returns typify's code, and the name of the root's type in it.
fn generate(schemas: BTreeMap<String, Schema>, name: &str) -> Result<(TokenStream, Ident), String> {
    let mut settings = TypeSpaceSettings::default();
    settings.with_derive("PartialEq".to_owned()).with_map_type("::std::collections::BTreeMap".to_owned());
    let mut space = TypeSpace::new(&settings);
    let root = Schema::new_ref(format!("{}{name}", prepare::DEFINITIONS));
    let id = space.add_ref_types(schemas).and_then(|()| space.add_type(&root));
    let root = id.and_then(|id| space.get_type(&id)).map_err(|error| first_line(&error.to_string()))?;
    let root = syn::parse2(root.ident()).map_err(|_| "it has no name for the root")?;
    Ok((space.to_stream(), root))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("it panics: {}", first_line(text.unwrap_or("(no message)")))
}

/// Returns the first line of a message, because typify prints whole schemas into its messages.
fn first_line(text: &str) -> String {
    const MOST: usize = 120;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}..", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
