//! `import`: servers of other programs into `mcp.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{SecretRef, ServerConfig, printable};
use serde_json::{Value, json};

use super::faults::shared_module;
use crate::config_file::ConfigFile;
use crate::exit::{Exit, Failure};
use crate::import::host::{Folders, Host};
use crate::import::select::{self, Choice};
use crate::import::{self, Entry, Found, Origin, Variable, reach, server_name, settled, shown, table};
use crate::output::Output;
use crate::report::counted;
use crate::text::{did_you_mean, in_ticks};
use crate::{args, project, terminal};

/// A server that was found, as it would be here.
struct Item<'e> {
    entry: &'e Entry,
    /// `found`, `refused`, `added`, or `kept` if the configuration already has it.
    status: &'static str,
    /// The server without its secrets, or the reason why it cannot be imported.
    server: Result<ServerConfig, &'e str>,
    /// The variables that it needs.
    variables: Vec<Variable>,
    notes: Vec<String>,
}

impl<'e> Item<'e> {
    fn new(entry: &'e Entry, name: &str, status: &'static str) -> Self {
        let mut notes = entry.notes.clone();
        let found = match &entry.found {
            Ok(found) => found,
            Err(why) => return Self { entry, status: "refused", server: Err(why), variables: Vec::new(), notes },
        };
        let (server, mut variables, of_secrets) = settled(found, name);
        notes.extend(of_secrets);
        if server.name != entry.name {
            notes.insert(0, format!("`{}` is named `{}` here", shown(&entry.name), server.name));
        }
        let text = table(&server).to_string();
        for placeholder in server.placeholders() {
            let SecretRef::Variable(name) = placeholder else { continue };
            if variables.iter().any(|known| known.name == name) {
                continue;
            }
            let has_default = text.contains(&format!("${{{name}:-"));
            let why = match entry.variables.iter().find(|known| known.name == name) {
                Some(described) if has_default => format!("{}; it has a default", described.why),
                Some(described) => described.why.clone(),
                None if env::var_os(&name).is_some() || has_default => continue,
                None => "for its placeholder".to_owned(),
            };
            variables.push(Variable { name, why });
        }
        Self { entry, status, server: Ok(server), variables, notes }
    }

    fn to_json(&self) -> Value {
        let Self { entry, status, server, variables, notes } = self;
        let origin =
            |origin: &Origin| json!({ "host": origin.host.name(), "path": origin.path, "name": shown(&origin.name) });
        let variable = |variable: &Variable| json!({ "name": variable.name, "why": variable.why });
        json!({
            "name": shown(&entry.name),
            "origins": entry.origins.iter().map(origin).collect::<Value>(),
            "off": entry.off,
            "status": status,
            "why": server.as_ref().err(),
            "server": server.as_ref().ok().map(|server| &server.name),
            "config": server.as_ref().ok().map(ServerConfig::to_json),
            "variables": variables.iter().map(variable).collect::<Value>(),
            "notes": notes,
        })
    }
}

pub(crate) fn run(config: Option<&Path>, wanted: &args::Import, output: &mut Output) -> Result<Exit, Failure> {
    let here = env::current_dir()?;
    let (path, hidden) = target(config)?;
    let folder = here.join(&path).parent().map_or_else(|| here.clone(), Path::to_owned);
    let found = found(wanted.from.as_deref(), &Folders::of_this_process(&here, &folder), &here)?;
    for error in &found.errors {
        output.error(&error.to_string());
    }
    if found.entries.is_empty() {
        return Err(nothing(&found, wanted.from.as_deref()));
    }
    let (mut servers, mut all) = (wanted.servers.clone(), wanted.all);
    if servers.is_empty() && !all {
        let is_asked = !wanted.dry_run && is_answerable(output);
        list(&found, &items(&found, &BTreeSet::new()), is_asked, output)?;
        if wanted.dry_run {
            return Ok(if found.errors.is_empty() { Exit::Done } else { Exit::Failed });
        }
        if !is_asked {
            let commands = select::commands(&found.entries, wanted.from.as_deref());
            return Err(Failure::usage("specify the servers").with_help(commands.join("\n          ")));
        }
        write!(io::stderr(), "Servers to import: numbers (1 3-5), `all`, or Enter for none: ")?;
        (servers, all) = select::answered(&mut io::stdin().lock(), &found.entries)?;
        if servers.is_empty() && !all {
            output.status("Finished", "nothing was imported");
            return Ok(Exit::Done);
        }
    }
    if all && !found.errors.is_empty() {
        let help = "fix them, or specify servers, or a program with `--from`";
        return Err(Failure::new("some files could not be read, and nothing was written").with_help(help));
    }
    let chosen = select::choose(&found.entries, &servers, all)?;
    let mut items = items(&found, &chosen);
    let mut file = if wanted.dry_run { ConfigFile::open(&path)? } else { ConfigFile::locked(&path)? };
    add(&mut file, &mut items)?;
    let tables: Vec<String> =
        added(&items).map(|server| format!("[servers.{}]\n{}", server.name, table(server))).collect();
    let is_written = !wanted.dry_run && !tables.is_empty();
    if is_written {
        file.save()?;
        if let Some(hidden) = &hidden {
            let hidden = hidden.display();
            output.warning(&format!(
                "{hidden} is ignored once there is an mcp.toml: import all of its servers that the project uses"
            ));
        }
    }
    let shown_path = project::shown(file.path());
    drop(file);
    tell(&found, &items, all, wanted.dry_run, &shown_path, output);
    let text = tables.join("\n");
    output.report(&to_json(&found, &items, is_written, Some((&shown_path, &text))))?;
    if wanted.dry_run {
        output.code(text.trim_end())?;
    }
    Ok(Exit::Done)
}

/// Returns the `mcp.toml` that servers go into: that of the project, or one beside its crate; and the `.mcp.json` that
/// has been read in its place so far.
fn target(explicit: Option<&Path>) -> Result<(PathBuf, Option<PathBuf>), Failure> {
    let path = project::target(explicit)?;
    match explicit {
        _ if !project::is_json(&path) => Ok((path, None)),
        Some(_) => {
            let help = "use `--config` for an mcp.toml, and `--from` for this file";
            Err(Failure::usage(project::not_ours(&path, help)))
        }
        None => Ok((path.with_file_name("mcp.toml"), Some(path))),
    }
}

fn found(from: Option<&str>, folders: &Folders, here: &Path) -> Result<Found, Failure> {
    let hosts: Vec<Host> = Host::searched().filter(|host| from.is_none_or(|from| host.name() == from)).collect();
    let Some(from) = from.filter(|_| hosts.is_empty()) else { return Ok(import::of_hosts(&hosts, folders)) };
    let path = here.join(from);
    if !path.exists() {
        let names: Vec<String> = Host::searched().map(Host::name).collect();
        let near = did_you_mean(from, names.iter().map(String::as_str));
        let message = format!("`{}` is neither a known program nor a file", printable(from));
        let help = near.unwrap_or_else(|| format!("known programs: {}", names.join(", ")));
        return Err(Failure::usage(message).with_help(help));
    }
    let mut found = import::of_file(&path, folders);
    found.errors.pop().map_or(Ok(found), |error| Err(error.into()))
}

fn nothing(found: &Found, from: Option<&str>) -> Failure {
    let of = from.map(|from| format!(" of {}", printable(from))).unwrap_or_default();
    let mut message = format!("no servers{of} were found");
    for (note, paths) in [("no servers in", &found.files), ("not found:", &found.missing)] {
        if !paths.is_empty() {
            message.push_str(&format!("\n  = note: {note}"));
            message.extend(paths.iter().map(|path| format!("\n          {}", path.display())));
        }
    }
    Failure::new(message).with_help("specify a file with `--from`, or add a server with `mcp-bindgen add`")
}

/// Returns `true` if the user can answer, which requires seeing the list and the question.
fn is_answerable(output: &Output) -> bool {
    output.is_text()
        && terminal::is_there()
        && io::stdout().is_terminal()
        && env::var_os("CI").is_none_or(|value| value.is_empty())
}

/// Returns all servers, those that were chosen under their names here.
fn items<'e>(found: &'e Found, chosen: &BTreeSet<Choice>) -> Vec<Item<'e>> {
    let mut items = Vec::new();
    for (index, entry) in found.entries.iter().enumerate() {
        let mut names = chosen.range((index, String::new())..(index + 1, String::new())).peekable();
        if names.peek().is_none() {
            items.push(Item::new(entry, &server_name(&entry.name), "found"));
        }
        items.extend(names.map(|(_, name)| Item::new(entry, name, "added")));
    }
    items
}

/// Lists the servers.
fn list(found: &Found, items: &[Item<'_>], is_numbered: bool, output: &mut Output) -> Result<(), Failure> {
    output.report(&to_json(found, items, false, None))?;
    let width = found.entries.iter().map(|entry| shown(&entry.name).chars().count()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for (index, Item { entry, server, variables, notes, .. }) in items.iter().enumerate() {
        let number = if is_numbered { format!("{:>3}  ", index + 1) } else { String::new() };
        let how = match server {
            Ok(server) => printable(&reach(server)),
            Err(why) => format!("cannot be imported: {why}"),
        };
        lines.push(format!("{number}{:<width$}  {}: {how}", shown(&entry.name), entry.hosts()));
        let off = entry.off.iter().map(|off| format!("disabled: {off}"));
        let needs = variables.iter().map(|variable| format!("needs {}: {}", variable.name, variable.why));
        let remarks = off.chain(needs).chain(notes.iter().cloned());
        lines.extend(remarks.map(|remark| format!("       = {}", printable(&remark))));
    }
    output.data(&lines.join("\n"))?;
    tell_of_files(found, output);
    Ok(())
}

/// Adds the chosen servers to the file, which is not written yet, and checks it: it must equal the found servers and
/// contain no secret.
fn add(file: &mut ConfigFile, items: &mut [Item<'_>]) -> Result<(), Failure> {
    let current = file.before()?;
    let mut clashes = Vec::new();
    for Item { status, server, .. } in items.iter_mut().filter(|item| item.status == "added") {
        let Ok(server) = server else { continue };
        match current.servers.get(&server.name) {
            None => file.add_server(&server.name, table(server))?,
            Some(known) if reached(known) == reached(server) => *status = "kept",
            Some(_) => clashes.push(server.name.as_str()),
        }
    }
    if let Some(first) = clashes.first() {
        return Err(Failure::new(format!(
            "{} already has other servers with these names: {}\n  = help: rename one, `{first}=NAME`, or remove its \
             table from the file\n  = note: nothing was written",
            file.path().display(),
            in_ticks(&clashes)
        )));
    }
    let config = file.checked()?;
    // All that it warns of in a server are secrets that are written out.
    let warned: BTreeSet<&str> = config.warnings.iter().filter_map(|warning| warning.server.as_deref()).collect();
    if let Some(error) = shared_module(&config, &added(items).map(|server| &*server.name).collect::<Vec<_>>()) {
        return Err(Failure::new(format!("{error}\n  = note: nothing was written")));
    }
    for server in added(items) {
        let mut read = config.server(&server.name)?.clone();
        read.folder.clone_from(&server.folder);
        if read != *server || warned.contains(server.name.as_str()) {
            let name = &server.name;
            let help = format!("add it with `mcp-bindgen add {name}`\n  = note: nothing was written");
            return Err(Failure::new(format!("cannot write server `{name}`")).with_help(help));
        }
    }
    Ok(())
}

/// Returns how a server is reached; headers and variables may have changed.
fn reached(server: &ServerConfig) -> [Option<Value>; 3] {
    let json = server.to_json();
    ["command", "args", "url"].map(|key| json.get(key).cloned())
}

fn added<'i>(items: &'i [Item<'_>]) -> impl Iterator<Item = &'i ServerConfig> {
    items.iter().filter(|item| item.status == "added").filter_map(|item| item.server.as_ref().ok())
}

fn tell(found: &Found, items: &[Item<'_>], all: bool, is_dry: bool, path: &str, output: &mut Output) {
    let mut needed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let word = if is_dry { "Would add" } else { "Imported" };
    for Item { entry, status, server, variables, notes } in items {
        let name = server.as_ref().map_or_else(|_| shown(&entry.name), |server| server.name.clone());
        match (*status, server, &entry.off) {
            ("kept", ..) => output.status("Kept", &format!("{name}, which already exists in {path}")),
            ("added", ..) => output.status(word, &format!("{name} from {}", entry.files())),
            _ if !all => {}
            (_, Err(why), _) => output.warning(&format!("cannot import server `{name}`: {}", printable(why))),
            (.., off) => {
                let why = off.as_ref().map(|off| format!("which is disabled: {off}"));
                let why = why.as_deref().unwrap_or("which another server replaces");
                output.status("Skipped", &format!("{name} of {}, {why}", entry.hosts()));
            }
        }
        if let ("added", Some(off)) = (*status, &entry.off) {
            output.warning(&format!("server `{name}` is disabled in its source: {off}"));
        }
        if *status == "added" || (all && *status == "refused") {
            notes.iter().for_each(|note| output.warning(&format!("server `{name}`: {}", printable(note))));
            for variable in variables {
                needed.entry(&variable.name).or_default().push(format!("for {name}, {}", variable.why));
            }
        }
    }
    tell_of_files(found, output);
    for (name, whys) in needed {
        let is_set = if env::var_os(name).is_some() { "; it is set in this environment" } else { "" };
        output.status("Set", &format!("{name} {}{is_set}", printable(&whys.join("; "))));
    }
    let count = added(items).count();
    if !is_dry && count > 0 {
        let snapshots = if count == 1 { "its snapshot" } else { "their snapshots" };
        let servers = counted(count, "more server");
        output.status("Finished", &format!("{servers} in {path}; run `mcp-bindgen sync` to write {snapshots}"));
    }
}

fn tell_of_files(found: &Found, output: &mut Output) {
    for (path, note) in &found.notes {
        output.warning(&format!("{}: {}", path.display(), printable(note)));
    }
}

/// Formats the whole import as JSON; `file` is the path of `mcp.toml`, with the tables that are new in it.
fn to_json(found: &Found, items: &[Item<'_>], is_written: bool, file: Option<(&str, &str)>) -> Value {
    let (path, text) = file.unzip();
    let notes: Value = found.notes.iter().map(|(path, note)| json!({ "path": path, "note": note })).collect();
    let errors: Value = found.errors.iter().map(|error| error.to_string()).collect();
    json!({
        "format": 1,
        "mcp_toml": path,
        "written": is_written,
        "toml": text,
        "entries": items.iter().map(Item::to_json).collect::<Value>(),
        "files": found.files,
        "notes": notes,
        "errors": errors,
    })
}
