//! The bindings of a list, by both backends.

use std::collections::HashMap;

use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_model::Types;
use mcp_bindgen_schema::Role;
use mcp_samples::Fallible;
use mcp_samples::corpus::List;

use crate::differential::report::Report;

const FALLBACK: &str = "MCP0015";

pub(crate) struct Bound {
    pub(crate) list: List,
    /// The Rust code by each backend.
    pub(crate) native: String,
    pub(crate) typify: String,
    /// The schemas that typify took: place of the tool, role, type.
    pub(crate) taken: Vec<(usize, Role, String)>,
}

pub(crate) fn bind(list: List, report: &mut Report) -> Fallible<Bound> {
    let options =
        |types| Options::new(&list.name).module("bindings").prefix(mcp_bindgen_model::Prefix::None).types(types);
    let code = |types| format(Bindings::generate(&list.snapshot, &options(types)).0);
    let native = code(Types::Native)?;
    let typify = code(Types::Typify)?;
    let mut taken = Vec::new();
    let (tools, diagnostics) = Bindings::describe(&list.snapshot, &options(Types::Typify));
    let mut refused: HashMap<(usize, Role), &str> = HashMap::new();
    for said in diagnostics.iter().filter(|said| said.code.id == FALLBACK) {
        refused.insert((said.index, role_of(&said.pointer)), &said.message);
    }
    for tool in &tools {
        let schemas = [(Role::Input, Some(&tool.params_type)), (Role::Output, tool.output_type.as_ref())];
        for (role, name) in schemas {
            let Some(name) = name else { continue };
            match refused.get(&(tool.index, role)) {
                Some(reason) => report.refused(reason),
                None => {
                    report.taken += 1;
                    taken.push((tool.index, role, name.clone()));
                }
            }
        }
    }
    Ok(Bound { native, typify, taken, list })
}

fn role_of(pointer: &str) -> Role {
    if pointer.starts_with("/outputSchema") { Role::Output } else { Role::Input }
}
