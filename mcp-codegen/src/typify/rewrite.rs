//! Adapts typify's code: it only refers to the library, its documentation is split into lines, and code that would
//! not compile is found first.

use std::collections::HashSet;

use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::visit_mut::{VisitMut, visit_attribute_mut, visit_expr_path_mut, visit_path_mut, visit_type_path_mut};
use syn::{
    Attribute, Expr, ExprLit, ExprPath, File, Item, ItemMod, Lit, Meta, Path, PathSegment, QSelf, Token, TypePath,
};

use super::root::Facts;
use crate::names::STANDARD;

/// Names that typify's code, or a derive in it, takes from the prelude, beside those that our code takes too.
const MORE_STANDARD: &str = "AsRef Iterator ToString TryFrom TryInto";

/// Parses typify's code, and fails if names in it clash.
pub(super) fn checked(tokens: TokenStream) -> Result<File, String> {
    let file: File = syn::parse2(tokens).map_err(|error| format!("its code does not parse: {error}"))?;
    let mut names = HashSet::new();
    for item in &file.items {
        let (name, members): (_, Vec<&Ident>) = match item {
            Item::Struct(item) => (&item.ident, item.fields.iter().filter_map(|field| field.ident.as_ref()).collect()),
            Item::Enum(item) => (&item.ident, item.variants.iter().map(|variant| &variant.ident).collect()),
            _ => continue,
        };
        if !names.insert(name) {
            return Err(format!("it has two types `{name}`"));
        }
        if [STANDARD, MORE_STANDARD].iter().any(|names| names.split(' ').any(|known| name == known)) {
            return Err(format!("it has a type `{name}`, which Rust has too"));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = members.into_iter().find(|member| !seen.insert(*member)) {
            return Err(format!("its `{name}` has `{twice}` twice"));
        }
    }
    Ok(file)
}

/// Makes the code depend on the library only.
pub(super) fn rewrite(file: &mut File, root: &Ident, private: &TokenStream) -> Result<(), String> {
    let library: Path = syn::parse2(private.clone()).map_err(|_| "the library's path is not a path")?;
    let serde = quote!(#library::serde).to_string().replace(' ', "");
    for item in &mut file.items {
        let (name, attributes) = match item {
            Item::Struct(item) => (&item.ident, &mut item.attrs),
            Item::Enum(item) => (&item.ident, &mut item.attrs),
            _ => continue,
        };
        if name == root {
            // The documentation is on the exported item.
            attributes.retain(|attribute| !attribute.path().is_ident("doc"));
        }
        attributes.push(syn::parse_quote!(#[serde(crate = #serde)]));
    }
    for item in &mut file.items {
        if let Item::Mod(ItemMod { content: Some((_, items)), .. }) = item {
            items.insert(0, syn::parse2(prelude()).map_err(|_| "the prelude is not an item")?);
        }
    }
    Rewriting { library }.visit_file_mut(file);
    Ok(())
}

/// Returns the contents of the module around the types.
pub(super) fn module(file: &File, root: &Ident, facts: &Facts, private: &TokenStream) -> TokenStream {
    let new = facts.constructor(root);
    let prelude = prelude();
    quote! {
        #prelude
        #[allow(unused_imports)]
        use #private::serde::Deserialize as _;

        #file
        #new
        #private::__wire_through_serde!(#root);
    }
}

/// Returns the imports for crates without an implicit prelude.
fn prelude() -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use ::std::prelude::rust_2021::*;
    }
}

struct Rewriting {
    library: Path,
}

impl Rewriting {
    fn is_ours(first: &PathSegment) -> bool {
        ["serde", "serde_json", "regress"].iter().any(|name| first.ident == name)
    }

    /// Adjusts `<T as Trait>::item`, which counts the segments of the trait's path.
    fn keep_trait(&self, qualified: Option<&mut QSelf>, path: &Path) {
        if let (Some(qualified), Some(_)) = (qualified.filter(|qualified| qualified.position > 0), self.moved(path)) {
            qualified.position += self.library.segments.len();
        }
    }

    fn moved(&self, path: &Path) -> Option<Path> {
        path.leading_colon?;
        path.segments.first().filter(|first| Self::is_ours(first))?;
        let mut moved = self.library.clone();
        moved.segments.extend(path.segments.iter().cloned());
        Some(moved)
    }
}

impl VisitMut for Rewriting {
    fn visit_path_mut(&mut self, path: &mut Path) {
        if let Some(moved) = self.moved(path) {
            *path = moved;
        }
        visit_path_mut(self, path);
    }

    fn visit_expr_path_mut(&mut self, path: &mut ExprPath) {
        self.keep_trait(path.qself.as_mut(), &path.path);
        visit_expr_path_mut(self, path);
    }

    fn visit_type_path_mut(&mut self, path: &mut TypePath) {
        self.keep_trait(path.qself.as_mut(), &path.path);
        visit_type_path_mut(self, path);
    }

    fn visit_attribute_mut(&mut self, attribute: &mut Attribute) {
        if let Meta::List(list) = &mut attribute.meta {
            if list.path.is_ident("derive") {
                let parsed = attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
                if let (Ok(mut derives), Meta::List(list)) = (parsed, &mut attribute.meta) {
                    derives.iter_mut().for_each(|path| self.visit_path_mut(path));
                    list.tokens = derives.into_token_stream();
                }
            } else if list.path.is_ident("serde") {
                list.tokens = self.paths_in_text(std::mem::take(&mut list.tokens));
            }
        }
        visit_attribute_mut(self, attribute);
    }

    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        *attributes = std::mem::take(attributes).into_iter().flat_map(lines).collect();
        attributes.iter_mut().for_each(|attribute| self.visit_attribute_mut(attribute));
    }
}

impl Rewriting {
    /// Rewrites paths in strings, which `serde` uses for functions.
    fn paths_in_text(&self, tokens: TokenStream) -> TokenStream {
        let mut key = None;
        let mut rewritten = TokenStream::new();
        for token in tokens {
            match &token {
                TokenTree::Ident(ident) => key = Some(ident.to_string()),
                TokenTree::Literal(_) if key.as_deref() == Some("skip_serializing_if") => {
                    let text: Option<syn::LitStr> = syn::parse2(token.clone().into()).ok();
                    let path: Option<Path> = text.and_then(|text| text.parse().ok());
                    if let Some(moved) = path.and_then(|path| self.moved(&path)) {
                        let text = moved.into_token_stream().to_string().replace(' ', "");
                        rewritten.extend([TokenTree::Literal(Literal::string(&text))]);
                        continue;
                    }
                }
                _ => {}
            }
            rewritten.extend([token]);
        }
        rewritten
    }
}

/// Splits documentation into an attribute for each line; other attributes stay.
fn lines(attribute: Attribute) -> Vec<Attribute> {
    let text = match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    let Some(text) = text else { return vec![attribute] };
    let lines = text.lines().map(|line| format!(" {}", line.trim_start()));
    lines.map(|line| syn::parse_quote!(#[doc = #line])).collect()
}
