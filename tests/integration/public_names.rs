//! Tests the names at the root of the library: those that users may need, each listed here, and no others. Names that
//! only generated code needs are in `__private`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, File, Item, ItemUse, Meta, UseTree, Visibility};

/// The names that `mcp-bindgen-runtime` shows, whatever its features. A helper of generated code has no place here.
const RUNTIME: &[&str] = &[
    "Annotations",
    "Answer",
    "AsArguments",
    "CallError",
    "CallErrorKind",
    "CallOptions",
    "CallTool",
    "Caller",
    "Cassette",
    "CassetteError",
    "Cause",
    "Client",
    "ClientOptions",
    "ConnectError",
    "ConnectErrorKind",
    "ConnectReport",
    "ConnectionState",
    "Connector",
    "Content",
    "Declared",
    "Difference",
    "Dispatched",
    "DynCallTool",
    "ElicitationAnswer",
    "ElicitationRequest",
    "Evidence",
    "Fake",
    "FileTokenStore",
    "GetPrompt",
    "IdentityProvider",
    "KeyringTokenStore",
    "KnownSecrets",
    "ListTerms",
    "LocalSecrets",
    "LocalTokenStore",
    "MemoryTokenStore",
    "Mismatch",
    "Notification",
    "Notifications",
    "Nullable",
    "Prefixed",
    "OAuth",
    "Or",
    "PassedInput",
    "Progress",
    "ProgressStream",
    "PromptArgumentSpec",
    "PromptMessage",
    "PromptRequest",
    "PromptResult",
    "PromptSpec",
    "ReadResource",
    "ResourceContents",
    "ResourceRequest",
    "ResourceResult",
    "ResourceTemplateSpec",
    "ResourceUpdates",
    "Root",
    "Route",
    "RouteError",
    "SamplingAnswer",
    "SamplingRequest",
    "SecretError",
    "SecretRef",
    "SecretSource",
    "ServerSpec",
    "Servers",
    "SharedLimits",
    "StateWatch",
    "StoreLock",
    "StoredAuthorization",
    "StoredTokens",
    "TokenStore",
    "TokenStoreError",
    "Tool",
    "ToolCall",
    "ToolChanges",
    "ToolReply",
    "ToolResult",
    "ToolSpec",
    "TypedCall",
    "WithOptions",
    "bubblewrap",
    "events",
    "exposes_headers",
    "find_secret",
    "kill_servers",
    "middleware",
    "parse_arguments",
    "reqwest",
    "validate",
    "with_secrets",
];

/// The names that the facade adds.
const FACADE: &[&str] = &["agents", "include_bindings", "mcp_template", "mcp_tools", "model"];

/// The hidden names at the root, except macros, which the language puts there.
const HIDDEN: &[&str] = &["__private"];

/// The module that bindings of every format look up.
const FORMAT: &str = "__format";

#[test]
fn crate_roots_export_only_the_intended_names() {
    let mut runtime = Root::of(&source("runtime/src/lib.rs"));
    runtime.add_macros("runtime/src");
    assert_eq!(runtime.globs, BTreeSet::new(), "a glob shows whatever its module does: name what is public");
    assert_eq!(runtime.shown, set(RUNTIME), "found at the root of mcp-bindgen-runtime, and meant: {ADVICE}");
    let (macros, others): (BTreeSet<_>, BTreeSet<_>) =
        runtime.hidden.into_iter().partition(|name| runtime.macros.contains(name));
    assert_eq!(others, set(HIDDEN), "hidden at the root of mcp-bindgen-runtime, and meant: {ADVICE}");
    assert!(macros.len() > 10 && macros.iter().all(|name| name.starts_with("__")), "{macros:?}");

    let mut facade = Root::of(&source("src/lib.rs"));
    facade.add_macros("src");
    assert_eq!(facade.globs, set(&["mcp_bindgen_runtime"]), "what the facade shows whole");
    assert_eq!(facade.shown, set(FACADE), "found at the root of mcp-bindgen, and meant: {ADVICE}");
    assert_eq!(facade.hidden, BTreeSet::new(), "hidden at the root of mcp-bindgen");
}

const ADVICE: &str =
    "what only generated code needs belongs into `__private`; what users may need is listed in this test";

#[test]
fn generated_code_names_only_known_items() {
    let mut named = BTreeSet::new();
    for folder in ["features", "overrides", "rules"] {
        for path in rust_files(&root().join("fixtures").join(folder)) {
            let text = fs::read_to_string(&path).expect("the golden file can be read");
            named.extend(text.split("::mcp_bindgen::").skip(1).map(|rest| {
                let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
                rest[..end].to_owned()
            }));
        }
    }
    let public: Vec<String> = named.iter().filter(|name| RUNTIME.contains(&name.as_str())).cloned().collect();
    assert_eq!(
        public,
        [
            "AsArguments",
            "GetPrompt",
            "PromptArgumentSpec",
            "PromptResult",
            "PromptSpec",
            "ReadResource",
            "ResourceResult",
            "ResourceTemplateSpec",
            "TypedCall",
            "WithOptions"
        ],
        "what stands in signatures"
    );
    let rest: Vec<String> = named.into_iter().filter(|name| !public.contains(name)).collect();
    assert_eq!(rest, [FORMAT, HIDDEN[0]], "beside what is public");
}

#[test]
fn exported_names_are_detected() {
    let root = Root::of(
        "mod call; pub(crate) mod wire; pub mod shown; pub use call::{self as calls, deep::{Deep, Old as New}}; pub use call::*;
         pub fn stray() {} fn own() {} pub const MOST: u8 = 1; #[doc(hidden)] pub fn hidden() {} use call::Deep;
         #[macro_export] macro_rules! exported { () => {} } macro_rules! of_the_crate { () => {} }",
    );
    assert_eq!(root.shown, set(&["Deep", "MOST", "New", "calls", "exported", "shown", "stray"]));
    assert_eq!(root.hidden, set(&["hidden"]));
    assert_eq!(root.globs, set(&["call"]));
    assert_eq!(root.macros, set(&["exported"]));
}

/// The names at the root of a crate.
#[derive(Default)]
struct Root {
    shown: BTreeSet<String>,
    hidden: BTreeSet<String>,
    /// The modules and crates of which everything is there.
    globs: BTreeSet<String>,
    /// Which of the names are those of macros.
    macros: BTreeSet<String>,
}

impl Root {
    fn of(source: &str) -> Self {
        let file: File = syn::parse_str(source).expect("the source is Rust");
        let mut root = Self::default();
        for item in &file.items {
            let (visibility, attributes, name) = match item {
                Item::Const(item) => (&item.vis, &item.attrs, &item.ident),
                Item::Enum(item) => (&item.vis, &item.attrs, &item.ident),
                Item::ExternCrate(item) => (&item.vis, &item.attrs, &item.ident),
                Item::Fn(item) => (&item.vis, &item.attrs, &item.sig.ident),
                Item::Mod(item) => (&item.vis, &item.attrs, &item.ident),
                Item::Static(item) => (&item.vis, &item.attrs, &item.ident),
                Item::Struct(item) => (&item.vis, &item.attrs, &item.ident),
                Item::Trait(item) => (&item.vis, &item.attrs, &item.ident),
                Item::Type(item) => (&item.vis, &item.attrs, &item.ident),
                Item::Union(item) => (&item.vis, &item.attrs, &item.ident),
                Item::Use(item) => {
                    if is_public(&item.vis) {
                        root.add_use(item);
                    }
                    continue;
                }
                _ => continue,
            };
            if is_public(visibility) {
                root.add(attributes, name.to_string());
            }
        }
        root.add_exported(&file.items);
        root
    }

    /// The exported macros of a folder, which stand at the root wherever they are written.
    fn add_macros(&mut self, folder: &str) {
        for path in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&path).expect("the source can be read");
            if text.contains("macro_export") {
                self.add_exported(&syn::parse_file(&text).expect("the source is Rust").items);
            }
        }
    }

    fn add_exported(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Macro(item) if item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) => {
                    let name = item.ident.as_ref().expect("an exported macro has a name").to_string();
                    self.macros.insert(name.clone());
                    self.add(&item.attrs, name);
                }
                Item::Mod(item) => self.add_exported(item.content.as_ref().map_or(&[], |(_, items)| items)),
                _ => {}
            }
        }
    }

    fn add(&mut self, attributes: &[Attribute], name: String) {
        if is_hidden(attributes) {
            self.hidden.insert(name)
        } else {
            self.shown.insert(name)
        };
    }

    fn add_use(&mut self, item: &ItemUse) {
        let mut trees = vec![(String::new(), &item.tree)];
        while let Some((within, tree)) = trees.pop() {
            match tree {
                UseTree::Path(path) => trees.push((path.ident.to_string(), &*path.tree)),
                UseTree::Group(group) => trees.extend(group.items.iter().map(|tree| (within.clone(), tree))),
                UseTree::Name(name) if name.ident == "self" => self.add(&item.attrs, within),
                UseTree::Name(name) => self.add(&item.attrs, name.ident.to_string()),
                UseTree::Rename(name) => self.add(&item.attrs, name.rename.to_string()),
                UseTree::Glob(_) => drop(self.globs.insert(within)),
            }
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("doc") && list.tokens.to_string() == "hidden",
        _ => false,
    })
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn source(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("the source can be read")
}

/// The Rust files of a folder and of those in it.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
