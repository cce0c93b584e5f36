//! `init`: what a crate or a workspace needs before its first server.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mcp_model::{FileError, write_if_changed};
use serde_json::json;

use crate::args;
use crate::config_file::current;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::project;

const CONFIG: &str = include_str!("init.toml");
/// Snapshots are compared byte for byte, and git must not give them other line ends on Windows.
const ATTRIBUTES: &str = "mcp/*.json text eol=lf\n";

/// Makes what is not there, and never touches what is.
pub(crate) fn run(config: Option<&Path>, wanted: &args::Init, output: &mut Output) -> Result<Exit, Failure> {
    let here = env::current_dir()?;
    let root = root(&here);
    let path = match config {
        Some(path) => here.join(path),
        None => root.join("mcp.toml"),
    };
    let folder = path.parent().unwrap_or(&root).to_owned();
    let snapshots = folder.join("mcp");
    // First of all: where it cannot be done, nothing is.
    if snapshots.is_file() {
        let error = FileError::new("this is a file, and has to be a folder: snapshots go there")
            .in_file(project::seen_from(&snapshots, &here))
            .with_help("move it away");
        return Err(error.into());
    }
    let files = [(path.clone(), CONFIG), (folder.join(".gitattributes"), ATTRIBUTES)];
    let files =
        files.map(|(path, text)| current(&project::seen_from(&path, &here)).map(|current| (path, text, current)));
    let files: Vec<(PathBuf, &str, Option<String>)> = files.into_iter().collect::<Result<_, _>>()?;
    let dependency = dependency(&here, wanted, output)?;
    let mut made: Vec<PathBuf> = Vec::new();
    for (path, text, current) in files {
        let shown = project::seen_from(&path, &here).display().to_string();
        let text = match current {
            Some(current) if path.ends_with(".gitattributes") && !current.contains(ATTRIBUTES.trim_end()) => {
                let gap = if current.is_empty() || current.ends_with('\n') { "" } else { "\n" };
                format!("{current}{gap}{text}")
            }
            Some(_) => {
                output.status("Kept", &shown);
                continue;
            }
            None => text.to_owned(),
        };
        write_if_changed(&project::seen_from(&path, &here), text.as_bytes())?;
        output.status("Wrote", &shown);
        made.push(path);
    }
    if !snapshots.is_dir() {
        fs::create_dir_all(&snapshots)
            .map_err(|error| FileError::new(format!("cannot make the folder: {error}")).in_file(&snapshots))?;
        output.status("Made", &format!("{}/, for snapshots", project::seen_from(&snapshots, &here).display()));
        made.push(snapshots);
    }
    if let Some(mut add) = dependency {
        let status = add.status().map_err(|error| cargo_failed(&error.to_string()))?;
        if !status.success() {
            return Err(cargo_failed("it said so above"));
        }
    }
    if output.json() {
        let made: Vec<String> = made.iter().map(|path| project::seen_from(path, &here).display().to_string()).collect();
        output.data_json(&json!({ "format": 1, "config": project::seen_from(&path, &here), "made": made }))?;
    }
    if lacks_runtime(&here) {
        output.status("Next", "cargo add tokio --features macros,rt-multi-thread, which calls run on");
    }
    output.status("Next", "mcp-bindgen add NAME --npm PACKAGE, or mcp-bindgen import");
    Ok(Exit::Done)
}

/// Where the configuration belongs: beside the workspace that a crate is a member of, or beside the crate.
fn root(here: &Path) -> PathBuf {
    let found = cargo(here).args(["locate-project", "--workspace", "--message-format", "plain"]).output();
    let manifest =
        found.ok().filter(|output| output.status.success()).and_then(|output| String::from_utf8(output.stdout).ok());
    let folder = manifest.as_deref().and_then(|manifest| Path::new(manifest.trim()).parent().map(Path::to_owned));
    folder.or_else(|| project::crate_of(here, None)).unwrap_or_else(|| here.to_owned())
}

/// The command that adds the library to the crate, after cargo has said that it can and what it would do. None where
/// it is there already, where there is no crate, and where nobody wants it.
fn dependency(here: &Path, wanted: &args::Init, output: &mut Output) -> Result<Option<Command>, Failure> {
    if wanted.no_dependency {
        return Ok(None);
    }
    let Some(folder) = project::crate_of(here, None) else {
        output.status(
            "Skipped",
            "the dependency: there is no Cargo.toml here or above; run `cargo init` and this once more",
        );
        return Ok(None);
    };
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| FileError::new(error.to_string()).in_file(&manifest))?;
    let document: toml_edit::DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| FileError::new(error.to_string().trim_end()).in_file(&manifest))?;
    if document.get("package").is_none() {
        output.status(
            "Skipped",
            "the dependency: this is a workspace; run `cargo add mcp-bindgen` in the crate that calls tools",
        );
        return Ok(None);
    }
    if document.get("dependencies").and_then(|table| table.as_table_like()?.get("mcp-bindgen")).is_some() {
        output.status("Kept", "the dependency `mcp-bindgen`");
        return Ok(None);
    }
    let add = |is_tried: bool| {
        let mut add = cargo(&folder);
        add.args(["add", "mcp-bindgen"]);
        if let Some(path) = &wanted.path {
            add.arg("--path").arg(here.join(path));
        }
        if is_tried {
            add.arg("--dry-run");
        }
        add
    };
    let path = wanted.path.as_ref().map(|path| format!(" --path {}", path.display())).unwrap_or_default();
    output.status("Running", &format!("cargo add mcp-bindgen{path}"));
    let tried = add(true).output().map_err(|error| cargo_failed(&error.to_string()))?;
    if !tried.status.success() {
        return Err(cargo_failed(String::from_utf8_lossy(&tried.stderr).trim()));
    }
    Ok(Some(add(false)))
}

/// Whether there is a crate without the runtime that programs of the README run on.
fn lacks_runtime(here: &Path) -> bool {
    let manifest = project::crate_of(here, None).and_then(|folder| fs::read_to_string(folder.join("Cargo.toml")).ok());
    let document = manifest.and_then(|text| text.parse::<toml_edit::DocumentMut>().ok());
    let has = |document: &toml_edit::DocumentMut| {
        document.get("dependencies").and_then(|table| table.as_table_like()?.get("tokio")).is_some()
    };
    document.is_some_and(|document| document.get("package").is_some() && !has(&document))
}

fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder);
    cargo
}

fn cargo_failed(said: &str) -> Failure {
    Failure::new(format!(
        "cargo could not add the dependency: {said}\n  = help: `--no-dependency` leaves Cargo.toml alone; add `mcp-bindgen` yourself then"
    ))
}
