use std::path::{Component, Path, PathBuf};

use proc_macro2::TokenStream;
use quote::quote;

/// Returns a path relative to a folder, or the path itself if they have nothing in common.
#[must_use]
pub fn relative(folder: &Path, path: &Path) -> PathBuf {
    let path: Vec<Component<'_>> = normal(path);
    let folder: Vec<Component<'_>> = normal(folder);
    let common = path.iter().zip(&folder).take_while(|(left, right)| left == right).count();
    if common == 0 {
        return path.iter().collect();
    }
    let up = folder.iter().skip(common).map(|_| Component::ParentDir);
    up.chain(path.iter().skip(common).copied()).collect()
}

/// Returns a path that was seen from the folder of the crate, as an expression that holds no path of this machine.
pub(crate) fn in_manifest_dir(relative: &Path) -> TokenStream {
    if relative.is_absolute() {
        let path = relative.display().to_string();
        return quote!(#path);
    }
    if relative.as_os_str().is_empty() {
        return quote!(::core::env!("CARGO_MANIFEST_DIR"));
    }
    let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let path = format!("/{}", parts.join("/"));
    quote!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #path))
}

fn normal(path: &Path) -> Vec<Component<'_>> {
    let mut kept = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(kept.last(), Some(Component::Normal(_))) => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_folder() {
        let from = |folder: &str, path: &str| relative(folder.as_ref(), path.as_ref()).display().to_string();
        assert_eq!(from("/a/b", "/a/b/mcp/x.json"), "mcp/x.json");
        assert_eq!(from("/a/b", "/a/b/./mcp/../x.json"), "x.json");
        assert_eq!(from("/a/b/c", "/a/mcp.toml"), "../../mcp.toml");
    }
}
