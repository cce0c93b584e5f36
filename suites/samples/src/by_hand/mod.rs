//! The types of an expansion as somebody would write them by hand with serde's derives: the same fields, documentation
//! and derives, wire names by `rename`, what is not required as `Option`, unions by `tag` or `untagged`.
//!
//! Omits schemas that serde's attributes cannot express: required alternatives of keys, `null` beside absent, and tags
//! that are not strings.

mod tables;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Fields, GenericArgument, Ident, Item, ItemEnum, ItemStruct, LitStr, PathArguments, Type, parse_quote};

use crate::Fallible;
use tables::{Presence, Table, Tables};

/// Types by hand.
#[derive(Clone, Debug)]
pub struct ByHand {
    /// The Rust code; it needs `serde` with its derives, and `serde_json`.
    pub source: String,
    /// How many types there are.
    pub types: usize,
}

/// Writes the types of an expansion by hand.
///
/// # Errors
/// Returns an error if the expansion is not Rust, or a table has an unknown form.
pub fn by_hand(expanded: &str) -> Fallible<ByHand> {
    let items = syn::parse_file(expanded)?.items;
    let module = items.into_iter().find_map(|item| match item {
        Item::Mod(module) => module.content.map(|(_, items)| items),
        _ => None,
    });
    let items = module.ok_or("an expansion is a module")?;
    let tables = Tables::read(&items)?;
    let mut written: Vec<Item> = vec![
        parse_quote!(
            use serde::{Deserialize, Serialize};
        ),
        parse_quote!(
            use serde_json::{Map, Value};
        ),
        parse_quote!(
            use std::collections::BTreeMap;
        ),
    ];
    let mut types = 0;
    for item in items {
        let before = written.len();
        match item {
            Item::Struct(item) => written.extend(tables.get(&item.ident).map(|table| of_struct(item, table))),
            Item::Enum(item) => {
                if let Some(table) = tables.get(&item.ident) {
                    written.extend(values(&item.ident, table));
                    written.push(of_enum(item, table));
                }
            }
            _ => {}
        }
        types += usize::from(written.len() > before);
    }
    let file = parse_quote!(#![allow(unused_imports)] #(#written)*);
    Ok(ByHand { source: prettyplease::unparse(&file), types })
}

fn of_struct(mut item: ItemStruct, table: &Table) -> Item {
    item.attrs.push(parse_quote!(#[derive(Serialize, Deserialize)]));
    if table.denies {
        item.attrs.push(parse_quote!(#[serde(deny_unknown_fields)]));
    }
    if matches!(item.fields, Fields::Unnamed(_)) {
        item.attrs.push(parse_quote!(#[serde(transparent)]));
    }
    for field in &mut item.fields {
        field.ty = without_nullable(&field.ty);
        let Some(name) = &field.ident else { continue };
        if table.extra.as_ref() == Some(name) {
            field.attrs.push(parse_quote!(#[serde(flatten)]));
        } else if let Some((key, presence)) = table.fields.get(name) {
            let key = renamed(name, key);
            let said = match presence {
                // Or else it could be left out.
                Presence::Required if is(&field.ty, "Option") => Some(quote!(deserialize_with = "Option::deserialize")),
                Presence::Required => None,
                Presence::Optional => Some(quote!(skip_serializing_if = "Option::is_none")),
            };
            let said: Vec<TokenStream> = key.into_iter().chain(said).collect();
            if !said.is_empty() {
                field.attrs.push(parse_quote!(#[serde(#(#said),*)]));
            }
        }
    }
    Item::Struct(item)
}

fn of_enum(mut item: ItemEnum, table: &Table) -> Item {
    item.attrs.push(parse_quote!(#[derive(Serialize, Deserialize)]));
    if let Some(tag) = &table.tag {
        item.attrs.push(parse_quote!(#[serde(tag = #tag)]));
    } else if table.is_of_values {
        item.attrs.push(parse_quote!(#[serde(try_from = "Value", into = "Value")]));
        return Item::Enum(item);
    } else if table.variants.is_empty() {
        item.attrs.push(parse_quote!(#[serde(untagged)]));
    }
    for variant in &mut item.variants {
        match table.text_of(&variant.ident) {
            Some(wire) => {
                if let Some(renamed) = renamed(&variant.ident, wire) {
                    variant.attrs.push(parse_quote!(#[serde(#renamed)]));
                }
            }
            None if !table.variants.is_empty() => variant.attrs.push(parse_quote!(#[serde(untagged)])),
            None => {}
        }
        for field in &mut variant.fields {
            field.ty = without_nullable(&field.ty);
        }
    }
    Item::Enum(item)
}

/// How an enumeration of values that are not all strings is read and printed.
fn values(name: &Ident, table: &Table) -> Vec<Item> {
    if !table.is_of_values {
        return Vec::new();
    }
    let (variants, texts): (Vec<_>, Vec<_>) = table.variants.iter().map(|(variant, text)| (variant, text)).unzip();
    vec![
        parse_quote! {
            impl TryFrom<Value> for #name {
                type Error = &'static str;

                fn try_from(value: Value) -> Result<Self, Self::Error> {
                    match value.to_string().as_str() {
                        #(#texts => Ok(Self::#variants),)*
                        _ => Err("no such value"),
                    }
                }
            }
        },
        parse_quote! {
            impl From<#name> for Value {
                fn from(value: #name) -> Self {
                    let text = match value { #(#name::#variants => #texts,)* };
                    serde_json::from_str(text).unwrap_or_default()
                }
            }
        },
    ]
}

/// serde's own name of a field or a variant is the identifier without `r#`.
fn renamed(name: &Ident, wire: &LitStr) -> Option<TokenStream> {
    let name = name.to_string();
    (name.trim_start_matches("r#") != wire.value()).then(|| quote!(rename = #wire))
}

/// `Option` says the one thing that serde can say of `null`.
fn without_nullable(ty: &Type) -> Type {
    let mut ty = ty.clone();
    match &mut ty {
        Type::Path(path) => {
            for segment in &mut path.path.segments {
                if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
                    for argument in &mut arguments.args {
                        if let GenericArgument::Type(inner) = argument {
                            *inner = without_nullable(inner);
                        }
                    }
                }
                if segment.ident == "Nullable" {
                    segment.ident = format_ident!("Option");
                }
            }
        }
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(|inner| *inner = without_nullable(inner)),
        _ => {}
    }
    match inner_of(&ty, "Option") {
        Some(inner) if is(inner, "Option") => inner.clone(),
        _ => ty,
    }
}

fn is(ty: &Type, name: &str) -> bool {
    inner_of(ty, name).is_some()
}

/// The argument of a type of that name.
fn inner_of<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.first().and_then(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })
}

/// The text of tokens, for errors.
fn shown(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn written(module: &TokenStream) -> String {
        by_hand(&quote!(pub mod m { #module }).to_string()).unwrap().source
    }

    #[test]
    fn structs_have_the_serde_attributes_of_their_tables() {
        let source = written(&quote! {
            #[derive(Clone)]
            pub struct A { pub r#type: String, pub a_b: Option<String>, pub c: Option<Nullable<i64>>, pub d: Option<bool> }
            ::mcp_bindgen::__private::__object!(A { r#type: required "type", a_b: optional "aB", c: present "c", d: required "d", } deny any[&["a"]]);
            pub struct B { pub extra: BTreeMap<String, Value> }
            ::mcp_bindgen::__private::__object!(B {} tag "kind" extra extra);
            pub struct Untold;
        });
        let expected = [
            "#[serde(deny_unknown_fields)]\npub struct A {\n    pub r#type: String,",
            "#[serde(rename = \"aB\", skip_serializing_if = \"Option::is_none\")]\n    pub a_b: Option<String>,",
            "#[serde(skip_serializing_if = \"Option::is_none\")]\n    pub c: Option<i64>,",
            "#[serde(deserialize_with = \"Option::deserialize\")]\n    pub d: Option<bool>,",
            "pub struct B {\n    #[serde(flatten)]\n    pub extra: BTreeMap<String, Value>,",
        ];
        for expected in expected {
            assert!(source.contains(expected), "{expected}\n\nin\n\n{source}");
        }
        assert!(!source.contains("Untold"), "{source}");
    }

    #[test]
    fn enums_have_their_wire_names() {
        let source = written(&quote! {
            pub enum Open { A, Other(String) }
            ::mcp_bindgen::__private::__string_enum!(Open { A = "<=", } open Other);
            pub enum Tagged { Circle(Circle), Square(Square) }
            ::mcp_bindgen::__private::__tagged_union!(Tagged by "kind" { Circle = "circle", Square = "Square", });
            pub enum Either { Text(String), Rest(Value) }
            ::mcp_bindgen::__private::__untagged_union!(Either { Text, } rest Rest["number"]);
            pub enum Version { N2 }
            ::mcp_bindgen::__private::__literal_enum!(Version { N2 = "2", });
            pub struct List(pub Vec<Either>);
            ::mcp_bindgen::__private::__newtype!(List(Vec<Either>));
        });
        let expected = [
            "pub enum Open {\n    #[serde(rename = \"<=\")]\n    A,\n    #[serde(untagged)]\n    Other(String),",
            "#[serde(tag = \"kind\")]\npub enum Tagged {\n    #[serde(rename = \"circle\")]\n    Circle(Circle),\n    Square(Square),",
            "#[serde(untagged)]\npub enum Either {\n    Text(String),\n    Rest(Value),",
            "#[serde(try_from = \"Value\", into = \"Value\")]\npub enum Version {\n    N2,",
            "\"2\" => Ok(Self::N2)",
            "#[serde(transparent)]\npub struct List(pub Vec<Either>);",
        ];
        for expected in expected {
            assert!(source.contains(expected), "{expected}\n\nin\n\n{source}");
        }
    }

    #[test]
    fn unknown_table_form_is_an_error() {
        let error = by_hand("mod m { ::mcp_bindgen::__private::__object!(A [1]); }").unwrap_err().to_string();
        assert!(error.contains("__object"), "{error}");
    }
}
