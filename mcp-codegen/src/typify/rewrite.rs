//! Adapts typify's code: it only refers to the library, its documentation is split into lines, and the root type has a
//! constructor.

use std::collections::HashSet;

use proc_macro2::{Group, Ident, Literal, Punct, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Expr, ExprLit, Field, Fields, File, Item, ItemMod, Lit, LitStr, MetaNameValue, Type};

use crate::names::STANDARD;

/// The crates that the library exports for typify's code.
const CRATES: [&str; 3] = ["serde", "serde_json", "regress"];

/// Returns the contents of the module around the types and the constructor `new`.
pub(super) fn module(
    mut file: File,
    root: &Ident,
    new: &TokenStream,
    private: &TokenStream,
) -> Result<TokenStream, String> {
    let prelude = prelude();
    let serde = quote!(#private::serde).to_string().replace(' ', "");
    for item in &mut file.items {
        let (name, attributes) = match item {
            Item::Struct(item) => (&item.ident, &mut item.attrs),
            Item::Enum(item) => (&item.ident, &mut item.attrs),
            Item::Mod(ItemMod { content: Some((_, items)), .. }) => {
                items.insert(0, syn::parse2(prelude.clone()).map_err(|_| "the prelude is not an item")?);
                continue;
            }
            _ => continue,
        };
        if name == root {
            // The documentation is on the exported item.
            attributes.retain(|attribute| !attribute.path().is_ident("doc"));
        }
        attributes.push(syn::parse_quote!(#[serde(crate = #serde)]));
    }
    let types = rewritten(file.into_token_stream(), private);
    Ok(quote! {
        #prelude
        #[allow(unused_imports)]
        use #private::serde::Deserialize as _;

        #types
        #new
        #private::__wire_through_serde!(#root);
    })
}

/// Returns the imports for crates without an implicit prelude.
fn prelude() -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use ::std::prelude::rust_2021::*;
    }
}

/// Makes code depend on the library only.
pub(super) fn rewritten(tokens: TokenStream, library: &TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rest = tokens.as_slice();
    let mut code = TokenStream::new();
    loop {
        rest = match rest {
            [] => return code,
            [TokenTree::Punct(first), TokenTree::Punct(second), TokenTree::Ident(name), after @ ..]
                if begins_crate(first, second, name) =>
            {
                code.extend(quote!(#library::#name));
                after
            }
            [TokenTree::Ident(serde), TokenTree::Group(options), after @ ..] if serde == "serde" => {
                let options = Group::new(options.delimiter(), functions(options.stream(), library));
                code.extend(quote!(#serde #options));
                after
            }
            [TokenTree::Punct(hash), TokenTree::Group(attribute), after @ ..] if hash.as_char() == '#' => {
                code.extend(documentation(attribute).unwrap_or_else(|| {
                    let attribute = Group::new(attribute.delimiter(), rewritten(attribute.stream(), library));
                    quote!(#hash #attribute)
                }));
                after
            }
            [TokenTree::Group(group), after @ ..] => {
                Group::new(group.delimiter(), rewritten(group.stream(), library)).to_tokens(&mut code);
                after
            }
            [token, after @ ..] => {
                token.to_tokens(&mut code);
                after
            }
        };
    }
}

/// Returns `true` for `::serde` and the like: typify names crates after `::`, and nothing else by these words.
fn begins_crate(first: &Punct, second: &Punct, name: &Ident) -> bool {
    [first, second].iter().all(|punct| punct.as_char() == ':') && CRATES.iter().any(|known| name == known)
}

/// Returns documentation as an attribute for each line, or `None` for other attributes.
fn documentation(attribute: &Group) -> Option<TokenStream> {
    let MetaNameValue { path, value, .. } = syn::parse2(attribute.stream()).ok()?;
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value else { return None };
    let text = text.value();
    let lines = text.lines().map(|line| format!(" {}", line.trim_start()));
    path.is_ident("doc").then(|| lines.map(|line| quote!(#[doc = #line])).collect())
}

/// Makes the functions that `serde`'s options name as strings depend on the library only.
fn functions(options: TokenStream, library: &TokenStream) -> TokenStream {
    let mut names_function = false;
    let moved = |token: TokenTree| {
        if let TokenTree::Ident(key) = &token {
            names_function = key == "skip_serializing_if";
        }
        let text = syn::parse2::<LitStr>(token.clone().into()).ok().filter(|_| names_function);
        let path = text.and_then(|text| text.value().parse::<TokenStream>().ok()).unwrap_or_default();
        let (before, after) = (path.to_string(), rewritten(path, library).to_string());
        if before == after { token } else { Literal::string(&after.replace(' ', "")).into() }
    };
    options.into_iter().map(moved).collect()
}

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
