//! The opt-in backend: types by typify, for teams that want its validated newtypes. Where typify cannot take a schema,
//! or would take it wrongly, the tool keeps the generator's own types.

mod prepare;
mod references;
mod rewrite;
mod root;
mod same_names;

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proc_macro2::{Ident, TokenStream};
use quote::format_ident;
use schemars_08::schema::Schema;
use serde_json::Value;
use typify_impl::{TypeSpace, TypeSpaceSettings};

use crate::diagnostics::{BACKEND_FALLBACK, Diagnostics, Reporter};
use crate::options::Options;
use crate::plan::{Replacement, ToolPlan};

/// Replaces the types of every tool that typify can take.
pub(crate) fn replace(tools: &mut [ToolPlan<'_>], options: &Options, diagnostics: &mut Diagnostics) {
    for tool in tools {
        let input = attempt(tool.input_schema, &tool.names.params, &format!("{}_input", tool.names.handler), options);
        match input {
            Ok(types) => tool.input.replacement = Some(types),
            Err(reason) => say(tool, "/inputSchema", reason, diagnostics),
        }
        let Some(schema) = tool.output_schema else { continue };
        let output = attempt(schema, &tool.names.output, &format!("{}_output", tool.names.handler), options);
        match (output, &mut tool.output) {
            (Ok(types), Some(side)) => side.replacement = Some(types),
            (Err(reason), _) => say(tool, "/outputSchema", reason, diagnostics),
            (Ok(_), None) => {}
        }
    }
}

fn say(tool: &ToolPlan<'_>, side: &'static str, reason: String, diagnostics: &mut Diagnostics) {
    let mut reporter = Reporter::new(tool.wire, tool.index, side);
    reporter.say(BACKEND_FALLBACK, "", reason);
    diagnostics.append(reporter.finish());
}

/// The types of one schema, or why typify does not give them.
fn attempt(schema: &Value, name: &str, module: &str, options: &Options) -> Result<Replacement, String> {
    let prepared = prepare::prepared(schema, name)?;
    references::check(&prepared)?;
    same_names::check(&prepared)?;
    let schemas: BTreeMap<String, Schema> =
        serde_json::from_value(Value::Object(prepared)).map_err(|error| shortened(&error.to_string()))?;
    let generated =
        catch_unwind(AssertUnwindSafe(|| generate(schemas, name))).unwrap_or_else(|panic| Err(message(&*panic)))?;
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut file = rewrite::checked(generated.tokens)?;
    rewrite::rewrite(&mut file, &generated.root, &options.crate_path)?;
    let facts = root::describe(&file, &generated.root, &required);
    let module = format_ident!("{module}");
    Ok(Replacement {
        items: rewrite::module(&file, &generated.root, &facts, &options.crate_path),
        wrapped: facts.field_type("result", &module),
        root: generated.root,
        module,
    })
}

struct Generated {
    tokens: TokenStream,
    root: Ident,
}

fn generate(schemas: BTreeMap<String, Schema>, name: &str) -> Result<Generated, String> {
    let mut settings = TypeSpaceSettings::default();
    settings.with_derive("PartialEq".to_owned());
    settings.with_map_type("::std::collections::BTreeMap".to_owned());
    let mut space = TypeSpace::new(&settings);
    space.add_ref_types(schemas).map_err(|error| shortened(&error.to_string()))?;
    let root = Schema::new_ref(format!("{}{name}", prepare::DEFINITIONS));
    let id = space.add_type(&root).map_err(|error| shortened(&error.to_string()))?;
    let root = space.get_type(&id).map_err(|error| shortened(&error.to_string()))?;
    let root = syn::parse2(root.ident()).map_err(|_| "it has no name for the root")?;
    Ok(Generated { tokens: space.to_stream(), root })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("it panics: {}", shortened(text.unwrap_or("(no message)")))
}

/// typify prints whole schemas into its messages.
fn shortened(text: &str) -> String {
    const MOST: usize = 120;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}..", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
