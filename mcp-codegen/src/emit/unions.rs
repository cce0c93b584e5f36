//! Values of several kinds, or of one kind in several ways.

use std::collections::HashMap;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{TypeEmitter, docs, enums};
use crate::names::{branch_labels, branches, ident};
use mcp_schema::{Shape, ShapeId, TagKey, UnionShape};

/// What the variant for branches that the schema does not list holds.
const OTHER_HOLDS: &str = "Value";

impl TypeEmitter<'_, '_> {
    pub(super) fn union_type(&self, id: ShapeId, union: &UnionShape) -> TokenStream {
        let name = self.name(id);
        let docs = self.type_doc(id, &[]);
        let derives = self.derives(id);
        let asked = self.asked(id, &[]);
        let labels = branch_labels(union);
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let variants: Vec<_> =
            branches(&labels, self.schema.has_other(id, union)).iter().map(|name| ident(name)).collect();
        let held: Vec<_> = union.branches.iter().map(|branch| self.held_type(id, branch.shape)).collect();
        let described = union.branches.iter().map(|branch| {
            let origin = self.schema.origin(branch.shape);
            docs::of_schemas(&self.schema.document.schemas, origin, &[&branch.name], || docs::code(&branch.name))
        });
        let other = self.schema.has_other(id, union).then(|| {
            quote! {
                /// A branch that the schema does not list.
                Other(Value),
            }
        });
        let allow = enums::lints(union.branches.len());
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

    /// `From` for every branch that holds what no other does, and not the union itself.
    fn conversions(&self, id: ShapeId, union: &UnionShape, variants: &[Ident]) -> TokenStream {
        let name = self.name(id);
        let payloads: Vec<TokenStream> = union.branches.iter().map(|branch| self.shape_type(branch.shape)).collect();
        let texts: Vec<String> = payloads.iter().map(TokenStream::to_string).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let own = name.to_string();
        let taken = [own.as_str()].into_iter().chain(self.schema.has_other(id, union).then_some(OTHER_HOLDS));
        for text in texts.iter().map(String::as_str).chain(taken) {
            *counts.entry(text).or_default() += 1;
        }
        let mut branches = TokenStream::new();
        for (branch, ((payload, text), variant)) in union.branches.iter().zip(payloads.iter().zip(&texts).zip(variants))
        {
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
        for (branch, variant) in union.branches.iter().zip(variants) {
            if let Shape::AnyOf(kinds) = self.schema.document.shapes.get(branch.shape) {
                let kinds = kinds.names();
                rest = quote!(rest #variant [#(#kinds),*]);
            } else {
                branches.extend(quote!(#variant,));
            }
        }
        quote!(#private::__untagged_union!(#name { #branches } #rest);)
    }
}
