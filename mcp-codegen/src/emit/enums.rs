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
        let wires: Vec<&str> = values.iter().map(String::as_str).collect();
        // A constant is never open, because it distinguishes branches.
        let is_open = self.schema.is_answered(id) && wires.len() > 1;
        let enumeration = if is_open { Enumeration::Open } else { Enumeration::Closed };
        self.enumeration(id, &wires, enumeration, &[Standard::PartialOrd, Standard::Ord], quote!(__string_enum))
    }

    pub(super) fn literal_enum(&self, id: ShapeId, values: &[Value]) -> TokenStream {
        // A string reads as its content, so that `1` and `"1"` differ by their suffix.
        let texts: Vec<String> = values.iter().map(Value::to_string).collect();
        let wires: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.enumeration(id, &wires, Enumeration::Closed, &[], quote!(__literal_enum))
    }

    /// Emits an enum, with the macro that implements its traits. A constant is its own default.
    fn enumeration(
        &self,
        id: ShapeId,
        wires: &[&str],
        enumeration: Enumeration,
        order: &[Standard],
        implement: TokenStream,
    ) -> TokenStream {
        let always = if let [only] = wires { Some(format!("Always {}.", docs::code(only))) } else { None };
        let (private, name, docs) = (self.private, self.name(id), self.type_doc(id).and(always.as_slice()));
        let variants = variants(wires, enumeration);
        let described = wires.iter().map(|wire| docs::lines(&[docs::code(wire)]));
        let allow = lints(wires.len());
        let other = matches!(enumeration, Enumeration::Open).then(|| ident(OTHER));
        let mut has = order.to_vec();
        has.extend(other.is_none().then_some(Standard::Copy));
        has.extend((wires.len() == 1).then_some(Standard::Default));
        let asked = self.asked(id, &has);
        let copy = other.is_none().then(|| quote!(Copy,));
        let order = (!order.is_empty()).then(|| quote!(PartialOrd, Ord,));
        let (default, is_default) =
            if wires.len() == 1 { (quote!(, Default), quote!(#[default])) } else { Default::default() };
        let open = other.as_ref().map(|other| quote!(open #other));
        let other = other.map(|other| {
            quote! {
                /// A value that the schema does not list.
                #other(String),
            }
        });
        quote! {
            #docs
            #[derive(Clone, #copy Debug, PartialEq, Eq, #order Hash #default #asked)]
            #allow
            pub enum #name {
                #(#described #is_default #variants,)*
                #other
            }
            #private::#implement!(#name { #(#variants = #wires,)* } #open);
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

/// Returns attributes for lints, because the server's names may share a prefix.
pub(super) fn lints(variants: usize) -> TokenStream {
    if variants > 2 { quote!(#[allow(clippy::enum_variant_names)]) } else { TokenStream::new() }
}
