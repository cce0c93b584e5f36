//! Crates with bindings that are compiled outside the project, and the programs that they become.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use mcp_bindgen_model::write_if_changed;
use mcp_samples::{Fallible, repository};
use serde_json::Value;

/// Lists with more tools take long to compile.
pub(crate) const MOST_TOOLS: usize = 80;

/// A workspace, or a package, in a folder of its own.
pub(crate) struct Scratch {
    pub(crate) root: PathBuf,
    build: PathBuf,
}

impl Scratch {
    /// Writes the manifest into a folder of the target folder, where `build` is the name of the one that cargo builds in.
    /// Dependencies have the versions of the project, so that nothing is downloaded.
    pub(crate) fn new(folder: &str, build: &str, manifest: &str) -> Fallible<Self> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from);
        let scratch = Self { root: target.join(folder), build: target.join(build) };
        scratch.write("Cargo.toml", manifest)?;
        scratch.write("Cargo.lock", &std::fs::read_to_string(repository().join("Cargo.lock"))?)?;
        Ok(scratch)
    }

    pub(crate) fn write(&self, path: &str, contents: &str) -> Fallible<()> {
        Ok(write_if_changed(&self.root.join(path), contents.as_bytes()).map(drop)?)
    }

    /// Writes a package of the workspace, without its sources. Only `runner` is a library.
    pub(crate) fn package(&self, name: &str, dependencies: &str) -> Fallible<()> {
        let autolib = if name == "runner" { "" } else { "autolib = false\n" };
        let head = format!("[package]\nname = {name:?}\nedition = \"2024\"\npublish = false\n{autolib}");
        self.write(&format!("{name}/Cargo.toml"), &format!("{head}\n[dependencies]\n{dependencies}"))
    }

    /// `cargo`, which will build here, offline.
    pub(crate) fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args([command, "--offline"]).current_dir(&self.root).env_remove("RUSTFLAGS");
        cargo.env("CARGO_TARGET_DIR", &self.build).env("CARGO_INCREMENTAL", "0");
        cargo
    }

    /// The path of a program after the build.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.build.join("debug").join(name)
    }
}

/// The manifest of a workspace with a package for each batch and the package `runner`.
pub(crate) fn workspace(batches: &[String], features: &str) -> String {
    let members: Vec<&str> = batches.iter().map(String::as_str).chain(["runner"]).collect();
    let repository = repository();
    format!(
        r#"[workspace]
members = {members:?}
resolver = "3"

[workspace.dependencies]
mcp-bindgen = {{ path = {repository:?}, default-features = false, features = [{features}] }}
runner = {{ path = "runner" }}
serde = "1"
serde_json = {{ version = "1", features = ["preserve_order"] }}

[profile.dev]
debug = 0
incremental = false
"#
    )
}

/// The main file of a program: modules, and a table of the types that `runner` puts values through.
pub(crate) fn program(modules: &str, imports: &str, table: &str) -> String {
    format!(
        "//! Bindings.\n\n{modules}\nuse runner::{{Entry, {imports}}};\n\nconst TABLE: &[Entry] = &[\n{table}];\n\n\
         fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    runner::run(TABLE)\n}}\n"
    )
}

/// Distributes lists of these numbers of tools over crates of about `most` tools, as indices. Large lists come first: they
/// take longest, and cargo starts them first.
pub(crate) fn batches(tools: &[usize], most: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<(usize, usize)> = tools.iter().copied().enumerate().collect();
    order.sort_by_key(|(place, tools)| (std::cmp::Reverse(*tools), *place));
    let mut batches: Vec<(usize, Vec<usize>)> = Vec::new();
    for (place, tools) in order {
        match batches.iter_mut().find(|(filled, _)| filled + tools <= most) {
            Some((filled, lists)) => {
                *filled += tools;
                lists.push(place);
            }
            None => batches.push((tools, vec![place])),
        }
    }
    batches.into_iter().map(|(_, lists)| lists).collect()
}

/// Sends lines to a program, and passes on each of its answers, a line of JSON. Returns `true` if the program succeeds.
pub(crate) fn answers<'l>(
    program: &Path,
    lines: impl Iterator<Item = &'l String> + Send,
    mut judge: impl FnMut(Value) -> Fallible<()>,
) -> Fallible<bool> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the program has no pipes".into());
    };
    let sent = thread::scope(|scope| -> Fallible<_> {
        let writer = scope.spawn(move || {
            let mut input = BufWriter::new(input);
            let mut lines = lines;
            lines.try_for_each(|line| writeln!(input, "{line}")).and_then(|()| input.flush())
        });
        for line in BufReader::new(output).lines() {
            judge(serde_json::from_str(&line?)?)?;
        }
        writer.join().map_err(|_| "the thread that sends samples panicked".into())
    })?;
    // A program that ended early did not read all of it, which is no other fault.
    let succeeded = child.wait()?.success();
    if succeeded {
        sent?;
    }
    Ok(succeeded)
}
