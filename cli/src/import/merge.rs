//! One server in several places.

use std::collections::HashMap;

use super::entry::Entry;
use super::host::Host;
use super::variable::{server_name, settled, shown};

/// Merges the entries of one server. If a host has a name twice, it uses only the first entry, in order of precedence.
/// Several hosts may have identical servers under any names, or servers of the same name that differ only in secrets.
pub(super) fn merged(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut merged: Vec<Entry> = Vec::new();
    let mut used: HashMap<(Host, String), usize> = HashMap::new();
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    entries.sort_by_key(|entry| (entry.host(), entry.is_of_user));
    for entry in entries {
        let (host, place, own) = (entry.host(), entry.files(), identity(&entry));
        let name = (host, entry.name.clone());
        if let Some(used) = used.get(&name).and_then(|index| merged.get_mut(*index)) {
            if own.is_none() || identity(used) != own {
                used.notes.push(format!("another server of this name, in {place}, is not used by its program"));
            }
            continue;
        }
        let keys = own
            .iter()
            .flat_map(|(server, rest)| [format!("{server}{rest}"), format!("{} {server}", server_name(&entry.name))]);
        let keys: Vec<String> = keys.collect();
        let is_of_other_host = |index: &&usize| {
            merged.get(**index).is_some_and(|other| other.origins.iter().all(|origin| origin.host != host))
        };
        let same = keys.iter().filter_map(|key| known.get(key)).flatten().find(is_of_other_host).copied();
        used.insert(name, same.unwrap_or(merged.len()));
        let Some(other) = same.and_then(|index| merged.get_mut(index)) else {
            keys.into_iter().for_each(|key| known.entry(key).or_default().push(merged.len()));
            merged.push(entry);
            continue;
        };
        if identity(other) != own {
            other.notes.push(format!("{place} has it with different secrets or timeouts"));
        }
        if entry.name != other.name {
            other.notes.push(format!("{place} has it as `{}`", shown(&entry.name)));
        }
        match (other.off.take(), entry.off) {
            (Some(off), None) => {
                let places = other.files();
                other.notes.push(format!("disabled in {places}: {off}"));
            }
            (None, Some(off)) => other.notes.push(format!("disabled in {place}: {off}")),
            (off, _) => other.off = off,
        }
        for note in entry.notes {
            if !other.notes.contains(&note) {
                other.notes.push(note);
            }
        }
        other.origins.extend(entry.origins);
    }
    merged
}

/// Returns a server without its name, description, secrets and timeouts, and apart from it the secrets and timeouts. They
/// are only compared.
fn identity(entry: &Entry) -> Option<(String, String)> {
    let mut bare = entry.found.as_ref().ok()?.clone();
    let rest = format!("{:?}", (bare.secrets(), bare.timeout.take(), bare.connect_timeout.take()));
    bare.description = None;
    let (server, ..) = settled(&bare, "server");
    Some((server.to_json().to_string(), rest))
}
