//! Lists of values.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use serde_json::Value;

use super::{TypeEmitter, docs};
use crate::names::{self, Enumeration, ident};
use crate::plan::Standard;
use mcp_bindgen_schema::{Shape, ShapeId, Slot};

/// The variant of an open enumeration for unlisted values.
const OTHER: &str = "Other";

impl TypeEmitter<'_, '_> {
    pub(super) fn text_enum(&self, id: ShapeId, values: &[String]) -> TokenStream {
        let private = self.private;
        let name = self.name(id);
        let docs = self.type_doc(id, &[]);
        // A constant is never open, because it distinguishes branches.
        let is_open = self.schema.is_answered(id) && values.len() > 1;
        let wires: Vec<&str> = values.iter().map(String::as_str).collect();
        let variants = variants(&wires, if is_open { Enumeration::Open } else { Enumeration::Closed });
        let docs = docs.and(&always(&wires));
        let described = wires.iter().map(|wire| docs::literal(wire));
        let allow = lints(wires.len());
        if is_open {
            let asked = self.asked(id, &[Standard::PartialOrd, Standard::Ord]);
            let other = ident(OTHER);
            return quote! {
                #docs
                #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash #asked)]
                #allow
                pub enum #name {
                    #(#described #variants,)*
                    /// A value that the schema does not list.
                    #other(String),
                }
                #private::__string_enum!(#name { #(#variants = #wires,)* } open #other);
            };
        }
        let (default, is_default) = default_of(&wires);
        let mut has = vec![Standard::Copy, Standard::PartialOrd, Standard::Ord];
        has.extend((!default.is_empty()).then_some(Standard::Default));
        let asked = self.asked(id, &has);
        quote! {
            #docs
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash #default #asked)]
            #allow
            pub enum #name {
                #(#described #is_default #variants,)*
            }
            #private::__string_enum!(#name { #(#variants = #wires,)* });
        }
    }

    pub(super) fn literal_enum(&self, id: ShapeId, values: &[Value]) -> TokenStream {
        let private = self.private;
        let name = self.name(id);
        let docs = self.type_doc(id, &[]);
        let texts: Vec<String> = values.iter().map(Value::to_string).collect();
        // A string reads as its content, so that `1` and `"1"` differ by their suffix.
        let wires: Vec<&str> = texts.iter().map(String::as_str).collect();
        let variants = variants(&wires, Enumeration::Closed);
        let docs = docs.and(&always(&wires));
        let described = wires.iter().map(|wire| docs::literal(wire));
        let allow = lints(wires.len());
        let (default, is_default) = default_of(&wires);
        let mut has = vec![Standard::Copy];
        has.extend((!default.is_empty()).then_some(Standard::Default));
        let asked = self.asked(id, &has);
        quote! {
            #docs
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash #default #asked)]
            #allow
            pub enum #name {
                #(#described #is_default #variants,)*
            }
            #private::__literal_enum!(#name { #(#variants = #wires,)* });
        }
    }

    /// Returns the value of a place that can hold no other.
    pub(super) fn only_value(&self, slot: Slot) -> Option<TokenStream> {
        let wire = match self.schema.document.shapes.get(slot.shape) {
            Shape::Null => return Some(quote!(())),
            Shape::TextEnum(values) if !slot.nullable => values.iter().map(String::clone).collect(),
            Shape::LiteralEnum(values) if !slot.nullable => values.iter().map(Value::to_string).collect::<Vec<_>>(),
            _ => return None,
        };
        let [only] = wire.as_slice() else { return None };
        let variant = variants(&[only.as_str()], Enumeration::Closed).pop()?;
        let name = self.name(slot.shape);
        Some(quote!(#name::#variant))
    }
}

fn variants(wires: &[&str], enumeration: Enumeration) -> Vec<Ident> {
    names::variants(wires, enumeration).iter().map(|name| ident(name)).collect()
}

/// Returns the derive and the variant's attribute by which a constant is its own default.
fn default_of(wires: &[&str]) -> (TokenStream, TokenStream) {
    if wires.len() == 1 { (quote!(, Default), quote!(#[default])) } else { Default::default() }
}

/// Describes a constant.
fn always(wires: &[&str]) -> Vec<String> {
    match wires {
        [only] => vec![format!("Always {}.", docs::code(only))],
        _ => Vec::new(),
    }
}

/// Returns attributes for lints, because the server's names may share a prefix.
pub(super) fn lints(variants: usize) -> TokenStream {
    if variants > 2 { quote!(#[allow(clippy::enum_variant_names)]) } else { TokenStream::new() }
}
