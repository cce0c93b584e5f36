//! `init`: sets up a crate or a workspace.

use std::env;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use mcp_bindgen_model::{Config, FileError, config_schema, printable, write_if_changed};
use serde_json::json;

use crate::args;
use crate::config_file::current;
use crate::exit::{Exit, Failure};
use crate::lock::Lock;
use crate::output::Output;
use crate::project;

const CONFIG: &str = include_str!("init.toml");
/// The JSON Schema of `mcp.toml`, beside it: its first line names this file for editors.
const SCHEMA: &str = "mcp.schema.json";

/// Writes the files that are missing, and keeps those of the user.
pub(crate) async fn run(config: Option<&Path>, wanted: &args::Init, output: &mut Output) -> Result<Exit, Failure> {
    let here = env::current_dir()?;
    let path = target(config, &here)?;
    let shown = |path: &Path| project::shown(path, &here);
    // Two concurrent runs would not see each other's files.
    let lock = Lock::of(&path)?;
    let root = path.parent().unwrap_or(&here).to_owned();
    let folder = snapshots(&project::seen_from(&path, &here))?;
    let snapshots = root.join(&folder);
    // This check comes first, so that a failure writes nothing.
    if snapshots.is_file() {
        let error = FileError::new("expected a directory for snapshots, found a file")
            .in_file(project::seen_from(&snapshots, &here))
            .with_help("move it away");
        return Err(error.into());
    }
    let is_json = project::is_json(&path);
    let rule = attributes(&folder);
    let rule = rule.as_deref().map(|rule| (root.join(".gitattributes"), rule));
    let schema_text = format!("{:#}\n", config_schema());
    let schema = Some((root.join(SCHEMA), schema_text.as_str())).filter(|_| !is_json);
    let files = [Some((path.clone(), CONFIG)), rule, schema].into_iter().flatten();
    let files =
        files.map(|(path, text)| current(&project::seen_from(&path, &here)).map(|current| (path, text, current)));
    let files: Vec<(PathBuf, &str, Option<String>)> = files.collect::<Result<_, _>>()?;
    // If the dependency fails, nothing else is written.
    if let Some(mut add) = dependency(&here, wanted, output).await? {
        let status = add.status().await.map_err(|error| cargo_failed(wanted, &error.to_string()))?;
        if !status.success() {
            return Err(cargo_failed(wanted, "it said so above"));
        }
    }
    let mut made: Vec<PathBuf> = Vec::new();
    for (path, text, current) in files {
        let text = match current {
            Some(current) if path.ends_with(".gitattributes") && !has_rule(&current, text) => {
                let end = if current.contains("\r\n") { "\r\n" } else { "\n" };
                let gap = if current.is_empty() || current.ends_with('\n') { "" } else { end };
                format!("{current}{gap}{}{end}", text.trim_end())
            }
            // Another version of this program may have written it.
            Some(current) if path.ends_with(SCHEMA) && current != text => text.to_owned(),
            Some(_) => {
                output.status("Kept", &shown(&path));
                continue;
            }
            None => text.to_owned(),
        };
        write_if_changed(&project::seen_from(&path, &here), text.as_bytes())?;
        output.status("Wrote", &shown(&path));
        made.push(path);
    }
    if !snapshots.is_dir() {
        fs::create_dir_all(&snapshots)
            .map_err(|error| FileError::new(format!("failed to create the folder: {error}")).in_file(&snapshots))?;
        output.status("Made", &format!("{}/, for snapshots", shown(&snapshots)));
        made.push(snapshots);
    }
    drop(lock);
    let made: Vec<String> = made.iter().map(|path| shown(path)).collect();
    output.report(&json!({ "format": 1, "config": project::seen_from(&path, &here), "made": made }))?;
    if lacks_runtime(&here) {
        output.status("Next", "cargo add tokio --features macros,rt-multi-thread, the runtime for calls");
    }
    let next = match is_json {
        true => format!("mcp-bindgen import --from {}, which copies its servers to an mcp.toml", shown(&path)),
        false => "mcp-bindgen add NAME --npm PACKAGE, or mcp-bindgen import".to_owned(),
    };
    output.status("Next", &next);
    Ok(Exit::Done)
}

/// Returns the configuration: the one that is in force, for a new one would hide its servers, or a new one.
fn target(explicit: Option<&Path>, here: &Path) -> Result<PathBuf, Failure> {
    match explicit {
        Some(path) if project::is_json(path) => {
            Err(Failure::usage(project::not_ours(path, "use `--config` for an mcp.toml")))
        }
        Some(path) => Ok(here.join(path)),
        None => Ok(project::specified(None)?.map_or_else(|| root(here).join("mcp.toml"), |path| here.join(path))),
    }
}

/// Returns the folder of the snapshots, as the configuration that is there has it.
fn snapshots(path: &Path) -> Result<PathBuf, Failure> {
    Ok(if path.is_file() { Config::load(path)?.defaults.snapshots } else { Config::default().defaults.snapshots })
}

/// Returns the rule for the snapshots, which are compared byte for byte: git must not change their line ends on
/// Windows. Returns `None` for a folder that no rule beside the configuration can match.
fn attributes(folder: &Path) -> Option<String> {
    let mut pattern = String::new();
    for part in folder.components().filter(|part| *part != Component::CurDir) {
        let Component::Normal(part) = part else { return None };
        pattern.push_str(&part.to_string_lossy());
        pattern.push('/');
    }
    // Without a slash it would hold in every folder.
    let pattern = if pattern.is_empty() { "/*.json".to_owned() } else { format!("{pattern}*.json") };
    // Patterns end at a space, unless they are quoted.
    let pattern = if pattern.contains(char::is_whitespace) { format!("\"{pattern}\"") } else { pattern };
    Some(format!("{pattern} text eol=lf\n"))
}

/// Returns `true` if the rule is present outside of comments.
fn has_rule(attributes: &str, rule: &str) -> bool {
    attributes.lines().any(|line| line.split_whitespace().eq(rule.split_whitespace()))
}

/// Returns the folder of the configuration: that of the crate's workspace, or that of the crate.
fn root(here: &Path) -> PathBuf {
    let found = cargo(here).args(["locate-project", "--workspace", "--message-format", "plain"]).output();
    let manifest =
        found.ok().filter(|output| output.status.success()).and_then(|output| String::from_utf8(output.stdout).ok());
    let folder = manifest.as_deref().and_then(|manifest| Path::new(manifest.trim()).parent().map(Path::to_owned));
    folder.or_else(|| project::crate_of(here, None)).unwrap_or_else(|| here.to_owned())
}

/// Returns the command that adds the library to the crate, after a dry run of cargo succeeded and its effect was shown.
/// Returns `None` if the library is already present, the crate is missing, or the user declines.
async fn dependency(
    here: &Path,
    wanted: &args::Init,
    output: &mut Output,
) -> Result<Option<tokio::process::Command>, Failure> {
    if wanted.no_dependency {
        return Ok(None);
    }
    let Some(folder) = project::crate_of(here, None) else {
        if let Some(path) = &wanted.path {
            return Err(Failure::usage(format!(
                "no crate found that could depend on `{}`\n  = help: run `cargo init` first, or remove `--path`",
                path.display()
            )));
        }
        let why = "no Cargo.toml in this folder or above; run `cargo init`, then this command again";
        output.status("Skipped", &format!("the dependency: {why}"));
        return Ok(None);
    };
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| FileError::new(error.to_string()).in_file(&manifest))?;
    let document: toml_edit::DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| FileError::new(error.to_string().trim_end()).in_file(&manifest))?;
    if document.get("package").is_none() {
        let why = "this is a workspace; run `mcp-bindgen init` in the crate that calls tools";
        output.status("Skipped", &format!("the dependency: {why}"));
        warn_of_path(wanted, output);
        return Ok(None);
    }
    if let Some((name, item)) = depended(&document, "mcp-bindgen") {
        output.status("Kept", &format!("the dependency `{}`", printable(name)));
        let known = item.as_table_like().and_then(|table| table.get("path")?.as_str());
        let folders = (known.map(|path| folder.join(path)), wanted.path.as_ref().map(|path| here.join(path)));
        let canonical = |path: Option<PathBuf>| path?.canonicalize().ok();
        let is_same = canonical(folders.0).is_some_and(|known| canonical(folders.1) == Some(known));
        if !is_same {
            warn_of_path(wanted, output);
        }
        return Ok(None);
    }
    let is_quiet = output.is_quiet();
    let add = |is_tried: bool| {
        let mut add = cargo(&folder);
        add.args(["add", "mcp-bindgen"]);
        if let Some(path) = &wanted.path {
            add.arg("--path").arg(here.join(path));
        }
        if is_tried {
            add.arg("--dry-run");
        } else if is_quiet {
            add.arg("--quiet");
        }
        let mut add = tokio::process::Command::from(add);
        // A signal ends it with this program.
        add.kill_on_drop(true);
        add
    };
    let path = wanted.path.as_ref().map(|path| format!(" --path {}", path.display())).unwrap_or_default();
    output.status("Running", &format!("cargo add mcp-bindgen{path}"));
    let tried = add(true).output().await.map_err(|error| cargo_failed(wanted, &error.to_string()))?;
    if !tried.status.success() {
        return Err(cargo_failed(wanted, String::from_utf8_lossy(&tried.stderr).trim()));
    }
    Ok(Some(add(false)))
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
fn depended<'d>(document: &'d toml_edit::DocumentMut, package: &str) -> Option<(&'d str, &'d toml_edit::Item)> {
    let dependencies = document.get("dependencies")?.as_table_like()?;
    let renamed = |item: &'d toml_edit::Item| item.as_table_like()?.get("package")?.as_str();
    dependencies.iter().find(|(key, item)| renamed(item).unwrap_or(key) == package)
}

fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder);
    cargo
}

fn cargo_failed(wanted: &args::Init, said: &str) -> Failure {
    let help = match &wanted.path {
        Some(_) => "`--path PATH` must be the folder of the crate `mcp-bindgen`",
        None => "if no registry has it, use `--path PATH` with a clone of its repository",
    };
    Failure::new(format!(
        "cargo failed to add `mcp-bindgen`: {said}\n  = help: {help}; `--no-dependency` does not change Cargo.toml\n  \
         = note: nothing was written"
    ))
}
