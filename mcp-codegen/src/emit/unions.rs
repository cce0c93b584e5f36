//! Values of several kinds, or of one kind in several ways.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{TypeEmitter, docs, enums};
use crate::names::{Style, ident, identifiers};
use crate::plan::branch_labels;
use mcp_schema::{Shape, ShapeId, TagKey, UnionShape};

impl TypeEmitter<'_, '_> {
    pub(super) fn union_type(&self, id: ShapeId, union: &UnionShape) -> TokenStream {
        let name = self.name(id);
        let docs = self.type_doc(id, &[]);
        let derives = self.derives(id);
        let asked = self.asked(id, &[]);
        let labels = branch_labels(union);
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let reserved: &[&str] = if self.schema.has_other(id, union) { &["Other"] } else { &[] };
        let variants: Vec<_> =
            identifiers(Style::Pascal, &labels, reserved, "value").iter().map(|name| ident(name)).collect();
        let held: Vec<_> = union.branches.iter().map(|branch| self.held_type(id, branch.shape)).collect();
        let described = union.branches.iter().map(|branch| {
            docs::of_schemas(&self.schema.document.schemas, self.schema.origin(branch.shape), || {
                docs::code(&branch.name)
            })
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
        }
    }

    fn tagged_wire(&self, id: ShapeId, tag: &TagKey, union: &UnionShape, variants: &[Ident]) -> TokenStream {
        let (krate, name) = (self.krate, self.name(id));
        let tags = union.branches.iter().filter_map(|branch| branch.tag.as_deref());
        let open = self.schema.has_other(id, union).then(|| quote!(Other));
        let key = &tag.name;
        let json = (!tag.is_text).then(|| quote!(json));
        quote!(#krate::__tagged_union!(#name by #json #key { #(#variants = #tags,)* } #open);)
    }

    fn untagged_wire(&self, name: &Ident, union: &UnionShape, variants: &[Ident]) -> TokenStream {
        let krate = self.krate;
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
        quote!(#krate::__untagged_union!(#name { #branches } #rest);)
    }
}
