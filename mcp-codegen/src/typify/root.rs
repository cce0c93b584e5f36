//! The parts of typify's root type that the glue needs.

use std::collections::HashSet;

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Field, Fields, File, Item, LitStr, Type};

use super::rewrite::rewritten;
use crate::names::STANDARD;

/// clippy's limit for the arguments of a function.
const MOST_ARGUMENTS: usize = 7;
/// Names that typify's code, or a derive in it, takes from the prelude, beside those that our code takes too.
const MORE_STANDARD: &str = "AsRef Iterator ToString TryFrom TryInto";

/// The declarations in the code of typify.
pub(super) struct Facts {
    /// The fields of the root type, if it is a struct.
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

/// Reads typify's code. `required` are the names of the required properties, in the schema's order.
///
/// # Errors
/// Fails if names in the code clash.
pub(super) fn describe(file: &File, root: &Ident, required: &[&str]) -> Result<Facts, String> {
    let mut facts = Facts { fields: None, types: HashSet::new() };
    for item in &file.items {
        let (name, members): (_, Vec<&Ident>) = match item {
            Item::Struct(item) => (&item.ident, item.fields.iter().filter_map(|field| field.ident.as_ref()).collect()),
            Item::Enum(item) => (&item.ident, item.variants.iter().map(|variant| &variant.ident).collect()),
            _ => continue,
        };
        if !facts.types.insert(name.to_string()) {
            return Err(format!("it has two types `{name}`"));
        }
        if [STANDARD, MORE_STANDARD].iter().any(|names| names.split(' ').any(|known| name == known)) {
            return Err(format!("it has a type `{name}`, which Rust has too"));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = members.into_iter().find(|member| !seen.insert(*member)) {
            return Err(format!("its `{name}` has `{twice}` twice"));
        }
        if let Item::Struct(item) = item
            && let (true, Fields::Named(fields)) = (name == root, &item.fields)
        {
            facts.fields = fields.named.iter().map(|field| Member::new(field, required)).collect();
        }
    }
    Ok(facts)
}

impl Member {
    fn new(field: &Field, required: &[&str]) -> Option<Self> {
        let name = field.ident.clone()?;
        let mut wire = name.unraw().to_string();
        let mut can_be_left_out = false;
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            // Unreadable options do not matter here.
            let _ = attribute.parse_nested_meta(|meta| {
                can_be_left_out |=
                    ["default", "skip_serializing_if", "flatten"].iter().any(|name| meta.path.is_ident(name));
                if meta.input.peek(syn::Token![=]) {
                    let text: LitStr = meta.value()?.parse()?;
                    if meta.path.is_ident("rename") {
                        wire = text.value();
                    }
                }
                Ok(())
            });
        }
        let place = required.iter().position(|key| *key == wire).unwrap_or(usize::MAX);
        Some(Self { wire, name, ty: field.ty.clone(), required: (!can_be_left_out).then_some(place) })
    }
}

impl Facts {
    /// Emits `new`, with the required properties in the order of `required`.
    pub(super) fn constructor(&self, root: &Ident, library: &TokenStream) -> TokenStream {
        let Some(fields) = &self.fields else { return TokenStream::new() };
        let mut required: Vec<&Member> = fields.iter().filter(|field| field.required.is_some()).collect();
        required.sort_by_key(|field| field.required);
        let arguments = required.iter().map(|Member { name, ty, .. }| {
            let ty = if is_text(ty) { quote!(impl Into<String>) } else { rewritten(ty.to_token_stream(), library) };
            quote!(#name: #ty)
        });
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
        Some(self.outside(field.ty.to_token_stream(), module))
    }

    /// Puts the module before the names of its types.
    fn outside(&self, ty: TokenStream, module: &Ident) -> TokenStream {
        let mut is_within_path = false;
        let qualified = |token: TokenTree| {
            let begins = !is_within_path;
            is_within_path = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ':');
            match token {
                TokenTree::Group(group) => {
                    Group::new(group.delimiter(), self.outside(group.stream(), module)).into_token_stream()
                }
                TokenTree::Ident(name) if begins && self.types.contains(&name.to_string()) => quote!(#module::#name),
                other => other.into(),
            }
        };
        ty.into_iter().map(qualified).collect()
    }
}

fn is_text(ty: &Type) -> bool {
    ty.to_token_stream().to_string().replace(' ', "") == "::std::string::String"
}
