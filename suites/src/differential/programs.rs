//! The programs that print values by both backends.

use std::fmt::Write;
use std::path::PathBuf;

use mcp_samples::{Fallible, role_name};

use crate::differential::bindings::Bound;
use crate::scratch::{self, Scratch};

const RUNNER: &str = include_str!("runner.rs");
const TOOLS_PER_CRATE: usize = 250;

/// A program, and the lists whose types it has.
pub(crate) type Program = (PathBuf, Vec<String>);

/// Writes and builds the programs.
pub(crate) fn build(bound: &[Bound]) -> Fallible<Vec<Program>> {
    let tools: Vec<usize> = bound.iter().map(|bound| bound.list.snapshot.tools.len()).collect();
    let batches = scratch::batches(&tools, TOOLS_PER_CRATE);
    let names: Vec<String> = (0..batches.len()).map(|number| format!("batch-{number:02}")).collect();
    let scratch = Scratch::new("differential", "differential-build", &scratch::workspace(&names, "\"typify\""))?;
    scratch.package("runner", "mcp-bindgen.workspace = true\nserde_json.workspace = true\n")?;
    scratch.write("runner/src/lib.rs", RUNNER)?;
    let mut programs = Vec::new();
    for (name, batch) in names.iter().zip(&batches) {
        scratch.package(name, "mcp-bindgen.workspace = true\nrunner.workspace = true\n")?;
        let mut modules = "#![deny(warnings)]\n#![deny(missing_docs)]\n\n".to_owned();
        let mut table = String::new();
        let mut lists = Vec::new();
        for Bound { list, native, typify, taken } in batch.iter().filter_map(|place| bound.get(*place)) {
            let number = lists.len();
            for (backend, code) in [("native", native), ("typify", typify)] {
                scratch.write(&format!("{name}/src/l{number}_{backend}.rs"), code)?;
                let _ = writeln!(modules, "#[doc = {:?}]\npub mod l{number}_{backend};", list.name);
            }
            for (index, role, ty) in taken {
                let reprint = |backend| format!("reprint::<l{number}_{backend}::bindings::{ty}>");
                let (native, typify) = (reprint("native"), reprint("typify"));
                let _ = writeln!(table, "    ({:?}, {index}, {:?}, {native}, {typify}),", list.name, role_name(*role));
            }
            lists.push(list.name.clone());
        }
        scratch.write(&format!("{name}/src/main.rs"), &scratch::program(&modules, "reprint", &table))?;
        programs.push((scratch.program(name), lists));
    }
    if !scratch.cargo("build").args(["--workspace", "--quiet"]).status()?.success() {
        return Err("the bindings do not compile".into());
    }
    Ok(programs)
}
