//! How long people wait for the command line, as a process, against the budgets of the design. Beside each figure stands
//! what the same machine takes in the same run for no more than has to be done.
//!
//! `cargo bench --bench cli` measures everything; `-- version list` measures those parts, and `-- --quick` takes fewer
//! rounds. Fails where a budget is missed. It builds the program in release first, or measures the one that
//! `MCP_BINDGEN_CLI` names: what is judged by the work of the processor is then not judged with `--unoptimized`.
//!
//! `.ci/budgets` has the calls made by mcporter as well.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

mod call;
mod figure;
mod projects;
mod rounds;
mod sync;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use figure::{Figure, Judge};
use mcp_samples::{Fallible, repository};
use projects::Project;
use rounds::{Runs, best, in_turn, median};

const VERSION_BUDGET: Duration = Duration::from_millis(20);
const LIST_BUDGET: Duration = Duration::from_millis(300);
const CHECK_BUDGET: Duration = Duration::from_secs(5);

type Part = fn(&Bench) -> Fallible<Vec<Figure>>;

const PARTS: [(&str, Part); 5] =
    [("version", version), ("list", list), ("check", check), ("sync", sync::measure), ("call", call::measure)];

/// The values shared by all parts of the benchmark.
struct Bench {
    program: PathBuf,
    folder: PathBuf,
    is_quick: bool,
    judge: Judge,
}

impl Bench {
    /// So many rounds, or fewer where somebody is in a hurry.
    fn rounds(&self, many: usize) -> usize {
        if self.is_quick { many.div_ceil(4) } else { many }
    }

    fn project(&self, name: &str) -> Fallible<Project> {
        Project::new(&self.program, self.folder.join(name))
    }
}

fn main() -> Fallible<ExitCode> {
    mcp_fixture_server::serve_or(run)
}

fn run() -> Fallible<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (options, wanted): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.starts_with("--"));
    let has = |option: &str| options.iter().any(|given| *given == option);
    if let Some(name) = wanted.iter().find(|name| PARTS.iter().all(|(part, _)| part != **name)) {
        let known: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
        return Err(format!("there is no part `{name}`; there are {}", known.join(", ")).into());
    }
    let bench = Bench {
        program: program()?,
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli"),
        is_quick: has("--quick"),
        judge: if has("--unoptimized") { Judge::WhatWaits } else { Judge::Everything },
    };
    let (mut kept, mut missed) = (0, 0);
    for (part, measure) in PARTS {
        if !wanted.is_empty() && !wanted.iter().any(|name| *name == part) {
            continue;
        }
        for figure in measure(&bench)? {
            match figure.is_kept(bench.judge) {
                Some(true) => kept += 1,
                Some(false) => missed += 1,
                None => {}
            }
            println!("{}", figure.line(bench.judge));
        }
    }
    println!("{kept} passed, {missed} failed");
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The program that is measured.
fn program() -> Fallible<PathBuf> {
    if let Some(path) = std::env::var_os("MCP_BINDGEN_CLI") {
        return Ok(Path::new(&path).canonicalize()?);
    }
    let root = repository();
    // The build uses the target folder of this benchmark, however that folder was configured.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().ok_or("no target folder")?;
    let build = ["build", "--release", "--quiet", "--package", "mcp-bindgen-cli", "--bin", "mcp-bindgen"];
    let status = Command::new(env!("CARGO")).args(build).current_dir(root).env("CARGO_TARGET_DIR", target).status()?;
    if !status.success() {
        return Err("the program does not build".into());
    }
    Ok(target.join("release").join(format!("mcp-bindgen{}", std::env::consts::EXE_SUFFIX)))
}

/// How soon the program says which it is, beside a program that does nothing.
fn version(bench: &Bench) -> Fallible<Vec<Figure>> {
    let project = bench.project("version")?;
    let [ours, nothing] = in_turn(
        bench.rounds(60),
        [&mut || project.run(&["--version"], &[0]), &mut || rounds::timed(&mut Command::new("true"), &[0])],
    )?;
    let beside = format!("median; `true` takes {:.1?}", median(&nothing));
    Ok(vec![Figure::time("--version", median(&ours), VERSION_BUDGET).of_starting().beside(beside)])
}

/// The inventory of a server with as many tools as any that is known.
fn list(bench: &Bench) -> Fallible<Vec<Figure>> {
    let project = bench.project("list")?;
    project.write("mcp.toml", "[servers.long]\ncommand = \"x\"\n")?;
    project.write("mcp/long.json", &projects::long_list())?;
    let mut figures = Vec::new();
    for format in ["text", "json", "markdown"] {
        let runs = Runs::of(bench.rounds(12), || project.run(&["list", "--format", format], &[0]))?;
        let name = format!("list of {} tools, {format}", projects::LONG);
        let beside = format!("best of {}; median {:.0?}", runs.len(), median(&runs));
        figures.push(Figure::time(&name, best(&runs), LIST_BUDGET).beside(beside));
    }
    let page = Runs::of(bench.rounds(4), || project.run(&["list", "--format", "html"], &[0]))?;
    let name = format!("list of {} tools, html", projects::LONG);
    figures.push(Figure::told(&name, best(&page)).beside("with the Rust of each tool".to_owned()));
    Ok(figures)
}

/// Every list of the corpus as the snapshot of a server.
fn check(bench: &Bench) -> Fallible<Vec<Figure>> {
    let project = bench.project("check")?;
    let Some(corpus) = projects::corpus(&project)? else {
        println!("check --offline: not measured, as there is no corpus here; `MCP_BINDGEN_CORPUS` says where it is");
        return Ok(Vec::new());
    };
    let runs = Runs::of(bench.rounds(6), || project.run(&["check", "--offline"], &[0]))?;
    let name = format!("check --offline of {} lists, {} tools", corpus.lists, corpus.tools);
    let beside = format!("best of {}; median {:.2?}", runs.len(), median(&runs));
    Ok(vec![Figure::time(&name, best(&runs), CHECK_BUDGET).beside(beside)])
}
