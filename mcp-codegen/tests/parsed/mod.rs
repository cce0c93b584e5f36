//! Bindings, read back from their text: what they define in each scope, and where each type stands.

use std::collections::{BTreeMap, BTreeSet};

use mcp_bindgen_codegen::{Bindings, Options};
use mcp_bindgen_model::Snapshot;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use serde_json::{Value, json};
use syn::{
    Fields, FnArg, GenericArgument, GenericParam, ImplItem, Item, ItemMod, Pat, PathArguments, ReturnType, Signature,
    Type,
};

const PRELUDE: &str = include_str!("../../../runtime/src/generated/prelude.rs");
/// Paths of more steps are not followed.
const LONGEST_PATH: usize = 5;

/// The items that bindings define.
#[derive(Default)]
pub(crate) struct Parsed {
    pub(crate) types: BTreeSet<String>,
    /// The parameters and the result of each handler, as text.
    pub(crate) functions: BTreeMap<String, String>,
    /// The methods of each type.
    pub(crate) methods: BTreeMap<String, BTreeSet<String>>,
    /// The variants of each enum.
    pub(crate) variants: BTreeMap<String, BTreeSet<String>>,
    /// The fields of each type, by wire key, or by Rust name without one.
    held: BTreeMap<String, Vec<(String, Type)>>,
}

pub(crate) fn snapshot(tools: &[Value]) -> Snapshot {
    Snapshot::parse(&json!({ "tools": tools }).to_string()).expect("a list of tools is a snapshot")
}

impl Parsed {
    /// Reads the bindings of a list. Panics where a name stands twice in its scope, or shadows what the bindings use.
    pub(crate) fn of(tools: &[Value], options: &Options) -> Self {
        let tokens = Bindings::generate(&snapshot(tools), options).0;
        let module: ItemMod = syn::parse2(tokens).expect("bindings are one module");
        let mut parsed = Self::default();
        let mut values = BTreeSet::new();
        let mut keys = BTreeMap::new();
        let items = || module.content.iter().flat_map(|(_, items)| items);
        for item in items() {
            parsed.define(item, &mut values);
            if let Item::Macro(item) = item {
                let name = item.mac.path.segments.last().expect("a macro has a name").ident.to_string();
                parsed.check_table(&name, item.mac.tokens.clone(), &mut keys);
            }
        }
        for item in items() {
            let Item::Struct(item) = item else { continue };
            let type_name = item.ident.to_string();
            let held = item.fields.iter().enumerate().map(|(index, field)| {
                let name = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
                let key = keys.get(&(type_name.clone(), name.clone()));
                (key.cloned().unwrap_or_else(|| format!("<{name}>")), field.ty.clone())
            });
            parsed.held.insert(type_name.clone(), held.collect());
        }
        for reserved in PRELUDE.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()) {
            assert!(!parsed.types.contains(reserved), "the type `{reserved}` shadows what bindings use");
        }
        parsed
    }

    fn define(&mut self, item: &Item, values: &mut BTreeSet<String>) {
        match item {
            Item::Struct(item) => {
                let name = item.ident.to_string();
                assert!(self.types.insert(name.clone()), "the type `{name}` twice");
                if matches!(item.fields, Fields::Unnamed(_)) {
                    assert!(values.insert(name.clone()), "the value `{name}` twice");
                }
                let fields = item.fields.iter().filter_map(|field| field.ident.as_ref()).map(ToString::to_string);
                distinct(fields, &format!("a field of `{name}`"));
                for parameter in &item.generics.params {
                    let GenericParam::Type(parameter) = parameter else { panic!("a parameter that is no type") };
                    assert_ne!(parameter.ident, name, "the type parameter of `{name}`");
                }
            }
            Item::Enum(item) => {
                let name = item.ident.to_string();
                assert!(self.types.insert(name.clone()), "the type `{name}` twice");
                let variants = item.variants.iter().map(|variant| variant.ident.to_string());
                self.variants.insert(name.clone(), distinct(variants, &format!("a variant of `{name}`")));
                let held = item.variants.iter().flat_map(|variant| {
                    variant.fields.iter().map(|field| (format!("<{}>", variant.ident), field.ty.clone()))
                });
                self.held.insert(name, held.collect());
            }
            Item::Fn(item) => {
                let name = item.sig.ident.to_string();
                arguments(&item.sig);
                assert!(values.insert(name.clone()), "the function `{name}` twice");
                self.functions.insert(name, signature(&item.sig));
            }
            Item::Const(item) => assert!(values.insert(item.ident.to_string()), "the constant `{}` twice", item.ident),
            Item::Impl(item) => {
                let Type::Path(path) = item.self_ty.as_ref() else { panic!("a type of its own") };
                let name = path.path.segments.last().expect("a type has a name").ident.to_string();
                let own = self.methods.entry(name.clone()).or_default();
                for item in &item.items {
                    let ImplItem::Fn(method) = item else { continue };
                    arguments(&method.sig);
                    assert!(
                        own.insert(method.sig.ident.to_string()),
                        "the method `{}` of `{name}` twice",
                        method.sig.ident
                    );
                }
            }
            _ => {}
        }
    }

    /// Reads the keys of a table of fields; a list of values has a constant beside its variants.
    fn check_table(&self, name: &str, table: TokenStream, keys: &mut BTreeMap<(String, String), String>) {
        let tokens: Vec<TokenTree> = table.into_iter().collect();
        let [TokenTree::Ident(type_name), TokenTree::Group(group), ..] = tokens.as_slice() else { return };
        let type_name = type_name.to_string();
        if name == "__object" {
            let fields: Vec<TokenTree> = group.stream().into_iter().collect();
            for field in fields.chunks(5) {
                let [TokenTree::Ident(field), _, _, TokenTree::Literal(key), _] = field else { panic!("{field:?}") };
                let key: String = syn::parse_str::<syn::LitStr>(&key.to_string()).expect("a key").value();
                keys.insert((type_name.clone(), field.to_string()), key);
            }
        } else if matches!(name, "__string_enum" | "__literal_enum") {
            let has_all = self.variants.get(&type_name).is_some_and(|variants| variants.contains("ALL"));
            assert!(!has_all, "`{type_name}::ALL` is a variant and a constant");
        }
    }

    /// The name of each type under each path of wire keys that leads to it from this one.
    pub(crate) fn paths(&self, root: &str) -> BTreeSet<(Vec<String>, String)> {
        let mut paths = BTreeSet::new();
        let mut pending = vec![(Vec::new(), root.to_owned())];
        while let Some((path, name)) = pending.pop() {
            if path.len() < LONGEST_PATH {
                for (key, ty) in self.held.get(&name).into_iter().flatten() {
                    let mut inside = path.clone();
                    inside.push(key.clone());
                    self.leaves(ty, inside, &mut pending);
                }
            }
            paths.insert((path, name));
        }
        paths
    }

    fn leaves(&self, ty: &Type, path: Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
        let into = |step: &str| path.iter().cloned().chain([step.to_owned()]).collect::<Vec<_>>();
        match ty {
            Type::Path(ty) => {
                let last = ty.path.segments.last().expect("a type has a name");
                let name = last.ident.to_string();
                if self.types.contains(&name) {
                    found.push((path, name));
                } else if let PathArguments::AngleBracketed(arguments) = &last.arguments {
                    let Some(GenericArgument::Type(inner)) = arguments.args.last() else { return };
                    let is_container = matches!(&*name, "Vec" | "BTreeMap");
                    self.leaves(inner, if is_container { into(&format!("<{name}>")) } else { path }, found);
                }
            }
            Type::Tuple(tuple) => {
                for (index, ty) in tuple.elems.iter().enumerate() {
                    self.leaves(ty, into(&format!("<{index}>")), found);
                }
            }
            _ => {}
        }
    }
}

/// `(Params) -> Output` of a handler, which takes a client as well and returns a `Result`.
fn signature(signature: &Signature) -> String {
    let text = |tokens: &dyn ToTokens| tokens.to_token_stream().to_string().replace(' ', "");
    let params = signature.inputs.iter().nth(1).map(|argument| match argument {
        FnArg::Typed(argument) => text(&argument.ty),
        FnArg::Receiver(_) => String::new(),
    });
    let ReturnType::Type(_, result) = &signature.output else { panic!("a handler without a result") };
    let result = text(result);
    let output = result.strip_prefix("Result<").and_then(|rest| rest.strip_suffix(",CallError>")).expect("a `Result`");
    format!("({}) -> {}", params.unwrap_or_default(), output.replace(',', ", ").replace(", )", ",)"))
}

fn arguments(signature: &Signature) {
    let names = signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(argument) => match argument.pat.as_ref() {
            Pat::Ident(name) => Some(name.ident.to_string()),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    distinct(names, &format!("an argument of `{}`", signature.ident));
}

fn distinct(names: impl Iterator<Item = String>, what: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(seen.insert(name.clone()), "{what} twice: `{name}`");
    }
    seen
}
