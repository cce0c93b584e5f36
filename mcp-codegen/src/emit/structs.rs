//! Structs, their constructors and builders. With `named`, a builder replaces `new`; its `build` exists once every
//! required property is set.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};

use super::docs::Docs;
use super::{TypeEmitter, docs};
use crate::names::{self, ident};
use crate::plan::Standard;
use crate::table::sorted;
use mcp_bindgen_schema::{Field, Presence, Shape, ShapeId, StructShape, Unknown};

/// clippy's limit for the arguments of a function.
const MOST_ARGUMENTS: usize = 7;

struct Member<'f> {
    name: Ident,
    /// The name of its setter.
    setter: Ident,
    ty: TokenStream,
    field: &'f Field,
    /// The value that it has to have.
    only: Option<TokenStream>,
    docs: Docs,
}

/// A function that takes the value of a member.
struct Setter<'m> {
    doc: Docs,
    name: &'m Ident,
    taken: TokenStream,
    /// The value of the member, made of `value`; without the `Option` of one that may be absent.
    value: TokenStream,
}

impl Member<'_> {
    /// Returns `true` if a value must be given for the member.
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
        let extra = object.unknown.kept().map(|slot| (ident(&names::extra(&idents)), self.slot_type(slot)));
        let mut members: Vec<Member<'_>> = Vec::new();
        for (field, (name, setter)) in object.fields.iter().zip(idents.iter().zip(names::setters(&idents))) {
            members.push(Member {
                name: ident(name),
                setter: ident(&setter),
                ty: self.field_type(id, field),
                field,
                only: if field.presence == Presence::Required { self.only_value(field.slot) } else { None },
                docs: docs::of_schemas(&self.schema.document.schemas, &field.schemas, &[&field.wire], &|| {
                    docs::code(&field.wire)
                }),
            });
        }
        let mut docs = self.type_doc(id);
        for sets in &object.require_any {
            docs = docs.and(&[demand(sets)]);
        }
        let derives = self.derives(id);
        let has_default = !members.iter().any(Member::is_asked_for);
        let default = has_default.then(|| quote!(, Default));
        let asked = self.asked(id, if has_default { &[Standard::Default] } else { &[] });
        let extra_field = extra.as_ref().map(|(name, ty)| {
            quote! {
                /// The undeclared properties.
                pub #name: BTreeMap<String, #ty>,
            }
        });
        let extra = extra.as_ref().map(|(name, _)| name);
        let (new, builder) = self.constructor(id, object, &members, extra);
        let (setters, wire) = (self.setters(id, &members), self.table(id, object, &members, extra));
        let mut tokens = quote! {
            #docs
            #[derive(#derives #default #asked)]
            pub struct #name {
                #(#members)*
                #extra_field
            }
        };
        if !(new.is_empty() && setters.is_empty()) {
            tokens.extend(quote!(impl #name { #new #setters }));
        }
        tokens.extend(builder);
        tokens.extend(wire);
        tokens
    }

    /// Emits `new`, with the required properties in the order of `required`; constants need no argument. Alternatively
    /// emits `builder`, which sets each property by name.
    fn constructor(
        &self,
        id: ShapeId,
        object: &StructShape,
        members: &[Member<'_>],
        extra: Option<&Ident>,
    ) -> (TokenStream, TokenStream) {
        let unsorted: Vec<&Member<'_>> = members.iter().filter(|member| member.is_asked_for()).collect();
        let place = |member: &&Member<'_>| object.required.iter().position(|key| *key == member.field.wire);
        let places: Vec<Option<usize>> = unsorted.iter().map(place).collect();
        let order = sorted(unsorted.len(), &|left, right| places.get(left).cmp(&places.get(right)));
        let required: Vec<&Member<'_>> = order.into_iter().filter_map(|place| unsorted.get(place).copied()).collect();
        if required.is_empty() && !self.schema.is_sent(id) {
            return Default::default();
        }
        let others = members.iter().filter(|member| !member.is_asked_for());
        let others = others.map(|Member { name, only, .. }| match only {
            Some(only) => quote!(#name: #only,),
            None => quote!(#name: None,),
        });
        let extra = extra.map(|extra| quote!(#extra: BTreeMap::new(),));
        let others = quote!(#(#others)* #extra);
        if self.switches.named && !required.is_empty() {
            let builder = self.schema.builders.get(id);
            return builder.map(|name| self.builder(id, name, &required, &others)).unwrap_or_default();
        }
        let (mut arguments, mut values) = (Vec::new(), TokenStream::new());
        for Member { name, ty, field, .. } in &required {
            if self.is_text(field) {
                arguments.push(quote!(#name: impl Into<String>));
                values.extend(quote!(#name: #name.into(),));
            } else {
                arguments.push(quote!(#name: #ty));
                values.extend(quote!(#name,));
            }
        }
        let many = (required.len() > MOST_ARGUMENTS).then(|| quote!(#[allow(clippy::too_many_arguments)]));
        let new = quote! {
            /// Creates it with the required properties.
            #many
            pub fn new(#(#arguments),*) -> Self {
                Self { #values #others }
            }
        };
        (new, TokenStream::new())
    }

    /// Returns a chained setter for each optional property of a sent struct, if setters are enabled.
    fn setters(&self, id: ShapeId, members: &[Member<'_>]) -> TokenStream {
        if !self.switches.setters || !self.schema.is_sent(id) {
            return TokenStream::new();
        }
        let mut setters = TokenStream::new();
        for member in members.iter().filter(|member| member.field.presence != Presence::Required) {
            let Setter { doc, name, taken, value } = self.setter(id, member);
            let field = &member.name;
            setters.extend(quote! {
                #doc
                #[must_use]
                pub fn #name(mut self, value: #taken) -> Self {
                    self.#field = Some(#value);
                    self
                }
            });
        }
        setters
    }

    /// Returns the setter of a member. It takes what `new` takes, and a value for an optional member.
    fn setter<'m>(&self, id: ShapeId, member: &'m Member<'_>) -> Setter<'m> {
        let Member { setter, ty, field, docs, .. } = member;
        let held = self.held_type(id, field.slot.shape);
        let (taken, value) = match field.presence {
            Presence::Required if field.slot.nullable => (ty.clone(), quote!(value)),
            Presence::OptionalOrNull if field.slot.nullable => {
                (quote!(impl Into<Nullable<#held>>), quote!(value.into()))
            }
            _ if self.is_text(field) => (quote!(impl Into<String>), quote!(value.into())),
            _ if self.schema.is_boxed(id, field.slot.shape) => {
                (self.shape_type(field.slot.shape), quote!(Box::new(value)))
            }
            _ => (held, quote!(value)),
        };
        let doc = docs::lines(&[format!("Sets {}.", docs::code(&field.wire))]).deprecated(docs.is_deprecated);
        Setter { doc, name: setter, taken, value }
    }

    /// Returns `true` if a field holds a string, so that whatever becomes one is taken for it.
    fn is_text(&self, field: &Field) -> bool {
        let is_null = field.slot.nullable && field.presence != Presence::Optional;
        let shape = field.slot.shape;
        matches!(self.schema.document.shapes.get(shape), Shape::Text)
            && !is_null
            && self.schema.checks.get(shape).is_none()
    }

    /// Returns the table of the fields and their keys.
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

/// Describes one demand for any of several sets.
fn demand(sets: &[Vec<String>]) -> String {
    let keys = |set: &Vec<String>| set.iter().map(|key| docs::code(key)).collect::<Vec<_>>().join(" with ");
    format!("At least one of: {}.", sets.iter().map(keys).collect::<Vec<_>>().join(", "))
}

impl TypeEmitter<'_, '_> {
    /// Returns the builder of a struct and the function that begins one. Each required property has a type parameter:
    /// the type of its value once it is set. `values` are the values of the other fields.
    fn builder(
        &self,
        id: ShapeId,
        builder: &str,
        required: &[&Member<'_>],
        values: &TokenStream,
    ) -> (TokenStream, TokenStream) {
        let (private, name, builder) = (self.private, self.name(id), ident(builder));
        let fields: Vec<&Ident> = required.iter().map(|member| &member.name).collect();
        let types = required.iter().map(|member| &member.ty);
        let parameters = self.type_parameters(required.len());
        let setters = required.iter().enumerate().map(|(place, member)| {
            let before = parameters.get(..place).unwrap_or_default();
            let after = parameters.get(place + 1..).unwrap_or_default();
            let ty = &member.ty;
            let Setter { doc, name, taken, value } = self.setter(id, member);
            let field = &member.name;
            let others = fields.iter().filter(|other| **other != field);
            quote! {
                impl<#(#before,)* #(#after),*> #builder<#(#before,)* #private::Unset #(, #after)*> {
                    #doc
                    pub fn #name(self, value: #taken) -> #builder<#(#before,)* #ty #(, #after)*> {
                        #builder { #field: #value, #(#others: self.#others),* }
                    }
                }
            }
        });
        let built = docs::code(&name.to_string());
        let doc = docs::lines(&[format!("Builds {built}: `build` exists once every required property is set.")]);
        let items = quote! {
            #doc
            #[derive(Clone, Debug)]
            #[must_use]
            pub struct #builder<#(#parameters = #private::Unset),*> {
                #(#fields: #parameters,)*
            }
            #(#setters)*
            impl #builder<#(#types),*> {
                /// Creates it with the required properties.
                #[must_use]
                pub fn build(self) -> #name {
                    #name { #(#fields: self.#fields,)* #values }
                }
            }
        };
        let begin = quote! {
            /// With nothing set: each required property is set by its name.
            pub fn builder() -> #builder {
                #builder { #(#fields: #private::Unset),* }
            }
        };
        (begin, items)
    }

    /// Returns `count` type parameters whose names differ from all types of the schema.
    fn type_parameters(&self, count: usize) -> Vec<Ident> {
        let is_numbered = |name: &str, letter: &str| {
            name.strip_prefix(letter).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let mut letter = "T".to_owned();
        let names = self.schema.names();
        while names.iter().any(|name| is_numbered(name, &letter)) {
            letter.push('T');
        }
        (1..=count).map(|number| ident(&format!("{letter}{number}"))).collect()
    }
}
