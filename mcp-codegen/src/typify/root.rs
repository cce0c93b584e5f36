//! The parts of typify's root type that the glue needs.

use std::collections::HashSet;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::visit_mut::{VisitMut, visit_path_mut};
use syn::{Attribute, Field, Fields, File, Item, LitStr, Path, Type};

/// clippy's limit for the arguments of a function.
const MOST_ARGUMENTS: usize = 7;

/// The root type, if it is a struct.
pub(super) struct Facts {
    fields: Option<Vec<Member>>,
    /// The types of the module.
    types: HashSet<String>,
}

struct Member {
    wire: String,
    name: Ident,
    ty: Type,
    /// The index among the required properties; `None` if the field is optional.
    required: Option<usize>,
}

/// Reads the root type. `required` are the names of the required properties, in the schema's order.
pub(super) fn describe(file: &File, root: &Ident, required: &[&str]) -> Facts {
    let mut facts = Facts { fields: None, types: HashSet::new() };
    for item in &file.items {
        match item {
            Item::Struct(item) => {
                facts.types.insert(item.ident.to_string());
                if let (true, Fields::Named(fields)) = (item.ident == *root, &item.fields) {
                    facts.fields = fields.named.iter().map(|field| Member::new(field, required)).collect();
                }
            }
            Item::Enum(item) => {
                facts.types.insert(item.ident.to_string());
            }
            _ => {}
        }
    }
    facts
}

impl Member {
    fn new(field: &Field, required: &[&str]) -> Option<Self> {
        let name = field.ident.clone()?;
        let mut wire = name.to_string().trim_start_matches("r#").to_owned();
        let mut can_be_left_out = false;
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            let options = SerdeOptions::of(attribute);
            can_be_left_out |= options.can_be_left_out;
            wire = options.rename.unwrap_or(wire);
        }
        let place = required.iter().position(|key| *key == wire).unwrap_or(usize::MAX);
        Some(Self { wire, name, ty: field.ty.clone(), required: (!can_be_left_out).then_some(place) })
    }
}

#[derive(Default)]
struct SerdeOptions {
    rename: Option<String>,
    can_be_left_out: bool,
}

impl SerdeOptions {
    fn of(attribute: &Attribute) -> Self {
        let mut options = Self::default();
        // Unreadable options do not matter here.
        let _ = attribute.parse_nested_meta(|meta| {
            options.can_be_left_out |=
                ["default", "skip_serializing_if", "flatten"].iter().any(|name| meta.path.is_ident(name));
            if meta.input.peek(syn::Token![=]) {
                let text: LitStr = meta.value()?.parse()?;
                if meta.path.is_ident("rename") {
                    options.rename = Some(text.value());
                }
            }
            Ok(())
        });
        options
    }
}

impl Facts {
    /// Emits `new`, with the required properties in the order of `required`.
    pub(super) fn constructor(&self, root: &Ident) -> TokenStream {
        let Some(fields) = &self.fields else { return TokenStream::new() };
        let mut required: Vec<&Member> = fields.iter().filter(|field| field.required.is_some()).collect();
        required.sort_by_key(|field| field.required);
        let arguments =
            required.iter().map(
                |Member { name, ty, .. }| {
                    if is_text(ty) { quote!(#name: impl Into<String>) } else { quote!(#name: #ty) }
                },
            );
        let values = fields.iter().map(|Member { name, ty, required, .. }| match required {
            Some(_) if is_text(ty) => quote!(#name: #name.into()),
            Some(_) => quote!(#name),
            None => quote!(#name: Default::default()),
        });
        let many = (required.len() > MOST_ARGUMENTS).then(|| quote!(#[allow(clippy::too_many_arguments)]));
        quote! {
            impl #root {
                /// Creates it with the required properties.
                #many
                #[must_use]
                pub fn new(#(#arguments),*) -> Self {
                    Self { #(#values,)* }
                }
            }
        }
    }

    /// Returns the type of a property's field, as it is named outside the module.
    pub(super) fn field_type(&self, wire: &str, module: &Ident) -> Option<TokenStream> {
        let field = self.fields.iter().flatten().find(|field| field.wire == wire && field.name == wire)?;
        let mut ty = field.ty.clone();
        Qualifying { types: &self.types, module }.visit_type_mut(&mut ty);
        Some(ty.into_token_stream())
    }
}

/// Puts the module before the names of its types.
struct Qualifying<'f> {
    types: &'f HashSet<String>,
    module: &'f Ident,
}

impl VisitMut for Qualifying<'_> {
    fn visit_path_mut(&mut self, path: &mut Path) {
        if path.get_ident().is_some_and(|name| self.types.contains(&name.to_string())) {
            path.segments.insert(0, self.module.clone().into());
        }
        visit_path_mut(self, path);
    }
}

fn is_text(ty: &Type) -> bool {
    ty.to_token_stream().to_string().replace(' ', "") == "::std::string::String"
}
