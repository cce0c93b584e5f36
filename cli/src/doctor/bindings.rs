//! Whether the crate here, the library that it uses, this program and the configuration fit each other.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_model::{Config, nearest, printable};

use super::Finding;
use crate::project;

const OURS: &str = env!("CARGO_PKG_VERSION");
const LIBRARY: &str = "mcp-bindgen";
/// What is larger is no source that somebody wrote.
const LARGEST_SOURCE: u64 = 2 << 20;
const DEEPEST: usize = 16;

/// Whether the library that is locked writes and reads what this program does.
pub(super) fn versions() -> Vec<Finding> {
    const SUBJECT: &str = "versions";
    let Some(here) = env::current_dir().ok() else { return Vec::new() };
    let Some(lock) = here.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file()) else {
        return Vec::new();
    };
    let Some(lock) = fs::read_to_string(lock).ok().and_then(|text| text.parse::<toml_edit::DocumentMut>().ok()) else {
        return Vec::new();
    };
    let packages = lock.get("package").and_then(|packages| packages.as_array_of_tables());
    let locked = packages
        .into_iter()
        .flatten()
        .find(|package| package.get("name").and_then(|name| name.as_str()) == Some(LIBRARY));
    let Some(version) = locked.and_then(|package| package.get("version")?.as_str()) else { return Vec::new() };
    if compatible(version, OURS) {
        return vec![Finding::fine(SUBJECT, format!("`{LIBRARY}` {version}, this program {OURS}"))];
    }
    let help = format!("`cargo update -p {LIBRARY}`, or `cargo install mcp-bindgen-cli --version {version}`");
    vec![Finding::error(
        SUBJECT,
        format!("the crate is built with `{LIBRARY}` {version}, and this program is {OURS}"),
        help,
    )]
}

/// Whether cargo would take one for the other.
fn compatible(one: &str, other: &str) -> bool {
    let parts =
        |version: &str| -> Vec<u64> { version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect() };
    match (parts(one).as_slice(), parts(other).as_slice()) {
        ([0, 0, a, ..], [0, 0, b, ..]) | ([0, a, ..], [0, b, ..]) | ([a, ..], [b, ..]) => a == b,
        _ => false,
    }
}

/// Whether every server that the sources bind is one of the configuration.
pub(super) fn named_in_sources(config: &Config) -> Vec<Finding> {
    const SUBJECT: &str = "bindings";
    let folder = env::current_dir().ok().and_then(|here| project::crate_of(&here, None));
    let Some(folder) = folder else { return Vec::new() };
    let mut names: BTreeSet<(String, PathBuf)> = BTreeSet::new();
    for source in ["src", "examples", "tests", "benches"] {
        sources(&folder.join(source), DEEPEST, &mut |path, text| {
            names.extend(bound(text).into_iter().map(|name| (name, path.to_owned())));
        });
    }
    let unknown = names.into_iter().filter(|(name, _)| !config.servers.contains_key(name));
    unknown
        .map(|(name, path)| {
            let near = nearest(&name, config.servers.keys().map(String::as_str)).first().map(|near| near.to_string());
            let help = match near {
                Some(near) => format!("did you mean `{near}`? `mcp-bindgen add {name} ..` adds it"),
                None => format!("`mcp-bindgen add {name} ..` adds it"),
            };
            let shown = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
            Finding::error(
                SUBJECT,
                format!("{shown} binds `{}`, which is no server of the configuration", printable(&name)),
                help,
            )
        })
        .collect()
}

/// Shows every Rust source below a folder.
fn sources(folder: &Path, depth: usize, see: &mut dyn FnMut(&Path, &str)) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.is_symlink() {
            sources(&path, depth, see);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && fs::metadata(&path).is_ok_and(|file| file.len() <= LARGEST_SOURCE)
            && let Ok(text) = fs::read_to_string(&path)
        {
            see(&path, &text);
        }
    }
}

/// The servers that `mcp_tools!("github", "git", mod = ..)` names in a source; lines of comments say nothing.
fn bound(text: &str) -> Vec<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
    let mut names = Vec::new();
    for call in code.split("mcp_tools!").skip(1) {
        let Some(mut rest) = call.trim_start().strip_prefix(['(', '{', '[']) else { continue };
        let first = names.len();
        // A path names a snapshot that no configuration has to know.
        let ends = rest.find([')', '}']).unwrap_or(rest.len());
        let has_path =
            rest.get(..ends).is_some_and(|call| call.split(',').any(|part| part.trim_start().starts_with("path")));
        while let Some(literal) = rest.trim_start().strip_prefix('"') {
            let Some((name, after)) = literal.split_once('"') else { break };
            names.push(name.to_owned());
            match after.trim_start().strip_prefix(',') {
                Some(after) => rest = after,
                None => break,
            }
        }
        if has_path {
            names.truncate(first);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_the_macro_are_found() {
        let text = "mcp_bindgen::mcp_tools!(\"github\", tools = [\"list_*\"]);\n// mcp_tools!(\"no\");\nmcp_tools! { \"a\", \"b\" }\n\
                    mcp_tools!(\"c\", path = \"x.json\"); mcp_tools!();";
        assert_eq!(bound(text), ["github", "a", "b"]);
        assert!(bound("mcp_tools!(\"open").is_empty());
    }

    #[test]
    fn versions_fit_as_cargo_says() {
        assert!(compatible("0.1.0", "0.1.7") && compatible("1.2.0", "1.9.0-beta.1"));
        assert!(!compatible("0.1.0", "0.2.0") && !compatible("1.0.0", "2.0.0") && !compatible("0.0.1", "0.0.2"));
    }
}
