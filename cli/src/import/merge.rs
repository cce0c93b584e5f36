//! One server in several places.

use std::collections::HashMap;
use std::time::Duration;

use mcp_bindgen_model::{ServerConfig, Transport};

use super::entry::Entry;
use super::variable::{server_name, settled, shown};

/// Merges the servers of one host. If a name is repeated, the host uses only the first entry.
pub(super) fn of_one_host(files: Vec<Vec<Entry>>, entries: &mut Vec<Entry>) {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut of_host: Vec<Entry> = files.into_iter().flatten().collect();
    of_host.sort_by_key(|entry| entry.is_of_user);
    for entry in of_host {
        match known.get(&entry.name) {
            Some(index) => {
                let Some(used) = entries.get_mut(*index) else { continue };
                let place = first_place(&entry);
                if !is_same(used, &entry) {
                    used.notes.push(format!("another server of this name, in {place}, is not used by its program"));
                }
            }
            None => {
                known.insert(entry.name.clone(), entries.len());
                entries.push(entry);
            }
        }
    }
}

/// Merges entries of several hosts: identical ones under any names, and ones with the same name that differ only in
/// secrets.
pub(super) fn of_all(entries: Vec<Entry>) -> Vec<Entry> {
    let mut merged: Vec<Entry> = Vec::new();
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    for mut entry in entries {
        let contents = contents(&entry);
        let is_of_other_host = |index: &&usize| {
            let other = merged.get(**index);
            other.is_some_and(|other| {
                other.origins.iter().all(|origin| entry.origins.iter().all(|own| own.host != origin.host))
            })
        };
        let same = contents.iter().flat_map(|content| known.get(content)).flatten().find(is_of_other_host).copied();
        let Some(other) = same.and_then(|index| merged.get_mut(index)) else {
            contents.into_iter().for_each(|content| known.entry(content).or_default().push(merged.len()));
            merged.push(entry);
            continue;
        };
        let place = first_place(&entry);
        if !is_same(other, &entry) {
            other.notes.push(format!("{place} has it with different secrets"));
        }
        if entry.name != other.name {
            other.notes.push(format!("{place} has it as `{}`", shown(&entry.name)));
        }
        match (&other.off, &entry.off) {
            (Some(off), None) => {
                let off = format!("disabled in {}: {off}", first_place(other));
                other.notes.push(off);
                other.off = None;
            }
            (None, Some(off)) => other.notes.push(format!("disabled in {place}: {off}")),
            _ => {}
        }
        if times(other) != times(&entry) {
            other.notes.push(format!("{place} has different timeouts"));
        }
        for note in entry.notes.drain(..) {
            if !other.notes.contains(&note) {
                other.notes.push(note);
            }
        }
        other.origins.append(&mut entry.origins);
    }
    merged
}

fn first_place(entry: &Entry) -> String {
    entry.origins.first().map(|origin| origin.path.display().to_string()).unwrap_or_default()
}

/// Returns the identities of a server without its timeouts: one with its secrets, one with its name instead. They are
/// only compared.
fn contents(entry: &Entry) -> Vec<String> {
    let Some(server) = bare(entry) else { return Vec::new() };
    let settled = settled(&server, &server.name).server.to_json();
    vec![exact(&server), format!("{} {settled}", server_name(&entry.name))]
}

/// Formats all of a server, with its secrets.
fn exact(server: &ServerConfig) -> String {
    let reached = match &server.transport {
        Transport::Stdio { command, args, cwd } => format!("{:?}", (command, args, cwd)),
        Transport::Http { url, headers } => format!("{:?}", ("http", url, headers)),
        Transport::Sse { url, headers } => format!("{:?}", ("sse", url, headers)),
    };
    let ServerConfig { env, inherit_env, tools, exclude, approve, .. } = server;
    format!("{reached}{:?}", (env, inherit_env, tools, exclude, approve))
}

fn bare(entry: &Entry) -> Option<ServerConfig> {
    let mut server = entry.found.as_ref().ok()?.clone();
    "server".clone_into(&mut server.name);
    (server.timeout, server.connect_timeout, server.description) = (None, None, None);
    Some(server)
}

fn times(entry: &Entry) -> Option<(Option<Duration>, Option<Duration>)> {
    entry.found.as_ref().ok().map(|server| (server.timeout, server.connect_timeout))
}

/// Returns `true` if two are one server, to the last secret.
fn is_same(one: &Entry, other: &Entry) -> bool {
    bare(one).is_some_and(|one| bare(other).is_some_and(|other| one == other))
}
