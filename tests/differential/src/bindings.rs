//! The bindings of a list, by both backends.

use std::collections::HashMap;

use mcp_codegen::{Bindings, Options, format};
use mcp_model::Types;

use crate::Fallible;
use crate::corpus::List;
use crate::report::Report;

const FALLBACK: &str = "MCP0015";

pub(crate) struct Bound {
    pub(crate) list: List,
    /// The Rust code by each backend.
    pub(crate) native: String,
    pub(crate) typify: String,
    /// The sides that typify took: place of the tool, side, type.
    pub(crate) taken: Vec<(usize, &'static str, String)>,
}

pub(crate) fn bind(list: List, report: &mut Report) -> Fallible<Bound> {
    let options = |types| Options::new(&list.name).module("bindings").prefix(mcp_model::Prefix::None).types(types);
    let code = |types| format(Bindings::generate(&list.snapshot, &options(types)).0);
    let native = code(Types::Native)?;
    let typify = code(Types::Typify)?;
    let mut taken = Vec::new();
    let (tools, diagnostics) = Bindings::describe(&list.snapshot, &options(Types::Typify));
    let mut refused: HashMap<(usize, &str), &str> = HashMap::new();
    for said in diagnostics.iter().filter(|said| said.code.id == FALLBACK) {
        refused.insert((said.index, side_of(&said.pointer)), &said.message);
    }
    for tool in &tools {
        let sides = [("input", Some(&tool.params_type)), ("output", tool.output_type.as_ref())];
        for (side, name) in sides {
            let Some(name) = name else { continue };
            match refused.get(&(tool.index, side)) {
                Some(reason) => report.refused(reason),
                None => {
                    report.taken += 1;
                    taken.push((tool.index, side, name.clone()));
                }
            }
        }
    }
    Ok(Bound { native, typify, taken, list })
}

fn side_of(pointer: &str) -> &'static str {
    if pointer.starts_with("/outputSchema") { "output" } else { "input" }
}
