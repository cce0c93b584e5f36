//! A crate in a folder of its own, outside the workspace, as users have one.

#![allow(dead_code, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use snapbox::Data;
use snapbox::data::DataFormat;

pub(crate) struct Crate {
    name: &'static str,
    folder: tempfile::TempDir,
}

/// The status and the output of a run of cargo.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) succeeded: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Crate {
    /// A crate with these lines in its manifest, below the table of the package. It uses the versions that the workspace
    /// is locked to, so that nothing is downloaded. No two tests share a name, because they share a target folder.
    pub(crate) fn new(name: &'static str, edition: &str, tables: &str) -> Self {
        let package = Self { name, folder: tempfile::tempdir().expect("a temporary folder") };
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"{edition}\"\n\n{tables}\n\n\
             [profile.dev]\ndebug = \"line-tables-only\"\n\n\
             [profile.dev.build-override]\ndebug = \"line-tables-only\"\n"
        );
        package.write("Cargo.toml", &manifest);
        package.write("Cargo.lock", &fs::read_to_string(root().join("Cargo.lock")).expect("the lock file can be read"));
        package
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        mcp_bindgen_model::write_if_changed(&self.path(file), text.as_bytes()).expect("the file can be written");
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Cargo in the folder of the crate, with the build artefacts of these tests.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(self.folder.path()).arg("--offline").args(arguments);
        command.env("CARGO_TARGET_DIR", target()).env("CARGO_TERM_COLOR", "never");
        command.env_remove("RUSTDOCFLAGS");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        finish(&mut self.cargo(arguments))
    }
}

impl Drop for Crate {
    /// Each run has a new folder, so what was built for this one serves no other.
    fn drop(&mut self) {
        let _ = self.cargo(&["clean", "--quiet", "--package", self.name]).output();
    }
}

pub(crate) fn finish(command: &mut Command) -> Run {
    let output = command.output().expect("cargo runs");
    Run {
        succeeded: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Run {
    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert!(self.succeeded, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn fails(self) -> Self {
        assert!(!self.succeeded, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The messages of `--message-format=json`.
    pub(crate) fn messages(&self) -> Vec<Value> {
        self.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// Holds a text against the golden file at this path; `SNAPSHOTS=overwrite` takes it for the file.
#[track_caller]
pub(crate) fn assert_golden(path: &Path, text: &str) {
    // Raw: nothing in a file is a wildcard, for generated code may hold what looks like one.
    snapbox::assert_data_eq!(text, Data::read_from(path, Some(DataFormat::Text)).raw());
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A dependency on a folder of this repository, for a manifest.
pub(crate) fn dependency(folder: &str) -> String {
    format!("{{ path = {:?} }}", root().join(folder))
}

/// The target folder that the tests themselves were built in: most dependencies are there already.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder")
}
