//! `named`: in place of `new`, a builder whose `build` exists once everything required is set.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::structs::{Member, Setter};
use super::{TypeEmitter, docs};
use crate::names::ident;
use mcp_bindgen_schema::ShapeId;

impl TypeEmitter<'_, '_> {
    /// Returns the builder of a struct and the function that begins one. Each required property has a type parameter:
    /// the type of its value once it is set. `values` are the values of the other fields.
    pub(super) fn builder(
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
