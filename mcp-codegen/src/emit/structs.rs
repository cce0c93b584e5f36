//! Objects with properties.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};

use super::docs::Docs;
use super::{TypeEmitter, docs};
use crate::names::{self, ident};
use crate::plan::Standard;
use mcp_schema::{Field, Presence, Shape, ShapeId, StructShape, Unknown};

/// clippy's limit for the arguments of a function.
const MOST_ARGUMENTS: usize = 7;

struct Member<'f> {
    name: Ident,
    ty: TokenStream,
    field: &'f Field,
    /// The value that it has to have.
    only: Option<TokenStream>,
    docs: Docs,
}

impl Member<'_> {
    /// Whether a value has to be given for it.
    fn is_asked_for(&self) -> bool {
        self.field.presence == Presence::Required && self.only.is_none()
    }
}

impl ToTokens for Member<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { name, ty, docs, .. } = self;
        docs.to_tokens(tokens);
        tokens.extend(quote!(pub #name: #ty,));
    }
}

impl TypeEmitter<'_, '_> {
    pub(super) fn structure(&self, id: ShapeId, object: &StructShape) -> TokenStream {
        let name = self.name(id);
        let idents = self.schema.field_names(id, object);
        let extra = Self::kept(object.unknown).map(|slot| (ident(&names::extra(&idents)), self.slot_type(slot)));
        let members: Vec<Member<'_>> = object
            .fields
            .iter()
            .zip(&idents)
            .map(|(field, name)| Member {
                name: ident(name),
                ty: self.field_type(id, field),
                field,
                only: if field.presence == Presence::Required { self.only_value(field.slot) } else { None },
                docs: docs::of_schemas(&self.schema.document.schemas, &field.schemas, &[&field.wire], || {
                    docs::code(&field.wire)
                }),
            })
            .collect();
        let demands: Vec<String> = object.require_any.iter().map(|sets| demand(sets)).collect();
        let docs = self.type_doc(id, &demands);
        let derives = self.derives(id);
        let has_default = !members.iter().any(Member::is_asked_for);
        let default = has_default.then(|| quote!(, Default));
        let asked = self.asked(id, if has_default { &[Standard::Default] } else { &[] });
        let extra_field = extra.iter().map(|(name, ty)| {
            quote! {
                /// Every other property.
                pub #name: BTreeMap<String, #ty>,
            }
        });
        let new = self.constructor(id, object, &members, extra.as_ref().map(|(name, _)| name));
        let setters = self.setters(id, &idents, &members);
        let wire = self.table(id, object, &members, extra.as_ref().map(|(name, _)| name));
        let mut tokens = quote! {
            #docs
            #[derive(#derives #default #asked)]
            pub struct #name {
                #(#members)*
                #(#extra_field)*
            }
        };
        if !(new.is_empty() && setters.is_empty()) {
            tokens.extend(quote!(impl #name { #new #setters }));
        }
        tokens.extend(wire);
        tokens
    }

    /// `new`, with the required properties in the order of `required`; constants need no argument.
    fn constructor(
        &self,
        id: ShapeId,
        object: &StructShape,
        members: &[Member<'_>],
        extra: Option<&Ident>,
    ) -> TokenStream {
        let mut required: Vec<&Member<'_>> = members.iter().filter(|member| member.is_asked_for()).collect();
        required.sort_by_key(|member| object.required.iter().position(|key| *key == member.field.wire));
        if required.is_empty() && !self.schema.is_sent(id) {
            return TokenStream::new();
        }
        let arguments = required.iter().map(|Member { name, ty, field, .. }| {
            if self.is_text(field) { quote!(#name: impl Into<String>) } else { quote!(#name: #ty) }
        });
        let values = members.iter().map(|Member { name, field, only, .. }| match field.presence {
            Presence::Required if only.is_some() => quote!(#name: #only,),
            Presence::Required if self.is_text(field) => quote!(#name: #name.into(),),
            Presence::Required => quote!(#name,),
            _ => quote!(#name: None,),
        });
        let extra = extra.map(|extra| quote!(#extra: BTreeMap::new(),));
        let many = (required.len() > MOST_ARGUMENTS).then(|| quote!(#[allow(clippy::too_many_arguments)]));
        quote! {
            /// With what is required, and nothing else.
            #many
            pub fn new(#(#arguments),*) -> Self {
                Self { #(#values)* #extra }
            }
        }
    }

    /// A chained setter for each optional property of what is sent, where they are asked for.
    fn setters(&self, id: ShapeId, idents: &[String], members: &[Member<'_>]) -> TokenStream {
        if !self.schema.switches.setters || !self.schema.is_sent(id) {
            return TokenStream::new();
        }
        let setters = names::setters(idents);
        let optional = members.iter().zip(&setters).filter(|(member, _)| member.field.presence != Presence::Required);
        let setter = |(Member { name, field, docs, .. }, setter): (&Member<'_>, &String)| {
            let setter = ident(setter);
            let held = self.held_type(id, field.slot.shape);
            let is_nullable = field.presence == Presence::OptionalOrNull && field.slot.nullable;
            let (taken, value) = if is_nullable {
                (quote!(impl Into<Nullable<#held>>), quote!(value.into()))
            } else if self.is_text(field) {
                (quote!(impl Into<String>), quote!(value.into()))
            } else if self.schema.is_boxed(id, field.slot.shape) {
                (self.shape_type(field.slot.shape), quote!(Box::new(value)))
            } else {
                (held, quote!(value))
            };
            let doc = docs::lines(vec![format!("Sets {}.", docs::code(&field.wire))]).deprecated(docs.is_deprecated());
            quote! {
                #doc
                #[must_use]
                pub fn #setter(mut self, value: #taken) -> Self {
                    self.#name = Some(#value);
                    self
                }
            }
        };
        optional.map(setter).collect()
    }

    /// Whether a field holds a string, so that whatever becomes one is taken for it.
    fn is_text(&self, field: &Field) -> bool {
        let is_null = field.slot.nullable && field.presence != Presence::Optional;
        matches!(self.schema.document.shapes.get(field.slot.shape), Shape::Text) && !is_null
    }

    /// The table of the fields and their keys.
    fn table(&self, id: ShapeId, object: &StructShape, members: &[Member<'_>], extra: Option<&Ident>) -> TokenStream {
        let (private, name) = (self.private, self.name(id));
        let fields = members.iter().map(|Member { name, field, .. }| {
            let key = &field.wire;
            match field.presence {
                Presence::Required => quote!(#name: required #key,),
                Presence::Optional => quote!(#name: optional #key,),
                Presence::OptionalOrNull => quote!(#name: present #key,),
            }
        });
        let tag = object.tag.as_ref().map(|tag| quote!(tag #tag));
        let unknown = match extra {
            Some(extra) => quote!(extra #extra),
            // A server may say more than it declared.
            None if object.unknown == Unknown::Deny && self.schema.is_strict(id) => quote!(deny),
            None => TokenStream::new(),
        };
        let demands = object.require_any.iter().map(|sets| {
            let sets = sets.iter().map(|set| quote!(&[#(#set),*]));
            quote!(any [#(#sets),*])
        });
        quote!(#private::__object!(#name { #(#fields)* } #tag #unknown #(#demands)*);)
    }
}

/// What one demand for any of several sets says.
fn demand(sets: &[Vec<String>]) -> String {
    let set = |set: &Vec<String>| set.iter().map(|key| docs::code(key)).collect::<Vec<_>>().join(" with ");
    format!("At least one of: {}.", sets.iter().map(set).collect::<Vec<_>>().join(", "))
}
