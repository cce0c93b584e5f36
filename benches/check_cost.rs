//! What `cargo check` of bindings costs, as a ratio to the same types written by hand with serde's derives.
//!
//! `cargo bench --bench check_cost`. Fails where the ratio is above the budget of the design.

#![allow(clippy::print_stdout, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use mcp_codegen::{Bindings, Options, format};
use mcp_model::write_if_changed;
use quote::quote;
use syn::{Fields, Item};

mod lists;

const ROUNDS: usize = 7;
const BUDGET: f64 = 1.25;

fn main() -> ExitCode {
    let list = lists::github();
    let (_, path) = lists::github_path();
    let (tokens, _) = Bindings::generate(&list.snapshot, &Options::new("github"));
    let expanded = format(tokens).unwrap_or_else(|error| panic!("{error}"));
    let (by_hand, types) = written_by_hand(&expanded);
    let bindgen = format!("mcp-bindgen = {{ path = {:?} }}", env!("CARGO_MANIFEST_DIR"));
    let serde = "serde = { version = \"1\", features = [\"derive\"] }\nserde_json = { version = \"1\", features = [\"preserve_order\"] }";
    let via_macro = format!("mcp_bindgen::mcp_tools!(\"github\", path = {:?});", path.canonicalize().unwrap_or(path));
    let crates = [
        ("by hand, serde's derives", Crate::new("by_hand", serde, &by_hand)),
        ("mcp_tools!", Crate::new("by_macro", &bindgen, &via_macro)),
        ("mcp-bindgen expand", Crate::new("by_expand", &bindgen, &expanded)),
    ];
    for (_, krate) in &crates {
        krate.check();
    }
    let mut took = vec![Vec::new(); crates.len()];
    for _ in 0..ROUNDS {
        for ((_, krate), took) in crates.iter().zip(&mut took) {
            took.push(krate.check());
        }
    }
    let medians: Vec<Duration> = took.into_iter().map(median).collect();
    println!("cargo check of {} tools, {types} types ({}), median of {ROUNDS}:", list.snapshot.tools.len(), list.name);
    let mut kept = true;
    for ((name, _), median) in crates.iter().zip(&medians) {
        let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
        kept &= ratio <= BUDGET;
        println!("{name:>26}: {median:>8.2?}  {ratio:.2} x  (budget {BUDGET} x)");
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

struct Crate(PathBuf);

impl Crate {
    fn new(name: &str, dependencies: &str, source: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check_cost").join(name);
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n\n[workspace]\n"
        );
        let lock = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).unwrap_or_default();
        for (file, text) in
            [("Cargo.toml", manifest.as_bytes()), ("Cargo.lock", &lock), ("src/lib.rs", source.as_bytes())]
        {
            write_if_changed(&folder.join(file), text).unwrap_or_else(|error| panic!("{error}"));
        }
        Self(folder)
    }

    /// Checks the crate alone; what it depends on is checked already after the first time.
    fn check(&self) -> Duration {
        let source = self.0.join("src/lib.rs");
        let text = fs::read_to_string(&source).unwrap_or_default();
        let again =
            if text.ends_with("\n//\n") { text.trim_end_matches("//\n").to_owned() } else { format!("{text}\n//\n") };
        write_if_changed(&source, again.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check_cost/target");
        let start = Instant::now();
        let status = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--offline"])
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_INCREMENTAL", "0")
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{} does not compile", self.0.display());
        start.elapsed()
    }
}

/// The types of an expansion as somebody would write them with serde: the same fields, documentation and derives.
fn written_by_hand(expanded: &str) -> (String, usize) {
    let file = syn::parse_file(expanded).unwrap_or_else(|error| panic!("{error}"));
    let items = file.items.into_iter().find_map(|item| match item {
        Item::Mod(module) => module.content.map(|(_, items)| items),
        _ => None,
    });
    let types: Vec<Item> = items.unwrap_or_default().into_iter().filter_map(with_serde).collect();
    let count = types.len();
    let nullable = "#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]\n#[serde(untagged)]\npub enum Nullable<T> { Null, Value(T) }\n";
    let uses = "#![allow(unused_imports)]\nuse std::collections::BTreeMap;\nuse serde_json::{Map, Value};\n";
    let types = format(quote!(#(#types)*)).unwrap_or_else(|error| panic!("{error}"));
    (format!("{uses}{nullable}{types}"), count)
}

fn with_serde(item: Item) -> Option<Item> {
    match item {
        Item::Struct(mut item) if item.generics.params.is_empty() => {
            if matches!(item.fields, Fields::Named(_)) {
                for field in &mut item.fields {
                    let ty = &field.ty;
                    let ty = quote!(#ty).to_string();
                    if ty.starts_with("Option") {
                        field.attrs.push(syn::parse_quote!(#[serde(default, skip_serializing_if = "Option::is_none")]));
                    } else if field.ident.as_ref().is_some_and(|name| name == "extra") {
                        field.attrs.push(syn::parse_quote!(#[serde(flatten)]));
                    }
                }
            }
            item.attrs.push(syn::parse_quote!(#[derive(serde::Serialize, serde::Deserialize)]));
            Some(Item::Struct(item))
        }
        Item::Enum(mut item) if !item.ident.to_string().ends_with("Call") => {
            let is_list = item.variants.iter().any(|variant| variant.fields.is_empty());
            item.attrs.push(syn::parse_quote!(#[derive(serde::Serialize, serde::Deserialize)]));
            if is_list {
                for variant in &mut item.variants {
                    let wire = variant.ident.to_string().to_lowercase();
                    variant.attrs.push(if variant.fields.is_empty() {
                        syn::parse_quote!(#[serde(rename = #wire)])
                    } else {
                        syn::parse_quote!(#[serde(untagged)])
                    });
                }
            } else {
                item.attrs.push(syn::parse_quote!(#[serde(untagged)]));
            }
            Some(Item::Enum(item))
        }
        _ => None,
    }
}
