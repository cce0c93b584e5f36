//! Finding the configuration of a crate.

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::Config;

const NAMES: [&str; 2] = ["mcp.toml", ".mcp.json"];

impl Config {
    /// Finds the configuration of the crate in a folder: `mcp.toml`, else `.mcp.json`, in the folder itself or else
    /// at the root of its workspace. A published crate only uses files that are packaged with it.
    pub fn find(manifest_dir: impl AsRef<Path>) -> Option<PathBuf> {
        let manifest_dir = manifest_dir.as_ref();
        configuration_in(manifest_dir).or_else(|| {
            if is_packaged(manifest_dir) {
                return None;
            }
            let root = manifest_dir.ancestors().find(|folder| is_workspace_root(folder))?;
            configuration_in(root)
        })
    }
}

/// Returns `true` if the folder is a published crate, wherever it was unpacked. `cargo publish` verifies it inside
/// the original workspace, whose files its users will not have.
pub fn is_packaged(folder: &Path) -> bool {
    let in_package_folder = folder.parent().is_some_and(|parent| parent.ends_with("target/package"));
    // The manifest before it was published, or what `cargo vendor` leaves in its place.
    in_package_folder || ["Cargo.toml.orig", ".cargo-checksum.json"].iter().any(|mark| folder.join(mark).is_file())
}

fn configuration_in(folder: &Path) -> Option<PathBuf> {
    NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

fn is_workspace_root(folder: &Path) -> bool {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml"));
    manifest.is_ok_and(|text| DeTable::parse(&text).is_ok_and(|table| table.get_ref().contains_key("workspace")))
}
