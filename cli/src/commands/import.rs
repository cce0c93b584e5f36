//! `import`: servers of other programs into `mcp.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, SecretRef, ServerConfig, Transport, printable};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table};

use super::faults::shared_module;
use crate::args;
use crate::config_file::ConfigFile;
use crate::exit::{Exit, Failure};
use crate::import::host::{Folders, Host};
use crate::import::select::{self, Choice};
use crate::import::{self, Entry, Found, Origin, Settled, Variable, reach, server_name, settled, shown, table};
use crate::output::Output;
use crate::project;
use crate::report::counted;
use crate::text::{did_you_mean, in_ticks};

/// A server that goes into `mcp.toml`, without its secrets.
struct Taken<'e> {
    /// The index among the found servers.
    index: usize,
    entry: &'e Entry,
    settled: Settled,
    /// `true` if the configuration already has the server.
    is_kept: bool,
}

pub(crate) fn run(config: Option<&Path>, wanted: &args::Import, output: &mut Output) -> Result<Exit, Failure> {
    let here = env::current_dir()?;
    let (path, hidden) = target(config)?;
    let folder = here.join(&path).parent().map_or_else(|| here.clone(), Path::to_owned);
    let folders = Folders::of_this_process(&here);
    let found = found(wanted, &folders, &folder, &here)?;
    for error in &found.errors {
        output.error(&error.to_string());
    }
    if found.entries.is_empty() {
        return Err(nothing(&found, wanted.from.as_deref()));
    }
    let (servers, all) = match (wanted.servers.is_empty() && !wanted.all, wanted.dry_run) {
        (false, _) => (wanted.servers.clone(), wanted.all),
        (true, is_listed) => {
            let is_asked = !is_listed && is_answerable(output);
            list(&found, is_asked, output)?;
            if is_listed {
                return Ok(if found.errors.is_empty() { Exit::Done } else { Exit::Failed });
            }
            if !is_asked {
                let commands = select::commands(&found.entries, wanted.from.as_deref());
                let commands = commands.join("\n          ");
                return Err(Failure::usage(format!("specify the servers\n  = help: {commands}")));
            }
            write!(io::stderr(), "Servers to import: numbers (1 3-5), `all`, or Enter for none: ")?;
            let answered = select::answered(&mut io::stdin().lock(), &found.entries)?;
            if answered.0.is_empty() && !answered.1 {
                output.status("Finished", "nothing was imported");
                return Ok(Exit::Done);
            }
            answered
        }
    };
    if all && !found.errors.is_empty() {
        return Err(Failure::new(
            "some files could not be read, and nothing was written\n  = help: fix them, or specify servers, or a \
             program with `--from`",
        ));
    }
    let chosen = select::choose(&found.entries, &servers, all)?;
    let mut file = if wanted.dry_run { ConfigFile::open(&path)? } else { ConfigFile::locked(&path)? };
    let taken = added(&mut file, &found.entries, chosen)?;
    checked(&file, &taken)?;
    let is_written = !wanted.dry_run && taken.iter().any(|taken| !taken.is_kept);
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
    tell(&found, &taken, all, wanted.dry_run, &shown_path, output);
    let text = tables(&taken);
    output.report(&to_json(&found, &taken, is_written, Some((&shown_path, &text))))?;
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

fn found(wanted: &args::Import, folders: &Folders, target: &Path, here: &Path) -> Result<Found, Failure> {
    let Some(from) = &wanted.from else { return Ok(import::of_hosts(&Host::ALL, folders, target)) };
    if let Some(host) = Host::ALL.into_iter().find(|host| host.name() == from) {
        return Ok(import::of_hosts(&[host], folders, target));
    }
    let path = here.join(from);
    if !path.exists() {
        let names = Host::ALL.map(Host::name);
        let help = did_you_mean(from, names).unwrap_or_else(|| format!("known programs: {}", names.join(", ")));
        let from = printable(from);
        return Err(Failure::usage(format!("`{from}` is neither a known program nor a file\n  = help: {help}")));
    }
    let mut found = import::of_file(&path, folders, target);
    match found.errors.pop() {
        Some(error) => Err(error.into()),
        None => Ok(found),
    }
}

fn nothing(found: &Found, from: Option<&str>) -> Failure {
    let list =
        |paths: &[PathBuf]| paths.iter().map(|path| format!("\n          {}", path.display())).collect::<String>();
    let of = from.map(|from| format!(" of {}", printable(from))).unwrap_or_default();
    let mut message = format!("no servers{of} were found");
    if !found.files.is_empty() {
        message.push_str(&format!("\n  = note: no servers in{}", list(&found.files)));
    }
    if !found.missing.is_empty() {
        message.push_str(&format!("\n  = note: not found:{}", list(&found.missing)));
    }
    message.push_str("\n  = help: specify a file with `--from`, or add a server with `mcp-bindgen add`");
    Failure::new(message)
}

/// Returns `true` if the user can answer, which requires seeing the list and the question.
fn is_answerable(output: &Output) -> bool {
    output.is_text()
        && io::stdin().is_terminal()
        && io::stdout().is_terminal()
        && io::stderr().is_terminal()
        && env::var_os("CI").is_none_or(|value| value.is_empty())
}

/// Lists the servers.
fn list(found: &Found, is_numbered: bool, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        return Ok(output.data_json(&to_json(found, &[], false, None))?);
    }
    let width = found.entries.iter().map(|entry| shown(&entry.name).chars().count()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for (index, entry) in found.entries.iter().enumerate() {
        let number = if is_numbered { format!("{:>3}  ", index + 1) } else { String::new() };
        let name = shown(&entry.name);
        let settled = settled_entry(entry, &server_name(&entry.name));
        let how = match &settled {
            Ok(settled) => printable(&reach(&settled.server)),
            Err(why) => format!("cannot be imported: {why}"),
        };
        lines.push(format!("{number}{name:<width$}  {}: {how}", hosts(entry)));
        let (notes, variables) = noted(entry, settled.as_ref().ok());
        let off = entry.off.iter().map(|off| format!("disabled: {off}"));
        let needs = variables.iter().map(|variable| format!("needs {}: {}", variable.name, variable.why));
        let said = off.chain(needs).chain(notes.iter().cloned());
        lines.extend(said.map(|said| format!("       = {}", printable(&said))));
    }
    output.data(&lines.join("\n"))?;
    tell_of_files(found, output);
    Ok(())
}

fn hosts(entry: &Entry) -> String {
    entry.origins.iter().map(|origin| origin.host.name()).collect::<Vec<_>>().join(", ")
}

/// Returns a server that was found as it would be here, with all notes and needed variables, or the reason why it cannot be
/// imported.
fn settled_entry<'e>(entry: &'e Entry, name: &str) -> Result<Settled, &'e String> {
    let Settled { server, mut variables, notes } = settled(entry.found.as_ref()?, name);
    let mut notes: Vec<String> = entry.notes.iter().cloned().chain(notes).collect();
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
    Ok(Settled { server, variables, notes })
}

/// Returns the notes on an entry, and the variables that it needs.
fn noted<'s>(entry: &'s Entry, settled: Option<&'s Settled>) -> (&'s [String], &'s [Variable]) {
    settled.map_or((&entry.notes, &[]), |settled| (&settled.notes, &settled.variables))
}

/// Adds the servers to the file, which is not written yet.
fn added<'e>(file: &mut ConfigFile, entries: &'e [Entry], chosen: Vec<Choice>) -> Result<Vec<Taken<'e>>, Failure> {
    let current = Config::parse_toml(&file.to_text(), file.path())?;
    let mut taken = Vec::new();
    let mut clashes = Vec::new();
    for Choice { index, name } in chosen {
        let Some(entry) = entries.get(index) else { continue };
        let Ok(settled) = settled_entry(entry, &name) else { continue };
        let server = &settled.server;
        let is_kept = current.servers.get(&name).is_some_and(|known| is_reached_alike(known, server));
        if !is_kept && current.servers.contains_key(&name) {
            clashes.push(name);
            continue;
        }
        if !is_kept {
            file.add_server(&name, table(server))?;
        }
        taken.push(Taken { index, entry, settled, is_kept });
    }
    if clashes.is_empty() {
        return Ok(taken);
    }
    let first = clashes.first().map(String::as_str).unwrap_or_default();
    Err(Failure::new(format!(
        "{} already has other servers with these names: {}\n  = help: rename one, `{first}=NAME`, or remove its table \
         from the file\n  = note: nothing was written",
        file.path().display(),
        in_ticks(&clashes)
    )))
}

/// Returns `true` if two servers start the same program or have the same URL; headers and variables may have changed.
fn is_reached_alike(one: &ServerConfig, other: &ServerConfig) -> bool {
    match (&one.transport, &other.transport) {
        (Transport::Stdio { command, args, .. }, Transport::Stdio { command: other, args: others, .. }) => {
            command == other && args == others
        }
        (
            Transport::Http { url, .. } | Transport::Sse { url, .. },
            Transport::Http { url: other, .. } | Transport::Sse { url: other, .. },
        ) => url == other,
        _ => false,
    }
}

/// Parses the new file and checks it: it must equal the found servers and contain no secret.
fn checked(file: &ConfigFile, taken: &[Taken<'_>]) -> Result<(), Failure> {
    let config = Config::parse_toml(&file.to_text(), file.path())?;
    // All that it warns of in a server are secrets that are written out.
    let warned: BTreeSet<&str> = config.warnings.iter().filter_map(|warning| warning.server.as_deref()).collect();
    let new = || taken.iter().filter(|taken| !taken.is_kept).map(|taken| &taken.settled.server);
    if let Some(error) = shared_module(&config, &new().map(|server| server.name.as_str()).collect::<Vec<_>>()) {
        return Err(Failure::new(format!("{error}\n  = note: nothing was written")));
    }
    for server in new() {
        let mut read = config.server(&server.name)?.clone();
        read.folder.clone_from(&server.folder);
        if read != *server || warned.contains(server.name.as_str()) {
            let name = &server.name;
            let help = format!("add it with `mcp-bindgen add {name}`\n  = note: nothing was written");
            return Err(Failure::new(format!("cannot write server `{name}`\n  = help: {help}")));
        }
    }
    Ok(())
}

/// Returns the tables that are added, alone.
fn tables(taken: &[Taken<'_>]) -> String {
    let mut servers = Table::new();
    servers.set_implicit(true);
    for Taken { settled: Settled { server, .. }, .. } in taken.iter().filter(|taken| !taken.is_kept) {
        servers.insert(&server.name, Item::Table(table(server)));
    }
    let mut document = DocumentMut::new();
    document.insert("servers", Item::Table(servers));
    document.to_string().trim_start().to_owned()
}

fn tell(found: &Found, taken: &[Taken<'_>], all: bool, is_dry: bool, path: &str, output: &mut Output) {
    let mut variables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let word = if is_dry { "Would add" } else { "Imported" };
    for Taken { entry, settled: Settled { server, variables: needed, notes }, is_kept, .. } in taken {
        let name = &server.name;
        if *is_kept {
            output.status("Kept", &format!("{name}, which already exists in {path}"));
            continue;
        }
        let places: Vec<String> = entry.origins.iter().map(|origin| origin.path.display().to_string()).collect();
        output.status(word, &format!("{name} from {}", places.join(" and ")));
        if let Some(off) = &entry.off {
            output.warning(&format!("server `{name}` is disabled in its source: {off}"));
        }
        for note in notes {
            output.warning(&format!("server `{name}`: {}", printable(note)));
        }
        for variable in needed {
            variables.entry(&variable.name).or_default().push(format!("for {name}, {}", variable.why));
        }
    }
    if all {
        let indices: BTreeSet<usize> = taken.iter().map(|taken| taken.index).collect();
        for (index, entry) in found.entries.iter().enumerate() {
            let name = shown(&entry.name);
            match (&entry.found, &entry.off) {
                _ if indices.contains(&index) => {}
                (Err(why), _) => {
                    output.warning(&format!("cannot import server `{name}`: {}", printable(why)));
                    for note in &entry.notes {
                        output.warning(&format!("server `{name}`: {}", printable(note)));
                    }
                }
                (_, Some(off)) => {
                    output.status("Skipped", &format!("{name} of {}, which is disabled: {off}", hosts(entry)))
                }
                _ => output.status("Skipped", &format!("{name} of {}, which another server replaces", hosts(entry))),
            }
        }
    }
    tell_of_files(found, output);
    for (name, whys) in variables {
        let is_set = if env::var_os(name).is_some() { "; it is set in this environment" } else { "" };
        output.status("Set", &format!("{name} {}{is_set}", printable(&whys.join("; "))));
    }
    if !is_dry && taken.iter().any(|taken| !taken.is_kept) {
        let count = taken.iter().filter(|taken| !taken.is_kept).count();
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
fn to_json(found: &Found, taken: &[Taken<'_>], is_written: bool, file: Option<(&str, &str)>) -> Value {
    let of: BTreeMap<usize, &Taken<'_>> = taken.iter().map(|taken| (taken.index, taken)).collect();
    let entries: Value =
        found.entries.iter().enumerate().map(|(index, entry)| entry_to_json(entry, of.get(&index).copied())).collect();
    let (path, text) = file.unzip();
    let notes: Value = found.notes.iter().map(|(path, note)| json!({ "path": path, "note": note })).collect();
    let errors: Value = found.errors.iter().map(|error| error.to_string()).collect();
    json!({
        "format": 1,
        "mcp_toml": path,
        "written": is_written,
        "toml": text,
        "entries": entries,
        "files": found.files,
        "notes": notes,
        "errors": errors,
    })
}

fn entry_to_json(entry: &Entry, taken: Option<&Taken<'_>>) -> Value {
    let found = if taken.is_none() { settled_entry(entry, &server_name(&entry.name)).ok() } else { None };
    let settled = taken.map(|taken| &taken.settled).or(found.as_ref());
    let status = match taken {
        Some(Taken { is_kept: true, .. }) => "kept",
        Some(_) => "added",
        None if settled.is_some() => "found",
        None => "refused",
    };
    let server = settled.map(|settled| &settled.server);
    let (notes, variables) = noted(entry, settled);
    let origin =
        |origin: &Origin| json!({ "host": origin.host.name(), "path": origin.path, "name": shown(&origin.name) });
    let variable = |variable: &Variable| json!({ "name": variable.name, "why": variable.why });
    json!({
        "name": shown(&entry.name),
        "origins": entry.origins.iter().map(origin).collect::<Value>(),
        "off": entry.off,
        "status": status,
        "why": entry.found.as_ref().err(),
        "server": server.map(|server| &server.name),
        "config": server.map(ServerConfig::to_json),
        "variables": variables.iter().map(variable).collect::<Value>(),
        "notes": notes,
    })
}
