//! The floors of the runtime: each folder uses only those before it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, UseTree};

use super::{Fallible, collect_sources, root};

const FLOORS: [&str; 8] = ["ground", "call", "rpc", "connect", "client", "middleware", "testing", "generated"];
const USES_AT_LEAST: usize = 150;

/// A path that a module names: from which floor to which.
type Arrow = (String, String);

#[test]
fn runtime_floors_use_only_lower_floors() -> Fallible<()> {
    let source = root().join("runtime/src");
    for entry in fs::read_dir(&source)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        assert!(name == "lib.rs" || FLOORS.contains(&name.as_str()), "runtime/src/{name} is on no floor");
    }
    let names = names_of_the_root(&fs::read_to_string(source.join("lib.rs"))?)?;
    assert!(names.len() > 50, "{} names of the root", names.len());
    let mut between: BTreeMap<Arrow, usize> = BTreeMap::new();
    let mut upward = Vec::new();
    let mut files = Vec::new();
    collect_sources(&source, &mut files)?;
    for file in files {
        let module = module_of(file.strip_prefix(&source)?);
        let Some(floor) = module.first().cloned() else { continue };
        for target in targets(&fs::read_to_string(&file)?, &module, &names)? {
            if place(&target) > place(&floor) {
                upward.push(format!("{} -> {target}", module.join("::")));
            }
            if target != floor {
                *between.entry((floor.clone(), target)).or_default() += 1;
            }
        }
    }
    let uses: usize = between.values().sum();
    println!(
        "{uses} uses of one floor by a file of another, {} floors, {} arrows, {} of them upward",
        FLOORS.len(),
        between.len(),
        upward.len()
    );
    for ((from, to), files) in &between {
        println!("  {from} -> {to}: {files} files");
    }
    assert!(uses >= USES_AT_LEAST, "only {uses} were read");
    assert!(upward.is_empty(), "paths to a floor above: {upward:#?}");
    Ok(())
}

#[test]
fn every_form_of_path_is_recognized() -> Fallible<()> {
    let names = names_of_the_root("pub use client::{Client, state::StateWatch}; pub use call::CallError as Error;")?;
    let seen = |text: &str| targets(text, &["rpc".to_owned(), "ledger".to_owned()], &names);
    let floors = |found: &[&str]| found.iter().map(|floor| (*floor).to_owned()).collect::<BTreeSet<_>>();
    for (text, found) in [
        ("use crate::client::Client;", &["client"][..]),
        ("use crate::{Client, rpc::session};", &["client", "rpc"]),
        ("use crate::Error;", &["call"]),
        ("use super::super::connect;", &["connect"]),
        ("pub(crate) use crate::connect::open as opened;", &["connect"]),
        ("fn f() { crate::middleware::stack(); }", &["middleware"]),
        ("fn f() -> crate::StateWatch { g!(super::super::testing::Fake) }", &["client", "testing"]),
        ("mod inner { use super::super::super::generated; }", &["generated"]),
        ("impl crate::ground::Wire for super::Ticket {}", &["ground", "rpc"]),
        ("#[cfg(test)] mod tests { use crate::client::Client; }", &[]),
        ("macro_rules! m { () => { $crate::client::Client } }", &[]),
        ("use std::fmt; fn f() { \"crate::client\"; }", &[]),
    ] {
        assert_eq!(seen(text)?, floors(found), "{text}");
    }
    Ok(())
}

fn place(floor: &str) -> Option<usize> {
    FLOORS.iter().position(|known| *known == floor)
}

/// The module of a file: `rpc/ledger/mod.rs` is `rpc::ledger`.
pub(super) fn module_of(file: &Path) -> Vec<String> {
    let path: PathBuf = file.with_extension("");
    let mut module: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    module.pop_if(|last| last == "mod" || last == "lib");
    module
}

/// The floors of the names that the root shows.
fn names_of_the_root(text: &str) -> Fallible<BTreeMap<String, String>> {
    let mut names = BTreeMap::new();
    for item in syn::parse_file(text)?.items {
        if let Item::Use(item) = item {
            for (path, name) in paths_of(&item.tree) {
                if let Some(floor) = path.first().filter(|floor| FLOORS.contains(&floor.as_str())) {
                    names.insert(name, floor.clone());
                }
            }
        }
    }
    Ok(names)
}

/// The paths of a `use`, each with the name that it brings.
pub(super) fn paths_of(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    let below = |first: String, paths: Vec<(Vec<String>, String)>| {
        paths
            .into_iter()
            .map(|(mut path, name)| {
                path.insert(0, first.clone());
                (path, name)
            })
            .collect()
    };
    match tree {
        UseTree::Path(path) => below(path.ident.to_string(), paths_of(&path.tree)),
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(rename) => vec![(vec![rename.ident.to_string()], rename.rename.to_string())],
        UseTree::Glob(_) => vec![(Vec::new(), String::new())],
        UseTree::Group(group) => group.items.iter().flat_map(paths_of).collect(),
    }
}

/// The floors that a file names.
fn targets(text: &str, module: &[String], names: &BTreeMap<String, String>) -> Fallible<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let file = syn::parse_file(text)?;
    look_into(&file.items, module, names, &mut found);
    Ok(found)
}

fn look_into(items: &[Item], module: &[String], names: &BTreeMap<String, String>, found: &mut BTreeSet<String>) {
    let mut note = |path: &[String]| found.extend(floor_of(path, module, names));
    let mut inner = Vec::new();
    for item in items {
        match item {
            Item::Mod(item) if item.attrs.iter().any(is_for_tests) => {}
            Item::Mod(item) => {
                if let Some((_, items)) = &item.content {
                    let mut module = module.to_vec();
                    module.push(item.ident.to_string());
                    inner.push((items, module));
                }
            }
            Item::Use(item) => paths_of(&item.tree).iter().for_each(|(path, _)| note(path)),
            other => paths_in(other.to_token_stream(), &mut |path| note(&path)),
        }
    }
    for (items, module) in inner {
        look_into(items, &module, names, found);
    }
}

pub(super) fn is_for_tests(attribute: &syn::Attribute) -> bool {
    attribute.to_token_stream().to_string().contains("cfg (test)")
}

/// Finds the paths in code, including single names.
pub(super) fn paths_in(tokens: TokenStream, note: &mut impl FnMut(Vec<String>)) {
    let mut path = Vec::new();
    let mut colons = 0;
    let mut before = String::new();
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Ident(ident) if colons == 2 && !path.is_empty() => {
                path.push(ident.to_string());
                colons = 0;
            }
            other => {
                note(std::mem::take(&mut path));
                if let TokenTree::Ident(ident) = other
                    && !matches!(before.as_str(), "." | "$" | "'")
                    && colons != 2
                {
                    path.push(ident.to_string());
                }
                colons = 0;
                if let TokenTree::Group(group) = other {
                    paths_in(group.stream(), note);
                }
            }
        }
        before = token.to_string();
    }
    note(path);
}

fn floor_of(path: &[String], module: &[String], names: &BTreeMap<String, String>) -> Option<String> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    let first = match path.first()?.as_str() {
        "crate" => path.get(1)?.clone(),
        "super" if ups < module.len() => module.first()?.clone(),
        "super" => path.get(ups)?.clone(),
        _ => return None,
    };
    let is_floor = FLOORS.contains(&first.as_str());
    if is_floor { Some(first) } else { names.get(&first).cloned() }
}
