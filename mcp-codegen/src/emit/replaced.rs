//! Types of another backend: a module of their own, and the root's type under its public name.

use proc_macro2::TokenStream;
use quote::quote;

use super::TypeEmitter;
use crate::typify::Replacement;

impl TypeEmitter<'_, '_> {
    pub(super) fn replaced(&self, types: &Replacement) -> TokenStream {
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
}
