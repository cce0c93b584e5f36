use proc_macro2::TokenStream;

/// Formats generated tokens as source text.
///
/// # Errors
/// Where the tokens are not a Rust file, which those of [`Bindings::generate`](crate::Bindings::generate) always are.
pub fn format(tokens: TokenStream) -> Result<String, syn::Error> {
    Ok(prettyplease::unparse(&syn::parse2(tokens)?))
}
