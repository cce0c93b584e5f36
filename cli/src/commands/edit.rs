//! `remove`, `rename` and `set`, and the files that they change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use mcp_bindgen_model::{Config, FileError, Overrides, Snapshot, read_text};
use serde_json::json;
use toml_edit::{Key, Value};

use super::add::{file, warn_of_filled_in, without_secret};
use super::faults::shared_module;
use crate::changes::{apply, read};
use crate::config_file::{self, ConfigFile};
use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::project::shown;
use crate::text::in_ticks;
use crate::{args, project, source, terminal};

/// Runs `remove`: removes servers from `mcp.toml`, with their snapshots and overrides.
pub(crate) fn remove(config: Option<&Path>, mut names: Vec<String>, yes: bool, output: &mut Output) -> Result<Exit> {
    let path = target(config)?;
    names.sort();
    names.dedup();
    let (_, files, _) = without(ConfigFile::open(&path)?, &names)?;
    if !yes {
        let files: String = files.iter().map(|file| format!(", {}", shown(file))).collect();
        match terminal::asked(&format!("Remove {} from {}{files}?", in_ticks(&names), shown(&path)))? {
            Some(true) => {}
            Some(false) => return Err(Failure::new("nothing was removed")),
            None => {
                let failure = Failure::usage("cannot ask for confirmation without a terminal");
                return Err(failure.with_help("use `--yes` to remove without confirmation"));
            }
        }
    }
    // Read again, to keep other changes of the file.
    let (file, files, others) = without(ConfigFile::locked(&path)?, &names)?;
    // First the configuration: files that it does not name can be removed by hand.
    let config = (file.path(), Some(file.to_text().into()));
    apply([config].into_iter().chain(files.iter().map(|file| (file.as_path(), None))))?;
    drop(file);
    output.status("Removed", &format!("{} from {}", names.join(", "), shown(&path)));
    let files: Vec<String> = files.iter().map(|file| shown(file)).collect();
    files.iter().for_each(|file| output.status("Deleted", file));
    others.iter().for_each(|other| output.status("Kept", other));
    output.status("Next", &format!("remove {} from `mcp_tools!` and templates", in_ticks(&names)));
    output.done(&json!({
        "format": 1, "servers": names, "config": shown(&path), "status": "removed", "deleted": files,
    }))
}

/// Returns the file without the servers, the files of those servers, and messages about other files in their places.
fn without(mut file: ConfigFile, names: &[String]) -> Result<(ConfigFile, Vec<PathBuf>, Vec<String>)> {
    names.iter().try_for_each(|name| file.remove_server(name))?;
    let config = file.checked()?;
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for (name, path) in names.iter().flat_map(|name| files(&config, name).map(|path| (name, path))) {
        match read(&path)? {
            Some(contents) if is_of(&contents, name) => own.push(path),
            Some(_) => others.push(kept(&path, name)),
            None => {}
        }
    }
    Ok((file, own, others))
}

/// Runs `rename`: renames a server, its snapshot and its overrides.
pub(crate) fn rename(config: Option<&Path>, old: &str, new: &str, output: &mut Output) -> Result<Exit> {
    project::check_name(new)?;
    let path = target(config)?;
    let mut file = ConfigFile::locked(&path)?;
    file.rename_server(old, new)?;
    let config = file.checked()?;
    if let Some(error) = shared_module(&config, &[new]) {
        return Err(error.into());
    }
    let mut moved: Vec<(PathBuf, PathBuf, Vec<u8>)> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for (from, to) in files(&config, old).into_iter().zip(files(&config, new)) {
        let mut contents = read(&from)?;
        if from.is_symlink() {
            let error = FileError::new("symbolic links are not moved").in_file(shown(&from));
            return Err(error.with_help("replace the link with its file, then rename").into());
        }
        if contents.take_if(|contents| !is_of(contents, old)).is_some() {
            others.push(kept(&from, old));
        }
        let contents = contents.map(|contents| of_server(contents, new));
        let known = read(&to)?;
        // Equal contents are those of a run that was interrupted.
        if known.is_some() && known != contents {
            let error = FileError::new("the file already exists").in_file(shown(&to));
            return Err(error.with_help("delete it, or use another name").into());
        }
        moved.extend(contents.map(|contents| (from, to, contents)));
    }
    // The configuration never names files that are not there.
    let written = moved.iter().map(|(_, to, contents)| (to.as_path(), Some(contents.clone())));
    let config = (file.path(), Some(file.to_text().into()));
    apply(written.chain([config]).chain(moved.iter().map(|(from, ..)| (from.as_path(), None))))?;
    drop(file);
    output.status("Renamed", &format!("{old} to {new} in {}", shown(&path)));
    for (from, to, _) in &moved {
        output.status("Moved", &format!("{} to {}", shown(from), shown(to)));
    }
    others.iter().for_each(|other| output.status("Kept", other));
    let next = format!("write `{new}` for `{old}` in `mcp_tools!` and templates; its bindings are named after it");
    output.status("Next", &next);
    let files: Vec<String> = moved.iter().map(|(_, to, _)| shown(to)).collect();
    output.done(&json!({
        "format": 1, "server": new, "was": old, "config": shown(&path), "status": "renamed", "files": files,
    }))
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

/// The keys to set and to remove.
#[derive(Clone)]
struct Edits<'w> {
    server: &'w str,
    set: Vec<(Vec<Key>, Value)>,
    unset: Vec<Vec<Key>>,
}

/// Runs `set`: changes keys of a server.
pub(crate) fn set(config: Option<&Path>, wanted: &args::Set, output: &mut Output) -> Result<Exit> {
    let path = target(config)?;
    let shown = shown(&path);
    let server = wanted.server.as_str();
    let edits = Edits::read(wanted)?.with_texts(&path)?;
    let (file, config) = edits.applied(ConfigFile::locked(&path)?)?;
    let known = file.before().unwrap_or_default();
    without_secret(config.server(server)?, known.servers.get(server))?;
    for (path, value) in &edits.set {
        if let ([table, key], Some(text)) = (path.as_slice(), value.as_str())
            && ["env", "headers"].contains(&table.get())
        {
            warn_of_filled_in(&name(path), key.get(), text, output);
        }
    }
    let (word, status) = if file.save()? { ("Changed", "changed") } else { ("Unchanged", "unchanged") };
    drop(file);
    let set: Vec<String> = edits.set.iter().map(|(path, _)| name(path)).collect();
    let unset: Vec<String> = edits.unset.iter().map(|path| name(path)).collect();
    let keys = set.iter().cloned().chain(unset.iter().map(|key| format!("no {key}"))).collect::<Vec<_>>().join(", ");
    output.status(word, &format!("{server} in {shown}: {keys}"));
    let transport = |config: &Config| config.servers.get(server).map(|server| server.transport.clone());
    if known.servers.contains_key(server) && transport(&known) != transport(&config) {
        output.status("Next", &format!("mcp-bindgen sync {server}"));
    }
    // `check` reports a snapshot that cannot be read.
    if let Ok(bound) = source::bound(&config, server, None) {
        source::unusable(&bound, server).iter().for_each(|error| output.warning(&error.to_string()));
    }
    output.done(&json!({
        "format": 1, "server": server, "config": shown, "status": status, "set": set, "unset": unset,
    }))
}

impl<'w> Edits<'w> {
    fn read(wanted: &'w args::Set) -> Result<Self> {
        let set: Vec<_> = wanted.keys.iter().map(|text| assignment(text)).collect::<Result<_, _>>()?;
        let help = "`--unset timeout`, `--unset env.TOKEN`";
        let invalid = |_| Failure::usage("invalid key for `--unset`").with_help(help);
        let unset: Vec<_> =
            wanted.unset.iter().map(|text| Key::parse(text).map_err(invalid)).collect::<Result<_, _>>()?;
        let mut known = BTreeSet::new();
        for path in set.iter().map(|(path, _)| path).chain(&unset) {
            if !known.insert(path.iter().map(Key::get).collect::<Vec<_>>()) {
                return Err(Failure::usage(format!("duplicate `{}`\n  = help: pass it once", name(path))));
            }
        }
        Ok(Self { server: &wanted.server, set, unset })
    }

    fn applied(&self, mut file: ConfigFile) -> Result<(ConfigFile, Config)> {
        for path in &self.unset {
            if !file.unset(self.server, path)? {
                let (server, key) = (self.server, name(path));
                let message = format!("server `{server}` has no `{key}`\n  = note: nothing was written");
                return Err(Failure::new(message));
            }
        }
        let table = file.server(self.server)?;
        self.set.iter().try_for_each(|(path, value)| config_file::set(table, path, value.clone()))?;
        let config = file.checked()?;
        Ok((file, config))
    }

    /// Parses numbers, dates and booleans as text for keys that take text: `env.PORT=8080`.
    ///
    /// # Errors
    /// Fails if the value is invalid both as TOML and as text.
    fn with_texts(mut self, path: &Path) -> Result<Self> {
        let tried = |edits: &Self| edits.applied(ConfigFile::open(path)?);
        while let Err(failure) = tried(&self) {
            let is_mended =
                |edits: &Self| tried(edits).map_or_else(|other| subject(&other) != subject(&failure), |_| true);
            let mut candidates = (0..self.set.len()).filter_map(|index| self.with_text(index));
            self = candidates.find(is_mended).ok_or(failure)?;
        }
        Ok(self)
    }

    fn with_text(&self, index: usize) -> Option<Self> {
        let mut edits = self.clone();
        let (_, value) = edits.set.get_mut(index)?;
        if value.is_str() || value.is_array() || value.is_inline_table() {
            return None;
        }
        *value = value.clone().decorated("", "").to_string().into();
        Some(edits)
    }
}

/// Returns the subject of a failure: "`timeout` of server `github`".
fn subject(failure: &Failure) -> &str {
    failure.message.split(" must be ").next().unwrap_or_default()
}

/// Reads `KEY=VALUE`.
fn assignment(text: &str) -> Result<(Vec<Key>, Value)> {
    let mut cuts = text.match_indices('=').filter_map(|(at, _)| Some((text.get(..at)?, text.get(at + 1..)?)));
    // The value may be a secret.
    let (path, value) = cuts.find_map(|(key, value)| Some((Key::parse(key).ok()?, value))).ok_or_else(|| {
        Failure::usage("expected `KEY=VALUE`\n  = help: `timeout=60s`, `'tools=[\"list_*\"]'`, `'env.TOKEN=${TOKEN}'`")
    })?;
    let read = value.trim().parse().unwrap_or_else(|_| Value::from(value));
    Ok((path, read))
}

fn name(path: &[Key]) -> String {
    path.iter().map(|key| key.display_repr()).collect::<Vec<_>>().join(".")
}

/// Finds the `mcp.toml` to change.
///
/// # Errors
/// Fails if there is no `mcp.toml`, or only a `.mcp.json`.
fn target(explicit: Option<&Path>) -> Result<PathBuf> {
    let path = file(explicit)?;
    if explicit.is_none() && path.symlink_metadata().is_err() {
        return Err(project::missing().into());
    }
    read_text(&path)?;
    Ok(path)
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

/// Formats the message about a file that is not the server's.
fn kept(path: &Path, server: &str) -> String {
    format!("{}: not a snapshot of {server} or overrides", shown(path))
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
