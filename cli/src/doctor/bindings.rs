//! Checks that the crate, its library, this program and the configuration fit together.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, printable};

use super::Finding;
use super::rust::bound;
use crate::project::{self, cargo_file, matching};
use crate::text::did_you_mean;

const OURS: &str = env!("CARGO_PKG_VERSION");
const LIBRARY: &str = "mcp-bindgen";
/// The maximum size of a source file written by hand.
const LARGEST_SOURCE: u64 = 2 << 20;
const DEEPEST: usize = 16;

/// Checks that the locked version of the library matches this program.
pub(super) fn versions() -> Vec<Finding> {
    const SUBJECT: &str = "versions";
    let Some(here) = env::current_dir().ok() else { return Vec::new() };
    let Some(lock) = here.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.is_file()) else {
        return Vec::new();
    };
    let Some(lock) = cargo_file(&lock) else { return Vec::new() };
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
    let text = format!("the crate is built with `{LIBRARY}` {version}, and this program is {OURS}");
    vec![Finding::error(SUBJECT, text, help)]
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
    const SUBJECT: &str = "bindings";
    let folder = env::current_dir().ok().and_then(|here| project::crate_of(&here, None));
    let Some(folder) = folder else { return Vec::new() };
    let mut names: BTreeSet<(String, PathBuf)> = BTreeSet::new();
    let mut see = |path: &Path, text: &str| names.extend(bound(text).into_iter().map(|name| (name, path.to_owned())));
    for of in [folder.clone()].into_iter().chain(members(&folder)) {
        // A member with a configuration of its own binds the servers of that one.
        let is_other = of != folder && Config::find(&of).is_none_or(|path| Config::find(&folder) != Some(path));
        if is_other {
            continue;
        }
        read(&of.join("build.rs"), &mut see);
        for source in ["src", "examples", "tests", "benches"] {
            sources(&of.join(source), DEEPEST, &mut see);
        }
    }
    let unknown = names.into_iter().filter(|(name, _)| !config.servers.contains_key(name));
    unknown
        .map(|(name, path)| {
            let near = did_you_mean(&name, config.servers.keys().map(String::as_str)).map(|near| format!("{near} "));
            let help = format!("{}`mcp-bindgen add {name} ..` adds it", near.unwrap_or_default());
            let shown = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
            let text = format!("{shown} binds `{}`, which is not a configured server", printable(&name));
            Finding::error(SUBJECT, text, help)
        })
        .collect()
}

/// Returns the members of the workspace whose root a folder is.
fn members(root: &Path) -> Vec<PathBuf> {
    let Some(manifest) = cargo_file(&root.join("Cargo.toml")) else { return Vec::new() };
    let list = |key: &str| -> Vec<String> {
        let list = manifest.get("workspace").and_then(|workspace| workspace.get(key)?.as_array());
        list.into_iter().flatten().filter_map(|member| member.as_str().map(str::to_owned)).collect()
    };
    let excluded: Vec<PathBuf> = list("exclude").iter().map(|folder| root.join(folder)).collect();
    let mut found = BTreeSet::new();
    for pattern in list("members") {
        let parts = pattern.split('/').filter(|part| !part.is_empty() && *part != ".");
        found.extend(parts.fold(vec![root.to_owned()], |folders, part| {
            folders.iter().flat_map(|folder| matching(folder, part)).collect()
        }));
    }
    found.retain(|folder| folder != root && folder.join("Cargo.toml").is_file() && !excluded.contains(folder));
    found.into_iter().collect()
}

/// Shows every Rust source below a folder; not those of other crates there.
fn sources(folder: &Path, depth: usize, see: &mut dyn FnMut(&Path, &str)) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.is_symlink() && !path.join("Cargo.toml").is_file() {
            sources(&path, depth, see);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            read(&path, see);
        }
    }
}

fn read(path: &Path, see: &mut dyn FnMut(&Path, &str)) {
    if fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST_SOURCE)
        && let Ok(text) = fs::read_to_string(path)
    {
        see(path, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_compatibility_matches_cargo() {
        assert!(compatible("0.1.0", "0.1.7") && compatible("1.2.0", "1.9.0-beta.1"));
        assert!(!compatible("0.1.0", "0.2.0") && !compatible("1.0.0", "2.0.0") && !compatible("0.0.1", "0.0.2"));
    }
}
