//! Checks that the crate, its library, this program and the configuration fit together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use mcp_bindgen_model::{Config, printable};
use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use toml_edit::{Item, Table};

use super::Finding;
use crate::project::{self, cargo_file, matching};
use crate::text::did_you_mean;

const OURS: &str = env!("CARGO_PKG_VERSION");
const LIBRARY: &str = "mcp-bindgen";
/// The maximum size of a source file written by hand.
const LARGEST_SOURCE: u64 = 2 << 20;
const DEEPEST: usize = 16;
/// The macros that take names of servers.
const MACROS: [&str; 2] = ["mcp_tools", "include_bindings"];
/// The name in build scripts that bind servers.
const BUILDER: &str = "build_script";

/// Checks that the locked version of the library matches this program.
pub(super) fn versions() -> Option<Finding> {
    let here = env::current_dir().ok()?;
    let lock = here.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file())?;
    let lock = cargo_file(&lock)?;
    let is_ours = |package: &&Table| package.get("name").and_then(Item::as_str) == Some(LIBRARY);
    let version = lock.get("package")?.as_array_of_tables()?.iter().find(is_ours)?.get("version")?.as_str()?;
    if compatible(version, OURS) {
        return Some(Finding::fine(format!("`{LIBRARY}` {version}, this program {OURS}")));
    }
    let help = format!("`cargo update -p {LIBRARY}`, or `cargo install mcp-bindgen-cli --version {version}`");
    let text = format!("the crate is built with `{LIBRARY}` {version}, and this program is {OURS}");
    Some(Finding::error(text, help))
}

/// Returns `true` if cargo would take one for the other.
fn compatible(one: &str, other: &str) -> bool {
    let parts =
        |version: &str| -> Vec<u64> { version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect() };
    match (parts(one).as_slice(), parts(other).as_slice()) {
        ([0, 0, a, ..], [0, 0, b, ..]) | ([0, a, ..], [0, b, ..]) | ([a, ..], [b, ..]) => a == b,
        _ => false,
    }
}

/// Checks that the configuration has every server that the sources bind.
pub(super) fn named_in_sources(config: &Config) -> Vec<Finding> {
    let folder = env::current_dir().ok().and_then(|here| project::crate_of(&here, None));
    let Some(folder) = folder else { return Vec::new() };
    // A member with a configuration of its own binds the servers of that one.
    let own = Config::find(&folder);
    let members = members(&folder).into_iter().filter(|member| own.is_some() && Config::find(member) == own);
    let mut names: BTreeSet<(String, PathBuf)> = BTreeSet::new();
    for of in members.chain([folder.clone()]) {
        read(&of.join("build.rs"), &mut names);
        for source in ["src", "examples", "tests", "benches"] {
            sources(&of.join(source), DEEPEST, &mut names);
        }
    }
    names.retain(|(name, _)| !config.servers.contains_key(name));
    let unknown = names.into_iter().map(|(name, path)| {
        let near = did_you_mean(&name, config.servers.keys().map(String::as_str)).map(|near| format!("{near} "));
        let help = format!("{}`mcp-bindgen add {name} ..` adds it", near.unwrap_or_default());
        let shown = path.strip_prefix(&folder).unwrap_or(&path).display();
        Finding::error(format!("{shown} binds `{}`, which is not a configured server", printable(&name)), help)
    });
    unknown.collect()
}

/// Returns the members of the workspace whose root a folder is.
fn members(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let Some(manifest) = cargo_file(&root.join("Cargo.toml")) else { return found };
    let list = |key: &str| -> Vec<String> {
        let list = manifest.get("workspace").and_then(|workspace| workspace.get(key)?.as_array());
        list.into_iter().flatten().filter_map(|member| member.as_str().map(str::to_owned)).collect()
    };
    let excluded: Vec<PathBuf> = list("exclude").iter().map(|folder| root.join(folder)).collect();
    for pattern in list("members") {
        let parts = pattern.split('/').filter(|part| !part.is_empty() && *part != ".");
        found.extend(parts.fold(vec![root.to_owned()], |folders, part| {
            folders.iter().flat_map(|folder| matching(folder, part)).collect()
        }));
    }
    found.retain(|folder| folder != root && folder.join("Cargo.toml").is_file() && !excluded.contains(folder));
    found
}

/// Reads every Rust source below a folder; not those of other crates there.
fn sources(folder: &Path, depth: usize, names: &mut BTreeSet<(String, PathBuf)>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() && !path.join("Cargo.toml").is_file() {
            sources(&path, depth, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            read(&path, names);
        }
    }
}

/// Adds the servers that a source binds.
fn read(path: &Path, names: &mut BTreeSet<(String, PathBuf)>) {
    if fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST_SOURCE)
        && let Ok(text) = fs::read_to_string(path)
    {
        names.extend(bound(&text).into_iter().map(|name| (name, path.to_owned())));
    }
}

/// Returns the servers that `mcp_tools!("github", "git", mod = ..)`, `include_bindings!("github")` and the builder of a
/// build script name.
fn bound(text: &str) -> Vec<String> {
    let has_builder = text.contains(BUILDER);
    if !has_builder && !MACROS.iter().any(|name| text.contains(name)) {
        return Vec::new();
    }
    // rustc reports invalid source.
    let Ok(tokens) = text.parse::<TokenStream>() else { return Vec::new() };
    let mut names = Vec::new();
    // The open groups: a stack, because sources may be nested deeply.
    let mut open: Vec<IntoIter> = vec![tokens.into_iter()];
    // The previous tokens: `mcp_tools !`, `. server`.
    let mut before = [String::new(), String::new()];
    while let Some(trees) = open.last_mut() {
        let word = match trees.next() {
            None => {
                open.pop();
                continue;
            }
            Some(TokenTree::Group(group)) => {
                match before.each_ref().map(String::as_str) {
                    [name, "!"] if MACROS.contains(&name) => names.extend(of_macro(group.stream())),
                    [".", "server"] if has_builder && group.delimiter() == Delimiter::Parenthesis => {
                        names.extend(group.stream().into_iter().next().and_then(|tree| literal(&tree)));
                    }
                    _ => {}
                }
                open.push(group.stream().into_iter());
                String::new()
            }
            Some(tree) => tree.to_string(),
        };
        let [_, last] = before;
        before = [last, word];
    }
    names
}

/// Returns the names that a macro begins with. A path names a snapshot that no configuration has to know.
fn of_macro(tokens: TokenStream) -> Vec<String> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_path = |tree: &TokenTree| matches!(tree, TokenTree::Ident(word) if word == "path");
    let mut names = Vec::new();
    for part in trees.split(|tree| matches!(tree, TokenTree::Punct(comma) if comma.as_char() == ',')) {
        match part {
            [name] => names.extend(literal(name)),
            [first, ..] if is_path(first) => return Vec::new(),
            _ => {}
        }
    }
    names
}

/// Returns the text of a literal without escapes, which no name has.
fn literal(tree: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = tree else { return None };
    let text = literal.to_string();
    let text = text.trim_start_matches('r').trim_matches('#');
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    (!inside.contains('\\')).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_compatibility_matches_cargo() {
        assert!(compatible("0.1.0", "0.1.7") && compatible("1.2.0", "1.9.0-beta.1"));
        assert!(!compatible("0.1.0", "0.2.0") && !compatible("1.0.0", "2.0.0") && !compatible("0.0.1", "0.0.2"));
    }

    #[test]
    fn servers_of_macro_calls_are_found() {
        let text = "mcp_bindgen::mcp_tools!(\"github\", tools = [\"list_*\"]);\n// mcp_tools!(\"no\");\nmcp_tools! { \"a\", r\"b\" }\n\
                    mcp_tools!(\"c\", path = \"x.json\"); mcp_tools!(); fn f() { { mcp_bindgen::include_bindings!(\"d\"); } }";
        assert_eq!(bound(text), ["github", "a", "b", "d"]);
    }

    #[test]
    fn comments_and_strings_are_not_macro_calls() {
        let text = "/* mcp_tools!(\"a\"); /* mcp_tools!(\"b\"); */ */ const T: &str = r#\"mcp_tools!(\"c\");\"#;\n\
                    /// mcp_tools!(\"d\");\nfn f() { g(\"mcp_tools!(\\\"e\\\")\"); }";
        assert!(bound(text).is_empty(), "{:?}", bound(text));
        assert!(bound("mcp_tools!(\"open").is_empty());
    }

    #[test]
    fn servers_of_build_scripts_are_found() {
        let text = "use mcp_bindgen_codegen::build_script::Builder;\nfn main() { Builder::new().server(\"a\").tools([\"x\"]).server(NAME); }";
        assert_eq!(bound(text), ["a"]);
        assert!(bound("fn f() { App::new().server(\"mcp_tools\"); }").is_empty());
    }
}
