//! Adapts typify's code: it only refers to the library, and its documentation is split into lines.

use proc_macro2::{Group, Ident, Literal, Punct, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Expr, ExprLit, File, Item, ItemMod, Lit, LitStr, MetaNameValue};

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
