//! One server's table.

use std::collections::BTreeMap;

use super::drift;
use super::key::{Form, Key, Reach, has};
use super::keys::{RUST, ServerConfig, TRANSPORTS};
use super::node::{Entry, Kind, Node};
use super::read::Reader;
use super::table::Table as _;
use crate::placeholder::variable_name;
use crate::secrets::{ConfigField, quoted};
use crate::server::{Transport, is_server_name};
use crate::side_by_side::in_order;
use crate::{FileError, nearest};

/// The keys that say how a server is reached: one of them, and only one.
const REACHED_BY: [&str; 4] = ["command", "npm", "uvx", "url"];
/// The keys that restrict a server. They are not ignored in files of other programs, which cannot express them.
const DEMANDS: [&str; 4] = ["isolation", "hosted", "ca", "client_cert"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Stdio,
    Http,
    Sse,
}

/// The meanings of [`TRANSPORTS`].
const WAYS: [Way; TRANSPORTS.len()] = [Way::Stdio, Way::Http, Way::Sse, Way::Http, Way::Http];

fn check_name(reader: &Reader<'_>, name: &str, at: usize) -> Result<(), FileError> {
    if is_server_name(name) {
        return Ok(());
    }
    let message = format!("invalid server name `{}`", quoted(name));
    let help = "use 1 to 64 of a-z, 0-9, `_` and `-`, and begin with a letter or a digit";
    Err(reader.error(at, message).with_help(help))
}

/// The entries of one server's table, without those that are `null`.
struct Table<'n> {
    name: &'n str,
    at: usize,
    entries: Vec<&'n Entry>,
}

impl<'n> Table<'n> {
    fn get(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().copied().find(|entry| entry.key == key)
    }

    /// Reads the value of a key, if it is present.
    fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Node, &str) -> Result<T, FileError>,
    ) -> Result<Option<T>, FileError> {
        self.get(key).map(|entry| read(&entry.value, &format!("`{key}` of server `{}`", self.name))).transpose()
    }
}

pub(super) fn read(reader: &mut Reader<'_>, name: &str, at: usize, node: &Node) -> Result<ServerConfig, FileError> {
    check_name(reader, name, at)?;
    let entries = reader.table(node, &format!("server `{name}`"))?;
    let entries = entries.iter().filter(|entry| !matches!(entry.value.kind, Kind::Null)).collect();
    let table = Table { name, at, entries };
    if reader.strict
        && let Some(entry) = table.entries.iter().find(|entry| !has(ServerConfig::KEYS, &entry.key))
    {
        let error = reader.unknown_key(entry, &format!("server `{name}`"), ServerConfig::KEYS);
        let belongs = has(&RUST, &entry.key);
        return Err(if belongs { error.with_help(format!("it belongs in `[servers.{name}.rust]`")) } else { error });
    }
    let transport = transport(reader, &table)?;
    let useless = if matches!(transport, Transport::Stdio { .. }) { Reach::Remote } else { Reach::Child };
    let mut server = ServerConfig { name: name.to_owned(), transport, ..ServerConfig::empty() };
    for key in ServerConfig::KEYS.iter().filter(|key| key.reach != useless) {
        let Some(entry) = table.get(key.name).filter(|entry| reader.strict || !is_foreign(key, &entry.value)) else {
            continue;
        };
        let (node, what) = (&entry.value, format!("`{}` of server `{name}`", key.name));
        server.set(key.name, reader, node, &what).map_err(|error| match (key.name, &node.kind) {
            ("shared", Kind::Table(_)) => error.with_help(format!("shared types belong in `[servers.{name}.rust]`")),
            _ => error,
        })?;
        if matches!(key.form, Form::Texts) && key.reach == Reach::Any {
            reader.add_places(entry, &mut server.places);
        }
    }
    (server.drift, server.drift_rules) =
        table.read("drift", |node, what| drift::read(reader, node, what))?.unwrap_or_default();
    server.drift_rules.named = server.rust.switches.iter().any(|rule| rule.key == "named" && rule.value == "true");
    check_names(&server)?;
    for key in ["ca", "client_cert", "proxy", "auth"] {
        let (Some(entry), Some(problem)) = (table.get(key), server.network_problem(key)) else { continue };
        return Err(reader.error(entry.at, format!("`{key}` of server `{name}` {problem}")));
    }
    warn_of_secrets(reader, &table, &server);
    Ok(server)
}

/// Returns `true` for the value of another program's key of this name: numbers as durations, in seconds or milliseconds,
/// and `auth` with other keys.
fn is_foreign(key: &Key, node: &Node) -> bool {
    match (&key.form, &node.kind) {
        (Form::Duration, Kind::Number(_)) => true,
        (Form::Table(keys), Kind::Table(entries)) if key.name == "auth" => {
            !entries.iter().all(|entry| has(keys, &entry.key))
        }
        _ => key.name == "auth",
    }
}

/// Fails if a tool is renamed by its view and by `rust`.
fn check_names(server: &ServerConfig) -> Result<(), FileError> {
    for (tool, view) in &server.views {
        let renamed = server.renamed_in_rust().find(|(renamed, _)| renamed == tool);
        if let (Some(_), Some((_, name))) = (&view.name, renamed) {
            let message = format!("tool `{}` is already renamed to `{}` in `rust`", quoted(tool), quoted(name));
            return Err(view.error("name", message).with_help("keep one of the two names"));
        }
    }
    Ok(())
}

fn transport(reader: &Reader<'_>, table: &Table<'_>) -> Result<Transport, FileError> {
    let name = table.name;
    let way = way(reader, table)?;
    let mut sources = table.entries.iter().filter(|entry| REACHED_BY.contains(&entry.key.as_str()));
    let Some(source) = sources.next() else {
        return Err(no_source(reader, table, way));
    };
    if let Some(second) = sources.next() {
        let message = format!("server `{name}` has both `{}` and `{}`", source.key, second.key);
        return Err(reader.error(second.at, message).with_help("keep only the one that the server uses"));
    }
    let remote = source.key == "url";
    if let Some((entry, way)) = way
        && remote == (way == Way::Stdio)
    {
        let needed = if remote { "`command`, `npm` or `uvx`" } else { "`url`" };
        let message = format!("server `{name}` has `{}`, which cannot be combined with `{}`", source.key, entry.key);
        return Err(reader.error(entry.at, message).with_help(format!("`{}` requires {needed}", entry.key)));
    }
    let useless = if remote { Reach::Child } else { Reach::Remote };
    let is_useless = |name: &str| ServerConfig::KEYS.iter().any(|key| key.name == name && key.reach == useless);
    let refused = |entry: &&&Entry| {
        let key = entry.key.as_str();
        is_useless(key) && (reader.strict || DEMANDS.contains(&key))
    };
    if let Some(entry) = table.entries.iter().find(refused) {
        let message = format!("server `{name}` has `{}`, which has no effect beside `{}`", entry.key, source.key);
        let home = if remote { "`command`, `npm` or `uvx`" } else { "`url`" };
        let why = match entry.key.as_str() {
            "hosted" => ": a model provider cannot start a child process",
            _ => "",
        };
        return Err(reader.error(entry.at, message).with_help(format!("`{}` requires {home}{why}", entry.key)));
    }
    let text = reader.text(&source.value, &format!("`{}` of server `{name}`", source.key))?;
    if text.trim().is_empty() {
        return Err(reader.error(source.value.at, format!("`{}` of server `{name}` is empty", source.key)));
    }
    if remote {
        return remote_transport(reader, table, source, text, way.map(|(_, way)| way));
    }
    let more = table.read("args", |node, what| reader.texts(node, what))?.unwrap_or_default();
    let cwd = table.read("cwd", |node, what| reader.text(node, what))?;
    let (command, mut args) = match source.key.as_str() {
        "npm" => ("npx".to_owned(), vec!["-y".to_owned(), text]),
        "uvx" => ("uvx".to_owned(), vec![text]),
        _ => (text, Vec::new()),
    };
    args.extend(more);
    Ok(Transport::Stdio { command, args, cwd })
}

fn remote_transport(
    reader: &Reader<'_>,
    table: &Table<'_>,
    source: &Entry,
    url: String,
    way: Option<Way>,
) -> Result<Transport, FileError> {
    if !(url.starts_with("http://") || url.starts_with("https://") || url.starts_with("${")) {
        let message = format!("`url` of server `{}` is not an http or https URL", table.name);
        return Err(reader.error(source.value.at, message).with_help("start it with `https://`"));
    }
    let headers: BTreeMap<_, _> = table.read("headers", |node, what| reader.text_map(node, what))?.unwrap_or_default();
    Ok(match way {
        Some(Way::Sse) => Transport::Sse { url, headers },
        _ => Transport::Http { url, headers },
    })
}

/// Reads the transport from `transport`, or from `type` as other programs name it.
fn way<'n>(reader: &Reader<'_>, table: &Table<'n>) -> Result<Option<(&'n Entry, Way)>, FileError> {
    let mut found: Option<(&Entry, Way)> = None;
    for key in ["transport", "type"] {
        let Some(entry) = table.get(key) else {
            continue;
        };
        let what = format!("`{key}` of server `{}`", table.name);
        let word = reader.text(&entry.value, &what)?;
        let ways: Vec<(&str, Way)> = TRANSPORTS.into_iter().zip(WAYS).collect();
        let way = reader.one_of(&entry.value, &what, &word, &ways)?;
        if found.is_some_and(|(_, other)| other != way) {
            let message = format!("server `{}` has different values for `transport` and `type`", table.name);
            return Err(reader.error(entry.at, message).with_help("keep one of the two"));
        }
        found = found.or(Some((entry, way)));
    }
    Ok(found)
}

fn no_source(reader: &Reader<'_>, table: &Table<'_>, way: Option<(&Entry, Way)>) -> FileError {
    let name = table.name;
    let missing = match way {
        Some((_, Way::Stdio)) => "`command`, `npm` or `uvx`",
        Some(_) => "`url`",
        None => "`command`, `npm`, `uvx` or `url`",
    };
    let near = table
        .entries
        .iter()
        .filter(|entry| !has(ServerConfig::KEYS, &entry.key))
        .find_map(|entry| nearest(&entry.key, REACHED_BY).first().map(|near| (entry, *near)));
    let error = |at, help: String| {
        reader.error(at, format!("server `{name}` has no transport: {missing} is missing")).with_help(help)
    };
    match near {
        Some((entry, near)) => error(entry.at, format!("did you mean `{near}` instead of `{}`?", quoted(&entry.key))),
        None => error(table.at, format!("add {missing}")),
    }
}

fn warn_of_secrets(reader: &mut Reader<'_>, table: &Table<'_>, server: &ServerConfig) {
    let mut found = Vec::new();
    server.each_secret(&mut |place, text, secret| {
        let key = quoted(&secret.key);
        let message = format!("`{key}` of server `{}` looks like a secret in plain text", table.name);
        let variable = match place {
            ConfigField::Env(name) if secret.range == (0..text.len()) => variable_name(name),
            _ => format!("{}_{}", variable_name(table.name), variable_name(&secret.key)),
        };
        let help = if secret.is_default {
            "remove the default, and set the variable in the environment".to_owned()
        } else {
            format!("replace it with `${{{variable}}}`, and set that variable in the environment")
        };
        let at = place_of(table, place).map_or(table.at, |node| node.at);
        found.push((at, reader.error(at, message).with_help(help)));
    });
    for (_, warning) in in_order(found, |(at, _)| *at) {
        reader.warn(table.name, warning);
    }
}

/// Returns the place in the file of a text of the configuration.
fn place_of<'n>(table: &Table<'n>, place: ConfigField<'_>) -> Option<&'n Node> {
    let value = |key: &str| table.get(key).map(|entry| &entry.value);
    let member = |key: &str, name: &str| match &value(key)?.kind {
        Kind::Table(members) => members.iter().find(|member| member.key == name).map(|member| &member.value),
        _ => None,
    };
    let source = || REACHED_BY.iter().find_map(|key| value(key));
    match place {
        ConfigField::Command | ConfigField::Url => source(),
        ConfigField::Folder => value("cwd"),
        ConfigField::Shown => value("isolation"),
        ConfigField::Env(name) => member("env", name),
        ConfigField::Header(name) => member("headers", name),
        ConfigField::Auth(key) => member("auth", key),
        ConfigField::Network(key) => value(key),
        ConfigField::Name(key) | ConfigField::Note(key) => value(key),
        ConfigField::Argument { all, index, .. } => {
            let Some(Kind::List(written)) = value("args").map(|node| &node.kind) else { return source() };
            // `npm` and `uvx` bring arguments of their own.
            let own = all.len().checked_sub(written.len())?;
            index.checked_sub(own).and_then(|index| written.get(index)).or_else(source)
        }
    }
}
