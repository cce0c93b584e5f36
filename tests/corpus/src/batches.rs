//! The scratch workspace: the bindings in crates of a size that fits the machine.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::write_if_changed;
use mcp_bindgen_schema::Role;
use mcp_samples::{Fallible, role_name};

use crate::arguments::Arguments;
use crate::generate::Bound;

const RUNNER: &str = include_str!("runner.rs");

/// The workspace, and which lists are in which of its crates.
pub(crate) struct Scratch {
    pub(crate) root: PathBuf,
    pub(crate) build: PathBuf,
    pub(crate) batches: Vec<Batch>,
}

pub(crate) struct Batch {
    pub(crate) name: String,
    /// Places in the slice of bindings.
    pub(crate) lists: Vec<usize>,
}

impl Scratch {
    /// Writes the workspace, without the bindings.
    pub(crate) fn new(arguments: &Arguments, bound: &[Bound]) -> Fallible<Self> {
        let batches = split(bound, arguments.batch);
        let scratch = Self { root: arguments.scratch.clone(), build: arguments.build.clone(), batches };
        scratch.write("Cargo.toml", &scratch.manifest(&arguments.repository))?;
        // The versions of the project, so that nothing is fetched.
        scratch.write("Cargo.lock", &std::fs::read_to_string(arguments.repository.join("Cargo.lock"))?)?;
        scratch
            .write("runner/Cargo.toml", &package("runner", "serde.workspace = true\nserde_json.workspace = true\n"))?;
        scratch.write("runner/src/lib.rs", RUNNER)?;
        for batch in &scratch.batches {
            let name = &batch.name;
            let dependencies = "mcp-bindgen.workspace = true\nrunner.workspace = true\n";
            scratch.write(&format!("{name}/Cargo.toml"), &package(name, dependencies))?;
        }
        Ok(scratch)
    }

    /// Writes the bindings, in programs that use the types and are held to the strictest lints.
    pub(crate) fn write_bindings(&self, bound: &[Bound]) -> Fallible<()> {
        for batch in &self.batches {
            let lists: Vec<&Bound> =
                batch.lists.iter().filter_map(|list| bound.get(*list)).filter(|list| !list.tools.is_empty()).collect();
            for list in &lists {
                self.write(&format!("{}/src/{}.rs", batch.name, list.file), &list.source)?;
            }
            self.write(&format!("{}/src/main.rs", batch.name), &program(&lists))?;
        }
        Ok(())
    }

    pub(crate) fn program(&self, batch: &Batch) -> PathBuf {
        self.build.join("debug").join(&batch.name)
    }

    fn write(&self, path: &str, contents: &str) -> Fallible<()> {
        write_if_changed(&self.root.join(path), contents.as_bytes())?;
        Ok(())
    }

    fn manifest(&self, repository: &Path) -> String {
        let members: Vec<&str> = self.batches.iter().map(|batch| batch.name.as_str()).chain(["runner"]).collect();
        format!(
            r#"[workspace]
members = {members:?}
resolver = "3"

[workspace.dependencies]
mcp-bindgen = {{ path = {repository:?}, default-features = false }}
runner = {{ path = "runner" }}
serde = "1"
serde_json = {{ version = "1", features = ["preserve_order"] }}

[profile.dev]
debug = 0
incremental = false
"#
        )
    }
}

fn package(name: &str, dependencies: &str) -> String {
    format!("[package]\nname = {name:?}\nedition = \"2024\"\npublish = false\n\n[dependencies]\n{dependencies}")
}

fn program(lists: &[&Bound]) -> String {
    let mut modules = String::new();
    let mut table = String::new();
    for Bound { list, file, tools, .. } in lists {
        let _ = writeln!(modules, "#[doc = {:?}]\npub mod {file};", list.name);
        for tool in tools {
            let roles = [(Role::Input, Some(&tool.params)), (Role::Output, tool.output.as_ref())];
            for (role, path) in roles {
                if let Some(path) = path {
                    let _ = writeln!(
                        table,
                        "    ({:?}, {}, {:?}, reprint::<{file}::{path}>),",
                        list.name,
                        tool.index,
                        role_name(role)
                    );
                }
            }
        }
    }
    format!(
        "//! Bindings.\n\n#![deny(warnings)]\n#![deny(missing_docs)]\n\n{modules}\nuse runner::{{Entry, reprint}};\n\nconst TABLE: &[Entry] = &[\n{table}];\n\n\
         fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    runner::run(TABLE)\n}}\n"
    )
}

/// Fills crates up to about that many tools, large lists first: they take longest, and cargo starts them first.
fn split(bound: &[Bound], batch: usize) -> Vec<Batch> {
    let mut order: Vec<(usize, usize)> = bound.iter().map(|list| list.tools.len()).enumerate().collect();
    order.sort_by_key(|(place, tools)| (std::cmp::Reverse(*tools), *place));
    let mut batches: Vec<(usize, Vec<usize>)> = Vec::new();
    for (place, tools) in order {
        match batches.iter_mut().find(|(filled, _)| filled + tools <= batch) {
            Some((filled, lists)) => {
                *filled += tools;
                lists.push(place);
            }
            None => batches.push((tools, vec![place])),
        }
    }
    let name = |number: usize| format!("batch-{number:02}");
    batches.into_iter().enumerate().map(|(number, (_, lists))| Batch { name: name(number), lists }).collect()
}
