//! The bindings of a list, and the same types by hand.

use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_schema::Role;
use mcp_samples::corpus::List;
use mcp_samples::{Fallible, by_hand};

pub(crate) struct Bound {
    pub(crate) list: List,
    pub(crate) ours: String,
    pub(crate) by_hand: String,
    /// Place of the tool, role, type.
    pub(crate) types: Vec<(usize, Role, String)>,
}

pub(crate) fn bind(list: List) -> Fallible<Bound> {
    let options = Options::new(&list.name).module("bindings").prefix(mcp_bindgen_model::Prefix::None);
    let ours = format(Bindings::generate(&list.snapshot, &options).0)?;
    let by_hand = by_hand(&ours).map_err(|error| format!("{}: {error}", list.name))?.source;
    let mut types = Vec::new();
    for tool in Bindings::describe(&list.snapshot, &options).0 {
        let named = [(Role::Input, Some(tool.params_type)), (Role::Output, tool.output_type)];
        // A type that the module does not define has no counterpart by hand.
        let named = named.into_iter().filter_map(|(role, ty)| Some((role, ty?)));
        types.extend(named.filter(|(_, ty)| is_defined(&by_hand, ty)).map(|(role, ty)| (tool.index, role, ty)));
    }
    Ok(Bound { list, ours, by_hand, types })
}

fn is_defined(source: &str, ty: &str) -> bool {
    ["struct", "enum"].iter().any(|kind| {
        let definition = format!("pub {kind} {ty}");
        source.match_indices(&definition).any(|(start, _)| {
            let after = source.get(start + definition.len()..).and_then(|rest| rest.chars().next());
            after.is_some_and(|next| !next.is_alphanumeric() && next != '_')
        })
    })
}
