//! `init`: sets up a crate or a workspace.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use mcp_bindgen_model::{Config, FileError, config_schema, printable, write_if_changed};
use serde_json::json;
use toml_edit::{DocumentMut, Item, TomlError};

use crate::changes::lock;
use crate::config_file::current;
use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::{args, project};

const CONFIG: &str = include_str!("init.toml");
/// The JSON Schema of `mcp.toml`, beside it: its first line names this file for editors.
const SCHEMA: &str = "mcp.schema.json";

/// Writes the files that are missing, and keeps those of the user.
pub(crate) async fn run(config: Option<&Path>, wanted: &args::Init, output: &mut Output) -> Result<Exit> {
    let here = env::current_dir()?;
    let path = project::seen_from(&target(config, &here)?, &here);
    // Two concurrent runs would not see each other's files.
    let lock = lock(&path)?;
    let root = path.parent().unwrap_or(Path::new(""));
    let folder = if path.is_file() { Config::load(&path)? } else { Config::default() }.defaults.snapshots;
    let snapshots = root.join(&folder);
    // This check comes first, so that a failure writes nothing.
    if snapshots.is_file() {
        let error = FileError::new("expected a directory for snapshots, found a file").in_file(&snapshots);
        return Err(error.with_help("move it away").into());
    }
    let is_json = project::is_json(&path);
    // The files, each with its new text; `None` keeps the file.
    let mut files = vec![(path.clone(), if current(&path)?.is_none() { Some(CONFIG.to_owned()) } else { None })];
    if let Some(rule) = attributes(&folder) {
        let file = root.join(".gitattributes");
        let text = with_rule(current(&file)?.unwrap_or_default(), &rule);
        files.push((file, text));
    }
    if !is_json {
        let file = root.join(SCHEMA);
        let text = format!("{:#}\n", config_schema());
        // Another version of this program may have written the file.
        let is_same = current(&file)?.is_some_and(|current| current == text);
        files.push((file, (!is_same).then_some(text)));
    }
    // If the dependency fails, nothing else is written.
    add_dependency(&here, wanted, output).await?;
    let mut made: Vec<PathBuf> = Vec::new();
    for (path, text) in files {
        let Some(text) = text else {
            output.status("Kept", &path.display().to_string());
            continue;
        };
        write_if_changed(&path, text.as_bytes())?;
        output.status("Wrote", &path.display().to_string());
        made.push(path);
    }
    if !snapshots.is_dir() {
        fs::create_dir_all(&snapshots)
            .map_err(|error| FileError::new(format!("failed to create the folder: {error}")).in_file(&snapshots))?;
        output.status("Made", &format!("{}/, for snapshots", snapshots.display()));
        made.push(snapshots);
    }
    drop(lock);
    output.report(&json!({ "format": 1, "config": path, "made": made }))?;
    if lacks_runtime(&here) {
        output.status("Next", "cargo add tokio --features macros,rt-multi-thread, the runtime for calls");
    }
    let next = match is_json {
        true => format!("mcp-bindgen import --from {}, which copies its servers to an mcp.toml", path.display()),
        false => "mcp-bindgen add NAME --npm PACKAGE, or mcp-bindgen import".to_owned(),
    };
    output.status("Next", &next);
    Ok(Exit::Done)
}

/// Returns the configuration: the one that is in force, for a new one would hide its servers, or a new one.
fn target(explicit: Option<&Path>, here: &Path) -> Result<PathBuf> {
    match explicit {
        Some(path) if project::is_json(path) => {
            Err(Failure::usage(project::not_ours(path, "use `--config` for an mcp.toml")))
        }
        Some(path) => Ok(here.join(path)),
        None => Ok(project::find(None)?.map_or_else(|| root(here).join("mcp.toml"), |path| here.join(path))),
    }
}

/// Returns the rule for the snapshots, which are compared byte for byte: git must not change their line ends on
/// Windows. Returns `None` for a folder that no rule beside the configuration can match.
fn attributes(folder: &Path) -> Option<String> {
    let mut pattern = PathBuf::new();
    for part in folder.components().filter(|part| *part != Component::CurDir) {
        let Component::Normal(part) = part else { return None };
        pattern.push(part);
    }
    // In the folder itself, a rule without a slash would hold in every folder.
    let pattern = format!("{}/*.json", project::slashed(&pattern));
    // Patterns end at a space, unless they are quoted.
    let pattern = if pattern.contains(char::is_whitespace) { format!("\"{pattern}\"") } else { pattern };
    Some(format!("{pattern} text eol=lf"))
}

/// Adds the rule to the text of a `.gitattributes`; `None` if it is present outside of comments.
fn with_rule(current: String, rule: &str) -> Option<String> {
    if current.lines().any(|line| line.split_whitespace().eq(rule.split_whitespace())) {
        return None;
    }
    let end = if current.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = if current.is_empty() || current.ends_with('\n') { "" } else { end };
    Some(format!("{current}{gap}{rule}{end}"))
}

/// Returns the folder of the configuration: that of the crate's workspace, or that of the crate.
fn root(here: &Path) -> PathBuf {
    let found = cargo(here).args(["locate-project", "--workspace", "--message-format", "plain"]).output();
    let manifest =
        found.ok().filter(|output| output.status.success()).and_then(|output| String::from_utf8(output.stdout).ok());
    let folder = manifest.as_deref().and_then(|manifest| Path::new(manifest.trim()).parent().map(Path::to_owned));
    folder.or_else(|| project::crate_of(here, None)).unwrap_or_else(|| here.to_owned())
}

/// Adds the library to the crate, unless it is already present, the crate is missing, or the user declines.
async fn add_dependency(here: &Path, wanted: &args::Init, output: &mut Output) -> Result<()> {
    if wanted.no_dependency {
        return Ok(());
    }
    let Some(folder) = project::crate_of(here, None) else {
        if let Some(path) = &wanted.path {
            let message = format!("no crate found that could depend on `{}`", path.display());
            return Err(Failure::usage(message).with_help("run `cargo init` first, or remove `--path`"));
        }
        let why = "no Cargo.toml in this folder or above; run `cargo init`, then this command again";
        output.status("Skipped", &format!("the dependency: {why}"));
        return Ok(());
    };
    let manifest = folder.join("Cargo.toml");
    let failed = |error: String| FileError::new(error.trim_end()).in_file(&manifest);
    let text = fs::read_to_string(&manifest).map_err(|error| failed(error.to_string()))?;
    let document: DocumentMut = text.parse().map_err(|error: TomlError| failed(error.to_string()))?;
    if document.get("package").is_none() {
        let why = "this is a workspace; run `mcp-bindgen init` in the crate that calls tools";
        output.status("Skipped", &format!("the dependency: {why}"));
        warn_of_path(wanted, output);
        return Ok(());
    }
    if let Some((name, item)) = depended(&document, "mcp-bindgen") {
        output.status("Kept", &format!("the dependency `{}`", printable(name)));
        let known = item.as_table_like().and_then(|table| table.get("path")?.as_str());
        let known = known.and_then(|path| folder.join(path).canonicalize().ok());
        let given = wanted.path.as_ref().and_then(|path| here.join(path).canonicalize().ok());
        if known.is_none() || known != given {
            warn_of_path(wanted, output);
        }
        return Ok(());
    }
    let path = wanted.path.as_ref().map(|path| format!(" --path {}", path.display())).unwrap_or_default();
    output.status("Running", &format!("cargo add mcp-bindgen{path}"));
    let mut add = cargo(&folder);
    add.args(["add", "mcp-bindgen"]).args(output.is_quiet.then_some("--quiet")).stdout(Stdio::null());
    if let Some(path) = &wanted.path {
        add.arg("--path").arg(here.join(path));
    }
    // Its stderr is shown as it comes: it may wait for another cargo. A signal ends it with this program.
    let why = match tokio::process::Command::from(add).kill_on_drop(true).status().await {
        Ok(status) if status.success() => return Ok(()),
        Ok(_) => "its error is on stderr".to_owned(),
        Err(error) => error.to_string(),
    };
    let help = match &wanted.path {
        Some(_) => "`--path PATH` must be the folder of the crate `mcp-bindgen`",
        None => "if no registry has it, use `--path PATH` with a clone of its repository",
    };
    let written = match fs::read_to_string(&manifest) {
        Ok(now) if now == text => "nothing was written",
        _ => "cargo changed Cargo.toml; nothing else was written",
    };
    let help = format!("{help}; `--no-dependency` does not change Cargo.toml\n  = note: {written}");
    Err(Failure::new(format!("cargo failed to add `mcp-bindgen`: {why}")).with_help(help))
}

/// Warns that `--path` changed nothing.
fn warn_of_path(wanted: &args::Init, output: &mut Output) {
    if let Some(path) = &wanted.path {
        let help = format!("in the crate that calls tools, `cargo add mcp-bindgen --path {}`", path.display());
        output.warning(&format!("`--path` was not used\n  = help: {help}"));
    }
}

/// Returns `true` if there is a crate without the runtime that programs of the README run on.
fn lacks_runtime(here: &Path) -> bool {
    let manifest = project::crate_of(here, None).and_then(|folder| project::cargo_file(&folder.join("Cargo.toml")));
    manifest.is_some_and(|document| document.get("package").is_some() && depended(&document, "tokio").is_none())
}

/// Returns a crate's name for a package that it depends on, with the dependency.
fn depended<'d>(document: &'d DocumentMut, package: &str) -> Option<(&'d str, &'d Item)> {
    let dependencies = document.get("dependencies")?.as_table_like()?;
    let renamed = |item: &'d Item| item.as_table_like()?.get("package")?.as_str();
    dependencies.iter().find(|(key, item)| renamed(item).unwrap_or(key) == package)
}

fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder);
    cargo
}
