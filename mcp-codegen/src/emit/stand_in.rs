//! The module of a server or a template that is at fault: its names, so that rustc reports the fault alone.

use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::quote;

/// Returns a type that reports an error. A second one that holds the same error would report it again.
pub(crate) fn fault(error: &syn::Error) -> TokenStream {
    let errors = error.to_compile_error();
    quote!([(); { #errors }])
}

/// Returns the path of the fault of another stand-in in the same module.
pub(crate) fn fault_of(module: &Ident) -> TokenStream {
    quote!(super::#module::__Fault)
}

/// Returns a module with the public names of `items`.
///
/// Every name has a type that holds the fault, and rustc has nothing more to say of code that uses such a type.
pub(crate) fn stand_in(module: &Ident, items: TokenStream, fault: &TokenStream) -> TokenStream {
    let items = names(items).into_iter().enumerate().map(|(place, name)| {
        let place = Literal::usize_unsuffixed(place);
        match name {
            Name::Type(name) => quote!(pub type #name = <__Fault as __Faulty<__Item<#place>>>::Type;),
            Name::Generic(name) => quote!(pub type #name<C = ()> = <__Fault as __Faulty<__Item<#place, C>>>::Type;),
            Name::Value(name) => {
                quote!(pub const #name: <__Fault as __Faulty<__Item<#place>>>::Type = ::core::panic!();)
            }
        }
    });
    quote! {
        #[allow(warnings)]
        pub mod #module {
            pub type __Fault = #fault;
            pub trait __Faulty<T> {
                type Type;
            }
            impl<T> __Faulty<T> for [(); 0] {
                type Type = T;
            }
            pub struct __Item<const PLACE: usize, C = ()>(C);
            #(#items)*
        }
    }
}

enum Name {
    Type(Ident),
    /// A type with a parameter that has a default.
    Generic(Ident),
    Value(Ident),
}

/// Returns the public names of the items of a module.
fn names(items: TokenStream) -> Vec<Name> {
    let mut names = Vec::new();
    let mut tokens = items.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if !is(&token, "pub") {
            continue;
        }
        let kind = tokens.by_ref().find(|token| !is(token, "async"));
        let (Some(kind), Some(TokenTree::Ident(name))) = (kind, tokens.next()) else {
            continue;
        };
        if is(&kind, "fn") || is(&kind, "const") {
            names.push(Name::Value(name));
        } else if ["struct", "enum", "type"].iter().any(|word| is(&kind, word)) {
            let is_generic = matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '<');
            names.push(if is_generic { Name::Generic(name) } else { Name::Type(name) });
        }
    }
    names
}

fn is(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}
