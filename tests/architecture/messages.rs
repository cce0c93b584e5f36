//! The texts of errors, warnings, logs and help, in one file.

use std::collections::BTreeSet;
use std::fs;

use mcp_bindgen_model::write_if_changed;
use proc_macro2::{Literal, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, LitStr};

use super::floors::is_for_tests;
use super::{Fallible, PACKAGES, collect_sources, root};

const FILE: &str = "docs/contributing/messages.md";
const MESSAGES_AT_LEAST: usize = 1_500;
/// Phrases that have to be decoded, and what to write.
const UNCLEAR: [(&str, &str); 14] = [
    ("cannot stand ", "is not allowed"),
    ("could not be told", "failed to"),
    ("has to be ", "must be"),
    ("is none of", "expected one of"),
    ("is told", "is reported"),
    ("leads nowhere", "not found"),
    ("left alone", "not changed"),
    ("make it anew", "again"),
    ("nobody can be asked", "no handler is set"),
    ("not carried out", "did not run"),
    ("stands beside", "is next to"),
    ("taken over", "imported"),
    ("there is no such ", "unknown"),
    ("under way", "pending"),
];

#[test]
fn messages_are_listed_and_clear() -> Fallible<()> {
    let mut page =
        "# Messages\n\nThe texts of three words or more in the sources, by file: errors, warnings, logs, help.\n\
                    `SNAPSHOTS=overwrite cargo test --test architecture messages` writes this page.\n"
            .to_owned();
    let (mut count, mut unclear) = (0, Vec::new());
    for (_, folder, _) in PACKAGES {
        let mut files = Vec::new();
        collect_sources(&root().join(folder), &mut files)?;
        files.sort();
        for file in files {
            let mut found = Vec::new();
            let items = syn::parse_file(&fs::read_to_string(&file)?)?.items;
            items_in(&items, &mut found);
            let mut seen = BTreeSet::new();
            found.retain(|text| seen.insert(text.clone()));
            if found.is_empty() {
                continue;
            }
            let file = file.strip_prefix(root())?.display().to_string();
            page += &format!("\n## {file}\n\n");
            for text in found {
                count += 1;
                let has = |(phrase, _): &&(&str, &str)| text.contains(phrase);
                if let Some((phrase, better)) = UNCLEAR.iter().find(has) {
                    unclear.push(format!("{file}: `{phrase}` in {text:?}: write `{better}`"));
                }
                let text = text.replace('\r', "\\r").replace('\n', "\\n").replace('\u{1b}', "\\u{1b}");
                page += &format!("    {text}\n");
            }
        }
    }
    println!("{count} messages");
    assert!(count >= MESSAGES_AT_LEAST, "only {count} messages were read");
    assert!(unclear.is_empty(), "{}", unclear.join("\n"));
    let path = root().join(FILE);
    if std::env::var("SNAPSHOTS").is_ok_and(|word| word == "overwrite") {
        write_if_changed(&path, page.as_bytes())?;
    }
    assert!(
        fs::read_to_string(&path)? == page,
        "{FILE} is out of date: `SNAPSHOTS=overwrite cargo test --test architecture messages` writes it"
    );
    Ok(())
}

fn items_in(items: &[Item], found: &mut Vec<String>) {
    for item in items {
        match item {
            Item::Mod(item) if item.attrs.iter().any(is_for_tests) => {}
            Item::Mod(item) => {
                items_in(item.content.as_ref().map(|(_, items)| items.as_slice()).unwrap_or_default(), found)
            }
            item => texts_in(item.to_token_stream(), found),
        }
    }
}

/// The string literals in code; those of documentation are none of them.
fn texts_in(tokens: TokenStream, found: &mut Vec<String>) {
    let mut is_doc = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => is_doc = ident == "doc",
            TokenTree::Literal(literal) if !is_doc => found.extend(message(&literal)),
            TokenTree::Group(group) => texts_in(group.stream(), found),
            TokenTree::Literal(_) | TokenTree::Punct(_) => {}
        }
    }
}

fn message(literal: &Literal) -> Option<String> {
    let text = syn::parse2::<LitStr>(TokenTree::from(literal.clone()).into()).ok()?.value();
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() >= 2).count();
    (words >= 3 && text.trim().contains(' ')).then_some(text)
}
