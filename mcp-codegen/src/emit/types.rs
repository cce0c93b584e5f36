//! The Rust type of a shape.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::TypeEmitter;
use crate::names::ident;
use crate::plan::Standard;
use mcp_bindgen_schema::{Field, Presence, Shape, ShapeId, Slot};

/// The traits of a number that checks itself; a string has all but the first.
const ORDERED_NUMBER: [Standard; 3] = [Standard::Copy, Standard::PartialOrd, Standard::Ord];

impl TypeEmitter<'_, '_> {
    /// Returns the type of a shape, wherever `null` does not matter.
    pub(super) fn shape_type(&self, id: ShapeId) -> TokenStream {
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
    pub(super) fn slot_type(&self, slot: Slot) -> TokenStream {
        let shape = self.shape_type(slot.shape);
        if slot.nullable { quote!(Option<#shape>) } else { shape }
    }

    /// Returns the type of a value inside `holder`, boxed if the holder would contain itself.
    pub(super) fn held_type(&self, holder: ShapeId, held: ShapeId) -> TokenStream {
        let shape = self.shape_type(held);
        if self.schema.is_boxed(holder, held) { quote!(Box<#shape>) } else { shape }
    }

    pub(super) fn field_type(&self, holder: ShapeId, field: &Field) -> TokenStream {
        let inner = self.held_type(holder, field.slot.shape);
        match (field.presence, field.slot.nullable) {
            (Presence::Required, false) => inner,
            (Presence::OptionalOrNull, true) => quote!(Option<Nullable<#inner>>),
            _ => quote!(Option<#inner>),
        }
    }

    /// Returns the derives of a type: floats have no `Eq`, and of types of the user's nothing more is asked.
    pub(super) fn derives(&self, id: ShapeId) -> TokenStream {
        if self.schema.can_derive(id, Standard::Eq) {
            quote!(Clone, Debug, PartialEq, Eq, Hash)
        } else {
            quote!(Clone, Debug, PartialEq)
        }
    }

    /// Returns the derives of the user for a type, beside [`derives`](Self::derives) and what more it `has`, after a comma each.
    pub(super) fn asked(&self, id: ShapeId, has: &[Standard]) -> TokenStream {
        self.extra_derives.of(self.schema, id, &[&[Standard::Eq, Standard::Hash], has].concat())
    }

    /// Emits a type with one public field, for a value without a named type.
    pub(super) fn newtype(&self, id: ShapeId, inner: Slot) -> TokenStream {
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
    pub(super) fn checked(&self, id: ShapeId, checks: &Value) -> TokenStream {
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
