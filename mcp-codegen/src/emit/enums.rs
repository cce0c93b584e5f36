//! Enums: listed values, and unions.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use serde_json::Value;

use super::{TypeEmitter, docs};
use crate::names::{self, Enumeration, branch_labels, branches, ident};
use crate::plan::Standard;
use crate::table::sorted;
use mcp_bindgen_schema::{Branch, Presence, Shape, ShapeId, Slot, TagKey, UnionShape};

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
fn lints(variants: usize) -> TokenStream {
    if variants > 2 { quote!(#[allow(clippy::enum_variant_names)]) } else { TokenStream::new() }
}

/// The contents of the variant for branches that the schema does not list.
const OTHER_HOLDS: &str = "Value";
/// The number of distinguishing keys from which an index is used.
const MANY_KEYS: usize = 4;

impl TypeEmitter<'_, '_> {
    pub(super) fn union_type(&self, id: ShapeId, union: &UnionShape) -> TokenStream {
        let name = self.name(id);
        let docs = self.type_doc(id);
        let derives = self.derives(id);
        let asked = self.asked(id, &[]);
        let labels = branch_labels(union);
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let variants: Vec<_> =
            branches(&labels, self.schema.has_other(id, union)).iter().map(|name| ident(name)).collect();
        let held: Vec<_> = union.branches.iter().map(|branch| self.held_type(id, branch.shape)).collect();
        let described = union.branches.iter().map(|branch| {
            let origin = self.schema.origin(branch.shape);
            docs::of_schemas(&self.schema.document.schemas, origin, &[&branch.name], &|| docs::code(&branch.name))
        });
        let other = self.schema.has_other(id, union).then(|| {
            quote! {
                /// A branch that the schema does not list.
                Other(Value),
            }
        });
        let allow = lints(union.branches.len());
        let wire = match &union.tag {
            Some(tag) => self.tagged_wire(id, tag, union, &variants),
            None => self.untagged_wire(&name, union, &variants),
        };
        let conversions = self.conversions(id, union, &variants);
        quote! {
            #docs
            #[derive(#derives #asked)]
            #allow
            #[allow(clippy::large_enum_variant)]
            pub enum #name {
                #(#described #variants(#held),)*
                #other
            }
            #wire
            #conversions
        }
    }

    /// Emits `From` for every branch whose type no other branch has and that is not the union itself.
    fn conversions(&self, id: ShapeId, union: &UnionShape, variants: &[Ident]) -> TokenStream {
        let name = self.name(id);
        let payload = |branch: &Branch| self.shape_type(branch.shape);
        let payloads = union.branches.iter().map(payload).map(|payload| (payload.to_string(), payload));
        let payloads: Vec<(String, TokenStream)> = payloads.collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let own = name.to_string();
        let taken = [own.as_str()].into_iter().chain(self.schema.has_other(id, union).then_some(OTHER_HOLDS));
        for text in payloads.iter().map(|(text, _)| text.as_str()).chain(taken) {
            *counts.entry(text).or_default() += 1;
        }
        let mut branches = TokenStream::new();
        for (branch, ((text, payload), variant)) in union.branches.iter().zip(payloads.iter().zip(variants)) {
            // A type of the user's may be another name of any other.
            let is_opaque = matches!(self.schema.document.shapes.get(branch.shape), Shape::Opaque);
            if is_opaque || counts.get(text.as_str()) != Some(&1) {
                continue;
            }
            branches.extend(quote!(#variant(#payload),));
            if text == "String" {
                branches.extend(quote!(#variant(&str),));
            }
        }
        if branches.is_empty() {
            return branches;
        }
        let private = self.private;
        quote!(#private::__from!(#name { #branches });)
    }

    fn tagged_wire(&self, id: ShapeId, tag: &TagKey, union: &UnionShape, variants: &[Ident]) -> TokenStream {
        let (private, name) = (self.private, self.name(id));
        let tags = union.branches.iter().filter_map(|branch| branch.tag.as_deref());
        let open = self.schema.has_other(id, union).then(|| quote!(Other));
        let key = &tag.name;
        let json = (!tag.is_text).then(|| quote!(json));
        quote!(#private::__tagged_union!(#name by #json #key { #(#variants = #tags,)* } #open);)
    }

    fn untagged_wire(&self, name: &Ident, union: &UnionShape, variants: &[Ident]) -> TokenStream {
        let private = self.private;
        let mut branches = TokenStream::new();
        let mut rest = TokenStream::new();
        let mut shapes = Vec::new();
        for (branch, variant) in union.branches.iter().zip(variants) {
            let shape = self.schema.document.shapes.get(branch.shape);
            if let Shape::AnyOf(kinds) = shape {
                let kinds = kinds.names();
                rest = quote!(rest #variant [#(#kinds),*]);
            } else {
                branches.extend(quote!(#variant,));
                shapes.push(shape);
            }
        }
        let index = self.index(&shapes);
        quote!(#private::__untagged_union!(#name { #branches } #index #rest);)
    }

    /// Returns the index of a union's distinguishing keys, if it has many branches.
    fn index(&self, branches: &[&Shape]) -> TokenStream {
        let asked: Vec<Vec<Key<'_>>> = branches.iter().map(|branch| self.required_keys(branch)).collect();
        let mut counts: HashMap<Key<'_>, usize> = HashMap::new();
        for key in asked.iter().flatten() {
            *counts.entry(*key).or_default() += 1;
        }
        let (mut keys, mut others) = (Vec::new(), Vec::new());
        for (place, asked) in asked.iter().enumerate() {
            match asked.iter().min_by_key(|key| counts.get(key)) {
                Some(key) => keys.push((key, place)),
                None => others.push(Literal::usize_unsuffixed(place)),
            }
        }
        if keys.len() < MANY_KEYS {
            return TokenStream::new();
        }
        let order = sorted(keys.len(), &|left, right| keys.get(left).cmp(&keys.get(right)));
        let keys = order.iter().filter_map(|place| keys.get(*place)).map(|((key, text), place)| {
            let text = text.map(|text| quote!(= #text));
            let place = Literal::usize_unsuffixed(*place);
            quote!(#key #text => #place,)
        });
        quote!(by [#(#keys)*] [#(#others),*])
    }

    /// Returns the keys that an object has to have, and with the only text that its value can be.
    fn required_keys<'k>(&'k self, shape: &'k Shape) -> Vec<Key<'k>> {
        let Shape::Struct(object) = shape else { return Vec::new() };
        let mut keys = Vec::new();
        for field in object.fields.iter().filter(|field| field.presence == Presence::Required) {
            if let Shape::TextEnum(values) = self.schema.document.shapes.get(field.slot.shape)
                && let ([only], false) = (values.as_slice(), field.slot.nullable)
            {
                keys.push((field.wire.as_str(), Some(only.as_str())));
            }
            keys.push((field.wire.as_str(), None));
        }
        keys
    }
}

/// A key of an object, and the only text that its value can be.
type Key<'k> = (&'k str, Option<&'k str>);
