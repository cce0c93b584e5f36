//! One server's table.

use super::key::{Form, Key, Reach, has};
use super::keys::{ServerConfig, WAYS};
use super::read::{Kind, Node, Reader};
use super::table::{ConfigValue, Table};
use crate::placeholder::variable_name;
use crate::secrets::{ConfigField, quoted};
use crate::server::{ConfigPlaces, DriftRules, RUST, Transport, is_server_name, may_be_url};
use crate::{FileError, nearest};

/// The keys that say how a server is reached: one of them, and only one.
const REACHED_BY: &[&str] = &["command", "npm", "uvx", "url"];
const OF_A_CHILD: &str = "`command`, `npm` or `uvx`";
/// The keys that restrict a server. They are not ignored in files of other programs, which cannot express them.
const DEMANDS: [&str; 4] = ["isolation", "hosted", "ca", "client_cert"];

/// Reads the table of a server; its key is the name.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> Result<ServerConfig, FileError> {
    let name = node.key.as_str();
    if !is_server_name(name) {
        let message = format!("invalid server name `{}`", quoted(name));
        let help = "use 1 to 64 of a-z, 0-9, `_` and `-`, and begin with a letter or a digit";
        return Err(reader.error(node.key_at, message).with_help(help));
    }
    let shown = format!("server `{name}`");
    let members = reader.table(node, &shown)?;
    if let Some(unknown) = members.iter().find(|member| reader.strict && !has(ServerConfig::KEYS, &member.key)) {
        let error = reader.unknown_key(unknown, &shown, ServerConfig::KEYS);
        let belongs = has(RUST, &unknown.key);
        return Err(if belongs { error.with_help(format!("it belongs in `[servers.{name}.rust]`")) } else { error });
    }
    let transport = transport(reader, node)?;
    let useless = if matches!(transport, Transport::Stdio { .. }) { Reach::Remote } else { Reach::Child };
    let mut server = ServerConfig { name: name.to_owned(), transport, ..ServerConfig::empty() };
    let mut places = ConfigPlaces::default();
    let mut fields = server.fields_mut();
    for key in ServerConfig::KEYS.iter().filter(|key| key.reach != useless) {
        let Some((_, field)) = fields.iter_mut().find(|(name, _)| *name == key.name) else { continue };
        let Some(value) = node.get(key.name).filter(|value| reader.strict || !is_foreign(key, value)) else {
            continue;
        };
        field.fill(reader, value, &format!("`{}` of {shown}", key.name)).map_err(|error| match &value.kind {
            Kind::Table(_) if key.name == "shared" => {
                error.with_help(format!("shared types belong in `[servers.{name}.rust]`"))
            }
            _ => error,
        })?;
        if key.reach == Reach::Any && matches!(key.form, Form::List(Form::Plain(_))) {
            reader.add_places(value, &mut places);
        }
    }
    server.places = places;
    if let Some(value) = node.get("drift") {
        (server.drift, server.drift_rules) = DriftRules::read(reader, value, &format!("`drift` of {shown}"))?;
    }
    server.drift_rules.named = server.rust.rules.iter().any(|rule| rule.option == "named" && rule.value == "true");
    check_names(&server)?;
    for key in ["ca", "client_cert", "proxy", "auth"] {
        let (Some(value), Some(problem)) = (node.get(key), server.network_problem(key)) else { continue };
        return Err(reader.error(value.key_at, format!("`{key}` of {shown} {problem}")));
    }
    warn_of_secrets(reader, node, &server);
    Ok(server)
}

/// Returns `true` for the value of another program's key of this name: numbers as durations, in seconds or milliseconds,
/// and `auth` with other keys.
fn is_foreign(key: &Key, node: &Node) -> bool {
    match (key.name, &key.form, &node.kind) {
        ("timeout" | "connect_timeout", _, Kind::Number(_)) => true,
        ("auth", Form::Table(keys), Kind::Table(members)) => members.iter().any(|member| !has(keys, &member.key)),
        (name, ..) => name == "auth",
    }
}

/// Fails if a tool is renamed by its view and by `rust`.
fn check_names(server: &ServerConfig) -> Result<(), FileError> {
    for (tool, view) in server.views.iter() {
        let renamed = server.renamed_in_rust().find(|(renamed, _)| renamed == tool);
        if let (Some(_), Some((_, name))) = (&view.name, renamed) {
            let message = format!("tool `{}` is already renamed to `{}` in `rust`", quoted(tool), quoted(name));
            return Err(view.error("name", message).with_help("keep one of the two names"));
        }
    }
    Ok(())
}

fn transport(reader: &Reader<'_>, node: &Node) -> Result<Transport, FileError> {
    let name = &node.key;
    let way = way(reader, node)?;
    let mut sources = node.members().filter(|member| REACHED_BY.contains(&member.key.as_str()));
    let Some(source) = sources.next() else {
        return Err(no_source(reader, node, way));
    };
    if let Some(second) = sources.next() {
        let message = format!("server `{name}` has both `{}` and `{}`", source.key, second.key);
        return Err(reader.error(second.key_at, message).with_help("keep only the one that the server uses"));
    }
    let is_remote = source.key == "url";
    // Other keys may be for the other kind of servers.
    let (useless, needed) = if is_remote { (Reach::Child, OF_A_CHILD) } else { (Reach::Remote, "`url`") };
    if let Some((other, _)) = way.filter(|(_, way)| is_remote == (*way == "stdio")) {
        let message = format!("server `{name}` has `{}`, which cannot be combined with `{}`", source.key, other.key);
        return Err(reader.error(other.key_at, message).with_help(format!("`{}` requires {needed}", other.key)));
    }
    let is_refused = |member: &&Node| {
        let is_useless = ServerConfig::KEYS.iter().any(|key| key.name == member.key && key.reach == useless);
        is_useless && (reader.strict || DEMANDS.contains(&member.key.as_str()))
    };
    if let Some(Node { key, key_at, .. }) = node.members().find(is_refused) {
        let message = format!("server `{name}` has `{key}`, which has no effect beside `{}`", source.key);
        let why = if key == "hosted" { ": a model provider cannot start a child process" } else { "" };
        return Err(reader.error(*key_at, message).with_help(format!("`{key}` requires {needed}{why}")));
    }
    let what = format!("`{}` of server `{name}`", source.key);
    let text = reader.text(source, &what)?.to_owned();
    if text.trim().is_empty() {
        return Err(reader.error(source.at, format!("{what} is empty")));
    }
    if is_remote {
        if !may_be_url(&text) {
            let error = reader.error(source.at, format!("{what} is not an http or https URL"));
            return Err(error.with_help("start it with `https://`"));
        }
        let (url, headers) = (text, member(reader, node, "headers")?.unwrap_or_default());
        return Ok(match way {
            Some((_, "sse")) => Transport::Sse { url, headers },
            _ => Transport::Http { url, headers },
        });
    }
    let (command, mut args) = match source.key.as_str() {
        "npm" => ("npx".to_owned(), vec!["-y".to_owned(), text]),
        "uvx" => ("uvx".to_owned(), vec![text]),
        _ => (text, Vec::new()),
    };
    args.extend(member::<Vec<String>>(reader, node, "args")?.unwrap_or_default());
    Ok(Transport::Stdio { command, args, cwd: member(reader, node, "cwd")? })
}

/// Reads the value of a key of the server, if it is there.
fn member<T: ConfigValue>(reader: &Reader<'_>, node: &Node, key: &str) -> Result<Option<T>, FileError> {
    node.get(key).map(|value| T::read(reader, value, &format!("`{key}` of server `{}`", node.key))).transpose()
}

/// Reads the transport from `transport`, or from `type` as other programs name it.
fn way<'n>(reader: &Reader<'_>, node: &'n Node) -> Result<Option<(&'n Node, &'static str)>, FileError> {
    let read = |key: &str| match node.get(key) {
        Some(value) => {
            let way = reader.word(value, &format!("`{key}` of server `{}`", node.key), WAYS)?;
            Ok(Some((value, if way.starts_with("streamable") { "http" } else { way })))
        }
        None => Ok(None),
    };
    match (read("transport")?, read("type")?) {
        (Some((_, one)), Some((second, other))) if one != other => {
            let message = format!("server `{}` has different values for `transport` and `type`", node.key);
            Err(reader.error(second.key_at, message).with_help("keep one of the two"))
        }
        (one, other) => Ok(one.or(other)),
    }
}

fn no_source(reader: &Reader<'_>, node: &Node, way: Option<(&Node, &str)>) -> FileError {
    let missing = match way {
        Some((_, "stdio")) => OF_A_CHILD,
        Some(_) => "`url`",
        None => "`command`, `npm`, `uvx` or `url`",
    };
    let mut unknown = node.members().filter(|member| !has(ServerConfig::KEYS, &member.key));
    let near = unknown.find_map(|member| Some((member, *nearest(&member.key, REACHED_BY.iter().copied()).first()?)));
    let (at, help) = match near {
        Some((member, near)) => (member.key_at, format!("did you mean `{near}` instead of `{}`?", quoted(&member.key))),
        None => (node.key_at, format!("add {missing}")),
    };
    reader.error(at, format!("server `{}` has no transport: {missing} is missing", node.key)).with_help(help)
}

fn warn_of_secrets(reader: &mut Reader<'_>, node: &Node, server: &ServerConfig) {
    let name = &node.key;
    let mut found: Vec<(usize, FileError)> = Vec::new();
    server.each_secret(&mut |field, text, secret| {
        let key = quoted(&secret.key);
        let message = format!("`{key}` of server `{name}` looks like a secret in plain text");
        let variable = match field {
            ConfigField::Env(name) if secret.range == (0..text.len()) => variable_name(name),
            _ => format!("{}_{}", variable_name(name), variable_name(&secret.key)),
        };
        let help = if secret.is_default {
            "remove the default, and set the variable in the environment".to_owned()
        } else {
            format!("replace it with `${{{variable}}}`, and set that variable in the environment")
        };
        let at = value_of(node, field).map_or(node.key_at, |value| value.at);
        let place = found.partition_point(|(other, _)| *other <= at);
        found.insert(place, (at, reader.error(at, message).with_help(help)));
    });
    for (_, warning) in found {
        reader.warn(name, warning, false);
    }
}

/// Returns the value in the file of a field of the configuration.
fn value_of<'n>(node: &'n Node, field: ConfigField<'_>) -> Option<&'n Node> {
    let source = || REACHED_BY.iter().find_map(|key| node.get(key));
    if let ConfigField::Argument { all, index, .. } = field {
        // `npm` and `uvx` bring arguments of their own.
        let written = node.get("args").map_or(&[][..], Node::elements);
        let own = all.len().checked_sub(written.len())?;
        return index.checked_sub(own).and_then(|index| written.get(index)).or_else(source);
    }
    let (key, name) = field.key();
    let value = node.get(key).or_else(source)?;
    name.map_or(Some(value), |name| value.get(name))
}
