//! Tests that `expand -o` writes a module that compiles without warnings, and that rustfmt leaves unchanged.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Project, fixtures};

const LIBRARY: &str = "//! A crate with bindings that are checked in.

#![deny(warnings, missing_docs)]

pub mod deprecated;
pub mod github;
pub mod names;
";

#[test]
#[ignore = "builds the library for a crate outside the workspace; a suite of its own: .ci/run compiled"]
fn expanded_code_compiles_and_rustfmt_skips_it() {
    let project = Project::empty();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let dependency = format!("mcp-bindgen = {{ path = {root:?} }}");
    project.write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"checked-in\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n\n\
             [profile.dev]\ndebug = \"line-tables-only\"\n\n[profile.dev.build-override]\ndebug = \"line-tables-only\"\n"
        ),
    );
    project.write("Cargo.lock", &fs::read_to_string(root.join("Cargo.lock")).unwrap());
    project.write("src/lib.rs", LIBRARY);
    for (list, server) in
        [("snapshots/github", "github"), ("features/deprecated", "deprecated"), ("features/names", "names")]
    {
        let list = fixtures().join(format!("{list}.json"));
        let file = format!("src/{server}.rs");
        let arguments = ["expand", "--snapshot", list.to_str().unwrap(), "--server", server, "-o", &file];
        project.run(&arguments).exits_with(0);
    }
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(project.path("")).args(arguments).env_remove("RUSTDOCFLAGS");
        command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{arguments:?}: {text}");
        text
    };
    assert_eq!(cargo(&["fmt", "--check"]), "");
    // Not `check`: the other tests that build crates have built the library.
    let said = cargo(&["build", "--offline"]);
    assert!(!said.contains("warning"), "{said}");
    cargo(&["clean", "--quiet", "--offline", "--package", "checked-in"]);
    // Without the attribute rustfmt would have much to say.
    project
        .write("src/github.rs", &project.read("src/github.rs").replace("#![cfg_attr(rustfmt, rustfmt::skip)]\n", ""));
    let fmt = Command::new(env!("CARGO")).current_dir(project.path("")).args(["fmt", "--check"]).output().unwrap();
    assert!(!fmt.status.success());
}
