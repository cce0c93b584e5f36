//! Tests that the described signature of a handler matches its code, for every tool of every list and both backends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mcp_bindgen_codegen::{Bindings, Options};
use mcp_bindgen_model::{Snapshot, Types};
use quote::ToTokens;
use syn::{FnArg, GenericArgument, Item, ItemFn, ItemMod, PathArguments, ReturnType, Type};

/// Returns the type of a handler's parameters, and the type that it returns on success.
fn signature(handler: &ItemFn) -> (String, String) {
    let text = |tokens: &dyn ToTokens| tokens.to_token_stream().to_string().replace(' ', "");
    let Some(FnArg::Typed(params)) = handler.sig.inputs.get(1) else { panic!("no parameters") };
    let ReturnType::Type(_, returned) = &handler.sig.output else { panic!("nothing is returned") };
    let Type::Path(result) = &**returned else { panic!("no result") };
    let PathArguments::AngleBracketed(arguments) = &result.path.segments.last().unwrap().arguments else {
        panic!("no arguments")
    };
    let Some(GenericArgument::Type(ok)) = arguments.args.first() else { panic!("no type") };
    (text(&params.ty), text(ok))
}

fn check(types: Types) -> (usize, usize) {
    let (mut handlers, mut wrapped) = (0, 0);
    for folder in ["features", "lists", "snapshots", "hostile"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let snapshot = Snapshot::load(&path).unwrap();
            let options = Options::new("s").types(types);
            let module: ItemMod = syn::parse2(Bindings::generate(&snapshot, &options).0).unwrap();
            let items = module.content.iter().flat_map(|(_, items)| items);
            let found: BTreeMap<String, (String, String)> = items
                .filter_map(|item| match item {
                    Item::Fn(handler) => Some((handler.sig.ident.to_string(), signature(handler))),
                    _ => None,
                })
                .collect();
            for tool in Bindings::describe(&snapshot, &options).0 {
                let described = (tool.params_type.clone(), tool.returns.replace(' ', ""));
                assert_eq!(found[&tool.handler], described, "{}: {}", path.display(), tool.tool);
                handlers += 1;
                wrapped += usize::from(tool.output_type.is_some_and(|output| output != tool.returns));
            }
        }
    }
    (handlers, wrapped)
}

#[test]
fn described_signatures_match_the_handlers() {
    let (handlers, wrapped) = check(Types::Native);
    assert!(handlers > 200 && wrapped > 1, "{handlers} handlers, {wrapped} of them unwrap");
}

#[cfg(feature = "typify")]
#[test]
#[ignore = "takes seconds: .ci/run compiled"]
fn described_signatures_match_the_handlers_with_typify() {
    let (handlers, wrapped) = check(Types::Typify);
    assert!(handlers > 200 && wrapped > 1, "{handlers} handlers, {wrapped} of them unwrap");
}
