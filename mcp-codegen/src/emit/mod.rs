//! Stage 5: tokens. Generated code names only the library, through one glob import, and is clean under rustc's and
//! clippy's default lints.

mod builders;
pub(crate) mod docs;
mod enums;
mod module;
mod offers;
mod stand_in;
mod structs;
mod tool;
mod types;
mod unions;

pub(crate) use module::module;
#[cfg(feature = "templates")]
pub(crate) use module::{connect_bounds, server_spec};
pub(crate) use stand_in::{fault, fault_of, stand_in};

use proc_macro2::TokenStream;
use quote::quote;

use crate::names::ident;
use crate::plan::{Derives, ExternTypes, Plan, SchemaPlan, Spot};
use crate::rules::Switches;
use crate::typify::Replacement;
use mcp_bindgen_schema::{Shape, ShapeId};

/// The context for emitting the types of one schema.
pub(crate) struct TypeEmitter<'e, 's> {
    pub(crate) schema: &'e SchemaPlan<'s>,
    /// The types of another backend, in place of the generated ones.
    pub(crate) replacement: Option<&'e Replacement>,
    pub(crate) private: &'e TokenStream,
    /// The documentation of the root type.
    pub(crate) root_doc: docs::Docs,
    extern_types: &'e ExternTypes,
    extra_derives: &'e Derives,
    switches: Switches,
}

impl<'e, 's> TypeEmitter<'e, 's> {
    pub(crate) fn new(schema: &'e SchemaPlan<'s>, plan: &'e Plan<'_>, private: &'e TokenStream) -> Self {
        Self {
            schema,
            replacement: None,
            private,
            root_doc: docs::Docs::default(),
            extern_types: &plan.extern_types,
            extra_derives: &plan.derives,
            switches: plan.switches,
        }
    }
}

impl TypeEmitter<'_, '_> {
    /// Emits every named type of the schema.
    pub(crate) fn types(&self, tokens: &mut TokenStream) {
        if let Some(replacement) = self.replacement {
            tokens.extend(self.replaced(replacement));
            return;
        }
        for id in &self.schema.order {
            tokens.extend(self.named_type(*id));
        }
    }

    /// Returns the types of another backend: a module of their own, and the root's type under its public name.
    fn replaced(&self, types: &Replacement) -> TokenStream {
        let Replacement { module, items, root, .. } = types;
        let name = self.name(self.schema.document.root);
        // An attribute of a `use` would say nothing.
        let doc = self.root_doc.clone().deprecated(false);
        let module_doc = format!(" The types that [`{name}`] is made of.");
        let export = if name == *root { quote!(#root) } else { quote!(#root as #name) };
        quote! {
            #[doc = #module_doc]
            #[allow(missing_docs, clippy::all, clippy::pedantic, clippy::restriction)]
            pub mod #module {
                #items
            }
            #doc
            #[doc(inline)]
            pub use self::#module::#export;
        }
    }

    fn named_type(&self, id: ShapeId) -> TokenStream {
        if let Some(checks) = self.schema.checks.get(id) {
            return self.checked(id, checks);
        }
        match self.schema.document.shapes.get(id) {
            Shape::Struct(object) => self.structure(id, object),
            Shape::Union(union) => self.union_type(id, union),
            Shape::TextEnum(values) => self.text_enum(id, values),
            Shape::LiteralEnum(values) => self.literal_enum(id, values),
            Shape::Named(inner) => self.newtype(id, *inner),
            _ => TokenStream::new(),
        }
    }

    fn name(&self, id: ShapeId) -> proc_macro2::Ident {
        ident(self.schema.name(id).unwrap_or("Unnamed"))
    }

    /// Returns the documentation of a type: by its schema, or else by its place.
    fn type_doc(&self, id: ShapeId) -> docs::Docs {
        match self.schema.types.get(id).map(|named| &named.spot) {
            Some(None) => {
                let schemas = &self.schema.document.schemas;
                self.root_doc.clone().deprecated(schemas.is_deprecated(self.schema.origin(id)))
            }
            Some(Some(Spot { holder, label, .. })) => {
                let names = [label, self.schema.name(id).unwrap_or_default()];
                let fallback = || format!("{} of [`{}`]", docs::code(label), self.name(*holder));
                docs::of_schemas(&self.schema.document.schemas, self.schema.origin(id), &names, &fallback)
            }
            None => docs::Docs::default(),
        }
    }
}
