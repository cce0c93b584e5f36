//! One server in several places.

use std::collections::HashMap;
use std::time::Duration;

use mcp_bindgen_model::ConfigField;

use super::entry::Entry;
use super::host::Host;
use super::variable::{server_name, shown};

/// Merges the entries of one server. If a host has a name twice, it uses only the first entry, in order of precedence.
/// Several hosts may have identical servers under any names, or servers of the same name that differ only in secrets.
pub(super) fn merged(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut merged: Vec<Entry> = Vec::new();
    // The first entry of each name of a host, with its place in the result.
    let mut used: HashMap<(Host, String), (usize, Option<Identity>)> = HashMap::new();
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    entries.sort_by_key(|entry| (entry.host(), entry.is_of_user));
    for entry in entries {
        let (host, place, own) = (entry.host(), entry.files(), identity(&entry));
        let name = (host, entry.name.clone());
        if let Some((index, first)) = used.get(&name) {
            if (own.is_none() || *first != own)
                && let Some(used) = merged.get_mut(*index)
            {
                used.notes.push(format!("another server of this name, in {place}, is not used by its program"));
            }
            continue;
        }
        let keys = own.iter().flat_map(|(server, secrets)| {
            [format!("{server}{secrets}"), format!("{} {server}", server_name(&entry.name))]
        });
        let keys: Vec<String> = keys.collect();
        let is_of_other_host = |index: &&usize| {
            merged.get(**index).is_some_and(|other| other.origins.iter().all(|origin| origin.host != host))
        };
        let same = keys.iter().filter_map(|key| known.get(key)).flatten().find(is_of_other_host).copied();
        used.insert(name, (same.unwrap_or(merged.len()), own.clone()));
        let Some(other) = same.and_then(|index| merged.get_mut(index)) else {
            keys.into_iter().for_each(|key| known.entry(key).or_default().push(merged.len()));
            merged.push(entry);
            continue;
        };
        if identity(other) != own || times(other) != times(&entry) {
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

/// A server without its name, description, secrets and timeouts, and apart from it the secrets with their positions. They
/// are only compared.
type Identity = (String, String);

fn identity(entry: &Entry) -> Option<Identity> {
    let mut bare = entry.found.as_ref().ok()?.clone();
    (bare.description, bare.timeout, bare.connect_timeout) = (None, None, None);
    let mut secrets = Vec::new();
    let server = bare.replace_secrets_exactly(|field, text, secret| {
        let index = if let ConfigField::Argument { index, .. } = field { index } else { 0 };
        let value = text.get(secret.range.clone()).map(str::to_owned);
        secrets.push((field.label(), index, secret.range.clone(), value));
        if secret.is_default { "" } else { "${SECRET}" }.to_owned()
    });
    Some((server.to_json().to_string(), format!("{secrets:?}")))
}

fn times(entry: &Entry) -> Option<(Option<Duration>, Option<Duration>)> {
    entry.found.as_ref().ok().map(|server| (server.timeout, server.connect_timeout))
}
