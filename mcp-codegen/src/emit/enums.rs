//! Lists of values.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::{TypeEmitter, docs};
use crate::names::{Style, ident, identifiers};
use crate::plan::Standard;
use mcp_schema::ShapeId;

/// The variant of an open enumeration that holds what the schema does not list.
const OTHER: &str = "Other";
/// The constant that lists the values, beside the variants.
const ALL: &str = "ALL";

impl TypeEmitter<'_, '_> {
    pub(super) fn text_enum(&self, id: ShapeId, values: &[String]) -> TokenStream {
        let krate = self.krate;
        let name = self.name(id);
        let docs = self.type_doc(id, &[]);
        // A constant stays one: it tells branches apart.
        let is_open = self.schema.is_answered(id) && values.len() > 1;
        let wires: Vec<&str> = values.iter().map(String::as_str).collect();
        let reserved: &[&str] = if is_open { &[ALL, OTHER] } else { &[ALL] };
        let variants: Vec<_> =
            identifiers(Style::Pascal, &wires, reserved, "value").iter().map(|name| ident(name)).collect();
        let docs = docs.and(&always(&wires));
        let described = wires.iter().map(|wire| docs::literal(wire));
        let allow = lints(wires.len());
        if is_open {
            let asked = self.asked(id, &[]);
            let other = ident(OTHER);
            return quote! {
                #docs
                #[derive(Clone, Debug, PartialEq, Eq, Hash #asked)]
                #allow
                pub enum #name {
                    #(#described #variants,)*
                    /// A value that the schema does not list.
                    #other(String),
                }
                #krate::__string_enum!(#name { #(#variants = #wires,)* } open #other);
            };
        }
        let asked = self.asked(id, &[Standard::Copy]);
        quote! {
            #docs
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash #asked)]
            #allow
            pub enum #name {
                #(#described #variants,)*
            }
            #krate::__string_enum!(#name { #(#variants = #wires,)* });
        }
    }

    pub(super) fn literal_enum(&self, id: ShapeId, values: &[Value]) -> TokenStream {
        let krate = self.krate;
        let name = self.name(id);
        let docs = self.type_doc(id, &[]);
        let texts: Vec<String> = values.iter().map(Value::to_string).collect();
        // A string reads as its content, so that `1` and `"1"` differ by their suffix.
        let wires: Vec<&str> = texts.iter().map(String::as_str).collect();
        let variants: Vec<_> =
            identifiers(Style::Pascal, &wires, &[ALL], "value").iter().map(|name| ident(name)).collect();
        let docs = docs.and(&always(&wires));
        let described = wires.iter().map(|wire| docs::literal(wire));
        let allow = lints(wires.len());
        let asked = self.asked(id, &[Standard::Copy]);
        quote! {
            #docs
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash #asked)]
            #allow
            pub enum #name {
                #(#described #variants,)*
            }
            #krate::__literal_enum!(#name { #(#variants = #wires,)* });
        }
    }
}

/// What to say of a constant.
fn always(wires: &[&str]) -> Vec<String> {
    match wires {
        [only] => vec![format!("Always {}.", docs::code(only))],
        _ => Vec::new(),
    }
}

/// The names are the server's: they may all begin alike.
pub(super) fn lints(variants: usize) -> TokenStream {
    if variants > 2 { quote!(#[allow(clippy::enum_variant_names)]) } else { TokenStream::new() }
}
