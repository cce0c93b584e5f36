//! Finds the folder of a build that its build scripts and its macros share.

use std::path::{Path, PathBuf};

const FOLDER: &str = "mcp-bindgen-live";
/// The names of cargo's folders, in one profile, that rustc and build scripts write to.
const INSIDE_A_PROFILE: [&str; 3] = ["deps", "examples", "build"];
/// How far above a folder that rustc writes to, `deps` or `build/NAME-HASH`, one of them is looked for; other folders of
/// the machine may have such a name.
const ABOVE_RUSTC: usize = 2;
/// The same for a build script, which writes to `build/NAME-HASH/out` or, some day, `build/NAME/HASH/out`.
#[cfg(feature = "build-script")]
const ABOVE_BUILD_SCRIPT: usize = 4;

/// Returns the folder of a build script's build.
#[cfg(feature = "build-script")]
pub(super) fn of_build_script(out_dir: &Path) -> PathBuf {
    profile(out_dir, ABOVE_BUILD_SCRIPT).unwrap_or(out_dir).join(FOLDER)
}

/// Returns the build folder from the arguments of rustc or rustdoc. Builds without a folder are those of an editor.
pub(super) fn of_rustc(arguments: impl IntoIterator<Item = String>) -> Option<PathBuf> {
    let arguments: Vec<String> = arguments.into_iter().flat_map(from_file).collect();
    // The value is the rest of the argument, or the next one.
    let values = |name: &'static str| {
        let next = arguments.iter().skip(1).map(Some).chain([None]);
        arguments.iter().zip(next).filter_map(move |(argument, next)| match argument.strip_prefix(name)? {
            "" => next.map(String::as_str),
            rest => Some(rest.trim_start_matches('=')),
        })
    };
    let out_dir = values("--out-dir").last();
    let dependencies = values("-L").find_map(|found| found.strip_prefix("dependency="));
    let absolute = |folder: &str| std::path::absolute(folder).ok();
    let (out_dir, dependencies) = (out_dir.and_then(absolute), dependencies.and_then(absolute));
    // rustdoc writes elsewhere than to the folder of a profile.
    let profiles = [&dependencies, &out_dir].into_iter().flatten().find_map(|folder| profile(folder, ABOVE_RUSTC));
    Some(profiles.or(out_dir.as_deref())?.join(FOLDER))
}

/// Reads arguments from a file, one per line; cargo uses one if the arguments are too long.
fn from_file(argument: String) -> Vec<String> {
    let text = argument.strip_prefix('@').and_then(|file| std::fs::read_to_string(file).ok());
    text.map_or_else(|| vec![argument], |text| text.lines().map(str::to_owned).collect())
}

/// Returns the folder of the profile that a folder of cargo's is in.
fn profile(folder: &Path, above: usize) -> Option<&Path> {
    let is_inside =
        |folder: &&Path| INSIDE_A_PROFILE.iter().any(|name| folder.file_name().is_some_and(|it| it == *name));
    folder.ancestors().take(above).find(is_inside)?.parent()
}

#[cfg(all(test, unix, feature = "build-script"))]
mod tests {
    use super::*;

    fn rustc(arguments: &str) -> Option<String> {
        let folder = of_rustc(arguments.split(' ').map(str::to_owned))?;
        Some(folder.display().to_string())
    }

    #[test]
    fn macros_and_build_scripts_share_one_folder() {
        let shared = "/build/app/target/debug/mcp-bindgen-live";
        assert_eq!(of_build_script("/build/app/target/debug/build/app-0123/out".as_ref()), Path::new(shared));
        for arguments in [
            "rustc --crate-name app --out-dir /build/app/target/debug/deps -L dependency=/build/app/target/debug/deps",
            "rustc --out-dir=/build/app/target/debug/deps",
            "rustc --out-dir /build/app/target/debug/examples",
            "rustc --out-dir /build/app/target/debug/build/app-0123",
            "rustdoc --crate-name app --out-dir /build/app/target/doc -L dependency=/build/app/target/debug/deps",
            "rustdoc -o /build/app/target/doc -L native=/x -L dependency=/build/app/target/debug/deps -L dependency=/y/deps",
        ] {
            assert_eq!(rustc(arguments).as_deref(), Some(shared), "{arguments}");
        }
    }

    #[test]
    fn rustc_arguments_are_read_from_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = "--crate-name\napp\n--out-dir\n/build/app/target/debug/deps\n";
        mcp_bindgen_model::write_if_changed(file.path(), lines.as_bytes()).unwrap();
        let found = rustc(&format!("rustc @{}", file.path().display()));
        assert_eq!(found.as_deref(), Some("/build/app/target/debug/mcp-bindgen-live"));
    }

    #[test]
    fn unknown_layouts_use_their_own_folder_or_no_folder() {
        assert_eq!(rustc("rustc --out-dir /tmp/x").as_deref(), Some("/tmp/x/mcp-bindgen-live"));
        assert_eq!(of_build_script("/tmp/out".as_ref()), Path::new("/tmp/out/mcp-bindgen-live"));
        assert_eq!(rustc("rust-analyzer-proc-macro-srv"), None);
        assert_eq!(rustc("rustc @/nonexistent/arguments"), None);
        assert_eq!(rustc("rustc --out-dir"), None);
    }
}
