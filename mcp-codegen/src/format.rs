use proc_macro2::{Span, TokenStream};
use syn::parse::Parser;
use syn::{AttrStyle, Attribute, Error, File, Item, ItemMod};

/// Formats generated tokens as source text.
///
/// # Errors
/// Fails if the tokens are not a Rust file, which those of [`Bindings::generate`](crate::Bindings::generate) always are.
pub fn format(tokens: TokenStream) -> Result<String, Error> {
    Ok(prettyplease::unparse(&syn::parse2(tokens)?))
}

/// Formats the content of a generated module as a file for `mod github;`. It is marked to be skipped by rustfmt,
/// whose layout differs.
///
/// # Errors
/// Fails if the tokens are not one module, which those of [`Bindings::generate`](crate::Bindings::generate) always are.
pub fn format_file(tokens: TokenStream) -> Result<String, Error> {
    let (mut file, mut module) = module(tokens)?;
    for attribute in &mut module.attrs {
        attribute.style = AttrStyle::Inner(syn::token::Not::default());
    }
    // `rustfmt::skip` is not stable as an inner attribute.
    file.attrs = Attribute::parse_inner.parse_str("#![cfg_attr(rustfmt, rustfmt::skip)]")?;
    file.attrs.splice(0..0, module.attrs);
    file.items = module.content.map(|(_, items)| items).unwrap_or_default();
    Ok(prettyplease::unparse(&file))
}

/// Formats the types of a generated module whose names are wanted, without their implementations.
///
/// # Errors
/// Fails if the tokens are not one module, which those of [`Bindings::generate`](crate::Bindings::generate) always are.
///
/// ```
/// use mcp_bindgen_codegen::{Bindings, Options, format_types};
/// use mcp_bindgen_model::Snapshot;
///
/// let snapshot = Snapshot::parse(r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#)?;
/// let (tokens, _) = Bindings::generate(&snapshot, &Options::new("demo"));
/// let types = format_types(tokens, |name| name == "DemoPingParams")?;
/// assert!(types.contains("pub struct DemoPingParams") && !types.contains("impl"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn format_types(tokens: TokenStream, is_wanted: impl Fn(&str) -> bool) -> Result<String, Error> {
    let (mut file, module) = module(tokens)?;
    let mut items = module.content.map(|(_, items)| items).unwrap_or_default();
    items.retain(|item| match item {
        Item::Struct(item) => is_wanted(&item.ident.to_string()),
        Item::Enum(item) => is_wanted(&item.ident.to_string()),
        Item::Type(item) => is_wanted(&item.ident.to_string()),
        _ => false,
    });
    file.attrs.clear();
    file.items = items;
    Ok(prettyplease::unparse(&file))
}

/// Parses a file of one module, and takes the module out of it.
fn module(tokens: TokenStream) -> Result<(File, ItemMod), Error> {
    let mut file: File = syn::parse2(tokens)?;
    match (file.items.pop(), file.items.is_empty()) {
        (Some(Item::Mod(module)), true) => Ok((file, module)),
        _ => Err(Error::new(Span::call_site(), "not a module")),
    }
}

/// Formats the items of a tool without what implements traits for them, which is in macros.
pub(crate) fn format_for_readers(tokens: TokenStream) -> Result<String, Error> {
    let mut file: File = syn::parse2(tokens)?;
    file.items.retain(|item| !matches!(item, Item::Macro(_)));
    Ok(prettyplease::unparse(&file))
}
