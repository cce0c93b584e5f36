//! `remove` and `rename`, and the file that they and `set` change.

use std::env;
use std::path::{Path, PathBuf};

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use mcp_bindgen_model::{Config, FileError, Overrides, Snapshot, read_text};
use serde_json::json;

use super::faults::shared_module;
use crate::args;
use crate::changes::{self, Changes};
use crate::config_file::ConfigFile;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::project;
use crate::terminal;
use crate::text::in_ticks;

/// Runs `remove`: removes servers from `mcp.toml`, with their snapshots and overrides.
pub(crate) fn remove(config: Option<&Path>, wanted: &args::Remove, output: &mut Output) -> Result<Exit, Failure> {
    let path = target(config)?;
    let here = env::current_dir()?;
    let shown = |path: &Path| project::shown(path, &here);
    let mut names = wanted.servers.clone();
    names.sort();
    names.dedup();
    let (_, files, _) = without(ConfigFile::open(&path)?, &names)?;
    if !wanted.yes {
        let files: String = files.iter().map(|file| format!(", {}", shown(file))).collect();
        ask(&format!("Remove {} from {}{files}?", in_ticks(&names), shown(&path)))?;
    }
    // Read again, to keep other changes of the file.
    let (file, files, others) = without(ConfigFile::locked(&path)?, &names)?;
    let mut changes = Changes::default();
    // First the configuration: files that it does not name can be removed by hand.
    changes.write(file.path(), file.to_text());
    files.iter().for_each(|file| changes.delete(file));
    changes.apply()?;
    drop(file);
    output.status("Removed", &format!("{} from {}", names.join(", "), shown(&path)));
    for file in &files {
        output.status("Deleted", &shown(file));
    }
    for (file, name) in &others {
        tell_kept(&shown(file), name, output);
    }
    output.status("Next", &format!("remove {} from `mcp_tools!` and templates", in_ticks(&names)));
    let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
    output.report(&json!({
        "format": 1, "servers": names, "config": shown(&path), "status": "removed", "deleted": files,
    }))?;
    Ok(Exit::Done)
}

/// A file that is not of the server in whose place it lies.
type Other = (PathBuf, String);

/// Returns the file without the servers, the files of those servers, and other files in their places.
fn without(mut file: ConfigFile, names: &[String]) -> Result<(ConfigFile, Vec<PathBuf>, Vec<Other>), Failure> {
    names.iter().try_for_each(|name| file.remove_server(name))?;
    let config = file.checked()?;
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for (name, path) in names.iter().flat_map(|name| files(&config, name).map(|path| (name, path))) {
        match changes::read(&path)? {
            Some(contents) if is_of(&contents, name) => own.push(path),
            Some(_) => others.push((path, name.clone())),
            None => {}
        }
    }
    Ok((file, own, others))
}

fn ask(question: &str) -> Result<(), Failure> {
    match terminal::asked(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::new("nothing was removed")),
        None => Err(Failure::usage(
            "cannot ask for confirmation without a terminal\n  = help: use `--yes` to remove without confirmation",
        )),
    }
}

/// Runs `rename`: renames a server, its snapshot and its overrides.
pub(crate) fn rename(config: Option<&Path>, wanted: &args::Rename, output: &mut Output) -> Result<Exit, Failure> {
    let (old, new) = (wanted.old.as_str(), wanted.name.as_str());
    project::check_name(new)?;
    let path = target(config)?;
    let here = env::current_dir()?;
    let shown = |path: &Path| project::shown(path, &here);
    let mut file = ConfigFile::locked(&path)?;
    file.rename_server(old, new)?;
    let config = file.checked()?;
    if let Some(error) = shared_module(&config, &[new]) {
        return Err(error.into());
    }
    let mut changes = Changes::default();
    let mut moved: Vec<(PathBuf, PathBuf)> = Vec::new();
    let mut others: Vec<PathBuf> = Vec::new();
    for (from, to) in files(&config, old).into_iter().zip(files(&config, new)) {
        let mut contents = changes::read(&from)?;
        if from.is_symlink() {
            let error = FileError::new("symbolic links are not moved").in_file(shown(&from));
            return Err(error.with_help("replace the link with its file, then rename").into());
        }
        if contents.take_if(|contents| !is_of(contents, old)).is_some() {
            others.push(from.clone());
        }
        let contents = contents.map(|contents| of_server(contents, new));
        let known = changes::read(&to)?;
        // Equal contents are those of a run that was interrupted.
        if known.is_some() && known != contents {
            let error = FileError::new("the file already exists").in_file(shown(&to));
            return Err(error.with_help("delete it, or use another name").into());
        }
        if let Some(contents) = contents {
            changes.write(&to, contents);
            moved.push((from, to));
        }
    }
    // The configuration never names files that are not there.
    changes.write(file.path(), file.to_text());
    moved.iter().for_each(|(from, _)| changes.delete(from));
    changes.apply()?;
    drop(file);
    output.status("Renamed", &format!("{old} to {new} in {}", shown(&path)));
    for (from, to) in &moved {
        output.status("Moved", &format!("{} to {}", shown(from), shown(to)));
    }
    for other in &others {
        tell_kept(&shown(other), old, output);
    }
    let next = format!("write `{new}` for `{old}` in `mcp_tools!` and templates; its bindings are named after it");
    output.status("Next", &next);
    let files: Vec<String> = moved.iter().map(|(_, to)| shown(to)).collect();
    output.report(&json!({
        "format": 1, "server": new, "was": old, "config": shown(&path), "status": "renamed", "files": files,
    }))?;
    Ok(Exit::Done)
}

/// Returns the contents of a server's file under its new name: `server` of a snapshot is another then, and nothing
/// else.
fn of_server(contents: Vec<u8>, name: &str) -> Vec<u8> {
    let renamed = |text: &str| {
        let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &Default::default()).ok()?;
        let ast::Value::Object(snapshot) = parsed.value? else { return None };
        let range = snapshot.get_string("server")?.range();
        Some(format!("{}{}{}", text.get(..range.start)?, json!(name), text.get(range.end..)?))
    };
    match std::str::from_utf8(&contents).ok().and_then(renamed) {
        Some(text) => text.into_bytes(),
        None => contents,
    }
}

/// Finds the `mcp.toml` to change.
///
/// # Errors
/// Fails if there is no `mcp.toml`, or only a `.mcp.json`.
pub(super) fn target(explicit: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = super::add::file(explicit)?;
    match explicit {
        None if path.symlink_metadata().is_err() => Err(project::missing().into()),
        _ => {
            read_text(&path)?;
            Ok(path)
        }
    }
}

/// Returns the places of a server's files beside `mcp.toml`: its snapshot and its overrides.
fn files(config: &Config, server: &str) -> [PathBuf; 2] {
    let snapshot = config.snapshot_path(server);
    let overrides = Overrides::beside(&snapshot);
    [snapshot, overrides]
}

/// Returns `true` for the snapshot of a server, and for overrides: any other file may lie in their places.
fn is_of(contents: &[u8], server: &str) -> bool {
    let text = String::from_utf8_lossy(contents);
    let is_snapshot = Snapshot::parse(&text).is_ok_and(|snapshot| snapshot.server.as_deref() == Some(server));
    is_snapshot || Overrides::parse(&text).is_ok()
}

/// Tells of a file that is not the server's.
fn tell_kept(path: &str, server: &str, output: &mut Output) {
    output.status("Kept", &format!("{path}: not a snapshot of {server} or overrides"));
}

#[cfg(test)]
mod tests {
    use super::of_server;

    #[test]
    fn only_the_server_name_of_a_snapshot_is_changed() {
        for (text, expected) in [
            ("{\r\n  \"server\" : \"a\", \"n\": 1.50\r\n}", "{\r\n  \"server\" : \"b\", \"n\": 1.50\r\n}"),
            ("{\"tools\": [{\"server\": \"a\"}]}", "{\"tools\": [{\"server\": \"a\"}]}"),
            ("{\"server\": {\"name\": \"a\"}}", "{\"server\": {\"name\": \"a\"}}"),
            ("{\"server\": \"a\"", "{\"server\": \"a\""),
        ] {
            assert_eq!(of_server(text.into(), "b"), expected.as_bytes(), "{text}");
        }
        assert_eq!(of_server(vec![0xff, 0xfe], "b"), [0xff, 0xfe]);
    }
}
