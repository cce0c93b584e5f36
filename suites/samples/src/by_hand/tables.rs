//! The tables of an expansion: what the macros beside each type say of its wire form.

use std::collections::HashMap;

use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::{Item, LitStr, Token, braced, bracketed, parenthesized};

use super::shown;
use crate::Fallible;

/// The wire format of a type.
#[derive(Default)]
pub(super) struct Table {
    /// The key of each field.
    pub(super) fields: HashMap<Ident, (LitStr, Presence)>,
    /// The field of undeclared keys.
    pub(super) extra: Option<Ident>,
    /// `true` if undeclared keys are refused.
    pub(super) denies: bool,
    /// The key that tells the variants apart.
    pub(super) tag: Option<LitStr>,
    /// The text of each variant: a string, a tag, or a JSON value; of an untagged union none.
    pub(super) variants: Vec<(Ident, LitStr)>,
    /// `true` if those texts are JSON values.
    pub(super) is_of_values: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
}

impl Table {
    pub(super) fn text_of(&self, variant: &Ident) -> Option<&LitStr> {
        self.variants.iter().find(|(known, _)| known == variant).map(|(_, text)| text)
    }
}

/// The tables of an expansion, by the names of the types.
pub(super) struct Tables(HashMap<Ident, Table>);

impl Tables {
    pub(super) fn read(items: &[Item]) -> Fallible<Self> {
        let mut tables = HashMap::new();
        for item in items {
            let Item::Macro(item) = item else { continue };
            let name = item.mac.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
            let table = match name.as_str() {
                "__object" => item.mac.parse_body_with(object),
                "__string_enum" => item.mac.parse_body_with(string_enum),
                "__literal_enum" => item.mac.parse_body_with(literal_enum),
                "__tagged_union" => item.mac.parse_body_with(tagged_union),
                "__untagged_union" => item.mac.parse_body_with(untagged_union),
                "__newtype" => item.mac.parse_body_with(newtype),
                _ => continue,
            };
            let (ty, table) = table.map_err(|error| format!("{error} in `{}`", shown(&item.mac)))?;
            tables.insert(ty, table);
        }
        Ok(Self(tables))
    }

    pub(super) fn get(&self, ty: &Ident) -> Option<&Table> {
        self.0.get(ty)
    }
}

type Named = (Ident, Table);

/// `Type { field: presence "key", .. } extra field deny tag "key" any [..]`
fn object(input: ParseStream<'_>) -> syn::Result<Named> {
    let ty = input.parse()?;
    let mut table = Table::default();
    let fields;
    braced!(fields in input);
    while !fields.is_empty() {
        let field = fields.parse()?;
        fields.parse::<Token![:]>()?;
        let presence: Ident = fields.parse()?;
        let key = fields.parse()?;
        fields.parse::<Token![,]>()?;
        let presence = if presence == "required" { Presence::Required } else { Presence::Optional };
        table.fields.insert(field, (key, presence));
    }
    while !input.is_empty() {
        let word: Ident = input.parse()?;
        match word.to_string().as_str() {
            "extra" => table.extra = Some(input.parse()?),
            "deny" => table.denies = true,
            "tag" => drop(input.parse::<LitStr>()?),
            "any" => drop(skipped(input)?),
            _ => return Err(syn::Error::new(word.span(), "an unknown word")),
        }
    }
    Ok((ty, table))
}

/// `Type { Variant = "text", .. } open Other`
fn string_enum(input: ParseStream<'_>) -> syn::Result<Named> {
    let ty = input.parse()?;
    let table = Table { variants: variants(input)?, ..Table::default() };
    if !input.is_empty() {
        input.parse::<Ident>()?;
        input.parse::<Ident>()?;
    }
    Ok((ty, table))
}

/// `Type { Variant = "json", .. }`
fn literal_enum(input: ParseStream<'_>) -> syn::Result<Named> {
    Ok((input.parse()?, Table { variants: variants(input)?, is_of_values: true, ..Table::default() }))
}

/// `Type by json "key" { Variant = "tag", .. } Other`: serde has no tags but strings.
fn tagged_union(input: ParseStream<'_>) -> syn::Result<Named> {
    let ty = input.parse()?;
    input.parse::<Ident>()?;
    let is_json = input.peek(syn::Ident);
    if is_json {
        input.parse::<Ident>()?;
    }
    let tag = input.parse()?;
    let variants = variants(input)?;
    if !input.is_empty() {
        input.parse::<Ident>()?;
    }
    let table = if is_json { Table::default() } else { Table { tag: Some(tag), variants, ..Table::default() } };
    Ok((ty, table))
}

/// `Type { Variant, .. } by ["key" => 0, ..] [1] rest Rest ["number"]`
fn untagged_union(input: ParseStream<'_>) -> syn::Result<Named> {
    let ty = input.parse()?;
    let variants;
    braced!(variants in input);
    variants.parse_terminated(Ident::parse, Token![,])?;
    while !input.is_empty() {
        if input.parse::<Ident>()? == "rest" {
            input.parse::<Ident>()?;
        } else {
            skipped(input)?;
        }
        skipped(input)?;
    }
    Ok((ty, Table::default()))
}

/// `Type(Inner)`
fn newtype(input: ParseStream<'_>) -> syn::Result<Named> {
    let ty = input.parse()?;
    let inner;
    parenthesized!(inner in input);
    inner.parse::<syn::Type>()?;
    Ok((ty, Table::default()))
}

fn variants(input: ParseStream<'_>) -> syn::Result<Vec<(Ident, LitStr)>> {
    let content;
    braced!(content in input);
    let mut variants = Vec::new();
    while !content.is_empty() {
        let variant = content.parse()?;
        content.parse::<Token![=]>()?;
        variants.push((variant, content.parse()?));
        content.parse::<Token![,]>()?;
    }
    Ok(variants)
}

fn skipped(input: ParseStream<'_>) -> syn::Result<proc_macro2::TokenStream> {
    let content;
    bracketed!(content in input);
    content.parse()
}
