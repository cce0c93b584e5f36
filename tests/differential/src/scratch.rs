//! The scratch workspace with the bindings, and the programs that print values by both backends.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mcp_bindgen_model::write_if_changed;
use mcp_samples::{Fallible, role_name};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::bindings::Bound;

const RUNNER: &str = include_str!("runner.rs");
/// About so many tools make a crate.
const TOOLS_PER_CRATE: usize = 250;

/// A program, and the lists that it knows.
pub(crate) type Program = (PathBuf, Vec<String>);

/// Writes and builds the programs.
pub(crate) fn build(arguments: &Arguments, bound: &[Bound]) -> Fallible<Vec<Program>> {
    let batches = batches(bound);
    let root = &arguments.scratch;
    let write = |path: String, text: &str| write_if_changed(&root.join(path), text.as_bytes());
    let names: Vec<String> = (0..batches.len()).map(|number| format!("batch-{number:02}")).collect();
    write("Cargo.toml".to_owned(), &manifest(&arguments.repository, &names))?;
    // The versions of the project, so that nothing is fetched.
    write("Cargo.lock".to_owned(), &std::fs::read_to_string(arguments.repository.join("Cargo.lock"))?)?;
    write(
        "runner/Cargo.toml".to_owned(),
        &package("runner", "mcp-bindgen.workspace = true\nserde_json.workspace = true\n"),
    )?;
    write("runner/src/lib.rs".to_owned(), RUNNER)?;
    for (name, lists) in names.iter().zip(&batches) {
        write(format!("{name}/Cargo.toml"), &package(name, "mcp-bindgen.workspace = true\nrunner.workspace = true\n"))?;
        let mut library = "//! Bindings.\n\n#![deny(warnings)]\n#![deny(missing_docs)]\n\n".to_owned();
        let mut table = String::new();
        for (number, Bound { list, native, typify, taken }) in lists.iter().enumerate() {
            for (backend, code) in [("native", native), ("typify", typify)] {
                write(format!("{name}/src/l{number}_{backend}.rs"), code)?;
                let _ = writeln!(library, "#[doc = {:?}]\npub mod l{number}_{backend};", list.name);
            }
            for (index, role, ty) in taken {
                let reprint = |backend| format!("reprint::<bindings::l{number}_{backend}::bindings::{ty}>");
                let (native, typify) = (reprint("native"), reprint("typify"));
                let _ = writeln!(table, "    ({:?}, {index}, {:?}, {native}, {typify}),", list.name, role_name(*role));
            }
        }
        write(format!("{name}/src/lib.rs"), &library)?;
        write(format!("{name}/src/main.rs"), &program(&table))?;
    }
    compile(arguments)?;
    let programs = names.iter().zip(&batches).map(|(name, lists)| {
        let lists = lists.iter().map(|bound| bound.list.name.clone()).collect();
        (arguments.build.join("debug").join(name), lists)
    });
    Ok(programs.collect())
}

/// Feeds sample values to a program, and gives its answers.
pub(crate) fn run(program: &Path, lines: Vec<String>) -> Fallible<Vec<Value>> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or("the program has no input")?;
    let feeding = std::thread::spawn(move || lines.iter().try_for_each(|line| writeln!(input, "{line}")));
    let mut answers = Vec::new();
    for line in BufReader::new(child.stdout.take().ok_or("the program has no output")?).lines() {
        answers.push(serde_json::from_str(&line?)?);
    }
    feeding.join().map_err(|_| "the samples could not be sent")??;
    if child.wait()?.success() { Ok(answers) } else { Err(format!("{} failed", program.display()).into()) }
}

fn compile(arguments: &Arguments) -> Fallible<()> {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--workspace", "--offline", "--quiet"])
        .current_dir(&arguments.scratch)
        .env("CARGO_TARGET_DIR", &arguments.build)
        .env_remove("RUSTFLAGS")
        .status()?;
    if status.success() { Ok(()) } else { Err("the bindings do not compile".into()) }
}

fn batches(bound: &[Bound]) -> Vec<Vec<&Bound>> {
    let mut batches: Vec<(usize, Vec<&Bound>)> = Vec::new();
    for list in bound {
        let tools = list.list.snapshot.tools.len();
        match batches.last_mut().filter(|(filled, _)| filled + tools <= TOOLS_PER_CRATE) {
            Some((filled, lists)) => {
                *filled += tools;
                lists.push(list);
            }
            None => batches.push((tools, vec![list])),
        }
    }
    batches.into_iter().map(|(_, lists)| lists).collect()
}

fn manifest(repository: &Path, names: &[String]) -> String {
    let members: Vec<&str> = names.iter().map(String::as_str).chain(["runner"]).collect();
    format!(
        r#"[workspace]
members = {members:?}
resolver = "3"

[workspace.dependencies]
mcp-bindgen = {{ path = {repository:?}, default-features = false, features = ["typify"] }}
runner = {{ path = "runner" }}
serde_json = {{ version = "1", features = ["preserve_order"] }}

[profile.dev]
debug = 0
incremental = false
"#
    )
}

fn package(name: &str, dependencies: &str) -> String {
    format!(
        "[package]\nname = {name:?}\nedition = \"2024\"\npublish = false\n\n[lib]\n{}\n\n[dependencies]\n{dependencies}",
        if name == "runner" { "" } else { "name = \"bindings\"" }
    )
}

fn program(table: &str) -> String {
    format!(
        "use runner::{{Entry, reprint}};\n\nconst TABLE: &[Entry] = &[\n{table}];\n\n\
         fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    runner::run(TABLE)\n}}\n"
    )
}
