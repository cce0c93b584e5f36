//! The bindings in crates of a size that fits the machine.

use std::fmt::Write;

use mcp_bindgen_schema::Role;
use mcp_samples::{Fallible, role_name};

use crate::corpus::generate::Bound;
use crate::scratch::{self, Scratch};

const RUNNER: &str = include_str!("runner.rs");
const TOOLS_PER_CRATE: usize = 600;

/// The workspace, and the lists of each of its crates.
pub(crate) struct Batches {
    pub(crate) scratch: Scratch,
    pub(crate) batches: Vec<Batch>,
}

pub(crate) struct Batch {
    pub(crate) name: String,
    /// Indices into the slice of bindings.
    pub(crate) lists: Vec<usize>,
}

impl Batches {
    /// Writes the workspace, without the bindings.
    pub(crate) fn new(folder: &str, bound: &[Bound]) -> Fallible<Self> {
        let tools: Vec<usize> = bound.iter().map(|list| list.tools.len()).collect();
        let lists = scratch::batches(&tools, TOOLS_PER_CRATE);
        let names: Vec<String> = (0..lists.len()).map(|number| format!("batch-{number:02}")).collect();
        let scratch = Scratch::new(folder, "corpus-build", &scratch::workspace(&names, ""))?;
        scratch.package("runner", "serde.workspace = true\nserde_json.workspace = true\n")?;
        scratch.write("runner/src/lib.rs", RUNNER)?;
        for name in &names {
            scratch.package(name, "mcp-bindgen.workspace = true\nrunner.workspace = true\n")?;
        }
        let batches = names.into_iter().zip(lists).map(|(name, lists)| Batch { name, lists }).collect();
        Ok(Self { scratch, batches })
    }

    /// Writes the bindings, in programs that use the types and deny warnings.
    pub(crate) fn write_bindings(&self, bound: &[Bound]) -> Fallible<()> {
        for batch in &self.batches {
            let lists: Vec<&Bound> =
                batch.lists.iter().filter_map(|list| bound.get(*list)).filter(|list| !list.tools.is_empty()).collect();
            for list in &lists {
                self.scratch.write(&format!("{}/src/{}.rs", batch.name, list.file), &list.source)?;
            }
            self.scratch.write(&format!("{}/src/main.rs", batch.name), &program(&lists))?;
        }
        Ok(())
    }
}

fn program(lists: &[&Bound]) -> String {
    let mut modules = "#![deny(warnings)]\n#![deny(missing_docs)]\n\n".to_owned();
    let mut table = String::new();
    for Bound { list, file, tools, .. } in lists {
        let _ = writeln!(modules, "#[doc = {:?}]\npub mod {file};", list.name);
        for tool in tools {
            for (role, path) in [(Role::Input, Some(&tool.params)), (Role::Output, tool.output.as_ref())] {
                let Some(path) = path else { continue };
                let (name, index, role) = (&list.name, tool.index, role_name(role));
                let _ = writeln!(table, "    ({name:?}, {index}, {role:?}, reprint::<{file}::{path}>),");
            }
        }
    }
    scratch::program(&modules, "reprint", &table)
}
