//! Stage 5: tokens. Generated code names only the library, through one glob import, and is clean under rustc's and
//! clippy's default lints.

pub(crate) mod docs;
mod enums;
mod module;
mod offers;
mod stand_in;
mod structs;
mod tool;

pub(crate) use module::module;
#[cfg(feature = "templates")]
pub(crate) use module::{connect_bounds, server_spec};
pub(crate) use stand_in::{fault, fault_of, stand_in};

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use crate::names::ident;
use crate::plan::{Derives, ExternTypes, Plan, SchemaPlan, Spot, Standard};
use crate::rules::Switches;
use crate::typify::Replacement;
use mcp_bindgen_schema::{Field, Presence, Shape, ShapeId, Slot};

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

/// The traits of a number that checks itself; a string has all but the first.
const ORDERED_NUMBER: [Standard; 3] = [Standard::Copy, Standard::PartialOrd, Standard::Ord];

impl TypeEmitter<'_, '_> {
    /// Returns the type of a shape, wherever `null` does not matter.
    fn shape_type(&self, id: ShapeId) -> TokenStream {
        if self.schema.checks.get(id).is_some() {
            let name = self.name(id);
            return quote!(#name);
        }
        match self.schema.document.shapes.get(id) {
            Shape::Anything | Shape::AnyOf(_) => quote!(Value),
            Shape::Null => quote!(()),
            Shape::Boolean => quote!(bool),
            Shape::I64 => quote!(i64),
            Shape::U64 => quote!(u64),
            Shape::Number => quote!(f64),
            Shape::Text => quote!(String),
            Shape::List(item) => {
                let item = self.slot_type(*item);
                quote!(Vec<#item>)
            }
            Shape::Map(value) => {
                let value = self.slot_type(*value);
                quote!(BTreeMap<String, #value>)
            }
            Shape::FreeMap => quote!(Map<String, Value>),
            Shape::Opaque => self.extern_types.of(self.schema, id).cloned().unwrap_or_else(|| quote!(Value)),
            Shape::Tuple(items) => {
                let items = items.iter().map(|item| self.slot_type(*item));
                quote!((#(#items,)*))
            }
            Shape::Prefixed(items, rest) => {
                let items = items.iter().map(|item| self.slot_type(*item));
                let rest = rest.map(|rest| self.slot_type(rest)).map(|rest| quote!(, #rest));
                quote!(Prefixed<(#(Option<#items>,)*) #rest>)
            }
            Shape::Struct(_) | Shape::Union(_) | Shape::TextEnum(_) | Shape::LiteralEnum(_) | Shape::Named(_) => {
                let name = ident(self.schema.name(id).unwrap_or("Value"));
                quote!(#name)
            }
        }
    }

    /// Returns the type of a place that has to hold a value.
    fn slot_type(&self, slot: Slot) -> TokenStream {
        let shape = self.shape_type(slot.shape);
        if slot.nullable { quote!(Option<#shape>) } else { shape }
    }

    /// Returns the type of a value inside `holder`, boxed if the holder would contain itself.
    fn held_type(&self, holder: ShapeId, held: ShapeId) -> TokenStream {
        let shape = self.shape_type(held);
        if self.schema.is_boxed(holder, held) { quote!(Box<#shape>) } else { shape }
    }

    fn field_type(&self, holder: ShapeId, field: &Field) -> TokenStream {
        let inner = self.held_type(holder, field.slot.shape);
        match (field.presence, field.slot.nullable) {
            (Presence::Required, false) => inner,
            (Presence::OptionalOrNull, true) => quote!(Option<Nullable<#inner>>),
            _ => quote!(Option<#inner>),
        }
    }

    /// Returns the derives of a type: floats have no `Eq`, and of types of the user's nothing more is asked.
    fn derives(&self, id: ShapeId) -> TokenStream {
        if self.schema.can_derive(id, Standard::Eq) {
            quote!(Clone, Debug, PartialEq, Eq, Hash)
        } else {
            quote!(Clone, Debug, PartialEq)
        }
    }

    /// Returns the derives of the user for a type, beside [`derives`](Self::derives) and what more it `has`, after a comma each.
    fn asked(&self, id: ShapeId, has: &[Standard]) -> TokenStream {
        self.extra_derives.of(self.schema, id, &[&[Standard::Eq, Standard::Hash], has].concat())
    }

    /// Emits a type with one public field, for a value without a named type.
    fn newtype(&self, id: ShapeId, inner: Slot) -> TokenStream {
        let name = self.name(id);
        let docs = self.type_doc(id);
        let derives = self.derives(id);
        let asked = self.asked(id, &[]);
        let held = self.held_type(id, inner.shape);
        let held = if inner.nullable { quote!(Option<#held>) } else { held };
        let private = self.private;
        quote! {
            #docs
            #[derive(#derives #asked)]
            pub struct #name(
                /// The value.
                pub #held,
            );
            #private::__newtype!(#name(#held));
        }
    }

    /// Emits a newtype for a string, a number or a list that only holds valid values.
    fn checked(&self, id: ShapeId, checks: &Value) -> TokenStream {
        let (private, name) = (self.private, self.name(id));
        let docs = self.type_doc(id);
        if let Shape::List(item) = self.schema.document.shapes.get(id) {
            let (derives, item) = (self.derives(id), self.slot_type(*item));
            let asked = self.asked(id, &[]);
            let checks = checks.to_string();
            return quote! {
                #docs
                #[derive(#derives #asked)]
                pub struct #name(Vec<#item>);
                #private::__checked!(#name[#item] #checks);
            };
        }
        let (inner, derives, has) = match self.schema.document.shapes.get(id) {
            Shape::I64 => (quote!(i64), quote!(Copy, PartialOrd, Eq, Ord, Hash), &ORDERED_NUMBER[..]),
            Shape::U64 => (quote!(u64), quote!(Copy, PartialOrd, Eq, Ord, Hash), &ORDERED_NUMBER[..]),
            Shape::Number => (quote!(f64), quote!(Copy, PartialOrd), &ORDERED_NUMBER[..]),
            _ => (quote!(String), quote!(PartialOrd, Eq, Ord, Hash), &ORDERED_NUMBER[1..]),
        };
        let asked = self.asked(id, has);
        let checks = checks.to_string();
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq, #derives #asked)]
            pub struct #name(#inner);
            #private::__checked!(#name(#inner) #checks);
        }
    }
}
