//! One server in several places.

use std::collections::HashMap;

use super::entry::Entry;
use super::variable::{server_name, shown};

/// The servers of one host: of two of one name, the host uses the one that comes first, the whole of it.
pub(super) fn of_one_host(files: Vec<Vec<Entry>>, entries: &mut Vec<Entry>) {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut of_host: Vec<Entry> = files.into_iter().flatten().collect();
    of_host.sort_by_key(|entry| entry.is_of_user);
    for entry in of_host {
        match known.get(&entry.name) {
            Some(index) => {
                let Some(used) = entries.get_mut(*index) else { continue };
                let place = entry.origins.first().map(|origin| origin.path.display().to_string()).unwrap_or_default();
                if !is_same(used, &entry) {
                    used.notes.push(format!("another one of this name, in {place}, is not used by its program"));
                }
            }
            None => {
                known.insert(entry.name.clone(), entries.len());
                entries.push(entry);
            }
        }
    }
}

/// Makes one entry of what several hosts have: by the same name, or with the same secrets.
pub(super) fn of_all(entries: Vec<Entry>) -> Vec<Entry> {
    let mut merged: Vec<Entry> = Vec::new();
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    for mut entry in entries {
        let Some(key) = key(&entry) else {
            merged.push(entry);
            continue;
        };
        let alike = known.entry(key).or_default();
        let same = alike.iter().copied().find(|index| {
            merged.get(*index).is_some_and(|other| {
                let is_other_host =
                    other.origins.iter().all(|origin| entry.origins.iter().all(|own| own.host != origin.host));
                let is_same_name = server_name(&other.name) == server_name(&entry.name);
                is_other_host && (is_same_name || is_same(other, &entry))
            })
        });
        let Some(other) = same.and_then(|index| merged.get_mut(index)) else {
            alike.push(merged.len());
            merged.push(entry);
            continue;
        };
        let place = entry.origins.first().map(|origin| origin.path.display().to_string()).unwrap_or_default();
        if !is_same(other, &entry) {
            other.notes.push(format!("{place} has it with other secrets"));
        }
        if entry.name != other.name {
            other.notes.push(format!("{place} has it as `{}`", shown(&entry.name)));
        }
        match (&other.off, &entry.off) {
            (Some(off), None) => {
                let off = format!("switched off in {}: {off}", first_place(other));
                other.notes.push(off);
                other.off = None;
            }
            (None, Some(off)) => other.notes.push(format!("switched off in {place}: {off}")),
            _ => {}
        }
        if times(other) != times(&entry) {
            other.notes.push(format!("{place} has other time limits"));
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

/// What a server is, without its name, its secrets and how long it may take.
fn key(entry: &Entry) -> Option<String> {
    let mut server = entry.found.as_ref().ok()?.clone();
    "server".clone_into(&mut server.name);
    (server.timeout, server.connect_timeout, server.description) = (None, None, None);
    Some(server.to_json().to_string())
}

fn times(entry: &Entry) -> Option<(Option<std::time::Duration>, Option<std::time::Duration>)> {
    entry.found.as_ref().ok().map(|server| (server.timeout, server.connect_timeout))
}

/// Whether two are one server, to the last secret.
fn is_same(one: &Entry, other: &Entry) -> bool {
    let bare = |entry: &Entry| {
        let mut server = entry.found.as_ref().ok()?.clone();
        "server".clone_into(&mut server.name);
        (server.timeout, server.connect_timeout, server.description) = (None, None, None);
        Some(server)
    };
    bare(one).is_some_and(|one| bare(other).is_some_and(|other| one == other))
}
