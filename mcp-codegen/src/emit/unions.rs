//! Values of several kinds, or of one kind in several ways.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Side, docs, enums};
use crate::names::{Style, ident, identifiers};
use crate::shape::{Shape, ShapeId, UnionShape};

impl Side<'_, '_> {
    pub(super) fn union(&self, id: ShapeId, union: &UnionShape) -> TokenStream {
        let name = self.name(id);
        let docs = self.type_doc(id, "One of several alternatives");
        let derives = self.derives(id);
        let labels = distinct_labels(union);
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let reserved: &[&str] = if self.has_other(union) { &["Other", "Self"] } else { &["Self"] };
        let variants: Vec<_> =
            identifiers(Style::Pascal, &labels, reserved, "value").iter().map(|name| ident(name)).collect();
        let held: Vec<_> = union.branches.iter().map(|branch| self.held_type(id, branch.shape)).collect();
        let described = union.branches.iter().map(|branch| {
            docs::of_schemas(&self.schema.schemas, self.schema.origin(branch.shape), &docs::code(&branch.name))
        });
        let other = self.has_other(union).then(|| {
            quote! {
                /// A branch that the schema does not list.
                Other(Value),
            }
        });
        let allow = enums::lints(union.branches.len());
        let wire = match &union.tag {
            Some(tag) => self.tagged_wire(&name, tag, union, &variants),
            None => self.untagged_wire(&name, union, &variants),
        };
        quote! {
            #docs
            #[derive(#derives)]
            #allow
            #[allow(clippy::large_enum_variant)]
            pub enum #name {
                #(#described #variants(#held),)*
                #other
            }
            #wire
        }
    }

    /// A tagged union from the server may grow branches.
    fn has_other(&self, union: &UnionShape) -> bool {
        self.is_open() && union.tag.is_some()
    }

    fn tagged_wire(
        &self,
        name: &proc_macro2::Ident,
        tag: &str,
        union: &UnionShape,
        variants: &[proc_macro2::Ident],
    ) -> TokenStream {
        let tags: Vec<&str> = union.branches.iter().filter_map(|branch| branch.tag.as_deref()).collect();
        let (unknown, write_other) = if self.has_other(union) {
            (quote!(_ => Ok(Self::Other(input.value().clone())),), quote!(Self::Other(value) => Ok(value.clone()),))
        } else {
            (quote!(_ => Err(object.unknown_tag(#tag, &[#(#tags),*])),), TokenStream::new())
        };
        quote! {
            impl Wire for #name {
                fn read(input: Input<'_>) -> Result<Self, Mismatch> {
                    let object = input.object()?;
                    match object.tag(#tag)? {
                        #(#tags => Wire::read(input).map(Self::#variants),)*
                        #unknown
                    }
                }

                fn write(&self) -> Result<Value, Mismatch> {
                    match self {
                        #(Self::#variants(branch) => ObjectWriter::tagged(#tag, #tags).flatten(branch),)*
                        #write_other
                    }
                }
            }
        }
    }

    fn untagged_wire(
        &self,
        name: &proc_macro2::Ident,
        union: &UnionShape,
        variants: &[proc_macro2::Ident],
    ) -> TokenStream {
        let tries =
            union.branches.iter().zip(variants).map(|(branch, variant)| match self.schema.shapes.get(branch.shape) {
                Shape::AnyOf(kinds) => {
                    let kinds = kinds.names();
                    quote!(.rest(&[#(#kinds),*], Self::#variant))
                }
                _ => quote!(.branch(Self::#variant)),
            });
        quote! {
            impl Wire for #name {
                fn read(input: Input<'_>) -> Result<Self, Mismatch> {
                    Pick::of(input) #(#tries)* .finish()
                }

                fn write(&self) -> Result<Value, Mismatch> {
                    match self {
                        #(Self::#variants(branch) => branch.write(),)*
                    }
                }
            }
        }
    }
}

/// Branches with one name are told apart by the property that tells them apart, or else by their number.
fn distinct_labels(union: &UnionShape) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for branch in &union.branches {
        let mut label = branch.name.clone();
        let mut number = 2;
        while seen.contains(&label) {
            label = format!("{} {number}", branch.name);
            number += 1;
        }
        seen.push(label);
    }
    seen
}
