//! Which of the servers that were found are meant.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use clap::ValueEnum;
use mcp_bindgen_model::printable;

use super::entry::{Entry, Origin};
use super::host::Host;
use super::variable::{server_name, shown};
use crate::exit::Failure;
use crate::project::check_name;
use crate::text::{command_line, did_you_mean, in_ticks};

/// How many names a message lists.
const LISTED: usize = 20;

/// The index of an entry, and its name in `mcp.toml`.
pub(crate) type Choice = (usize, String);

/// Returns the requested servers; `all` adds every other enabled server that can be imported.
///
/// # Errors
/// Fails if a server is not found, cannot be imported, or two servers would share a name.
pub(crate) fn choose(entries: &[Entry], wanted: &[String], all: bool) -> Result<BTreeSet<Choice>, Failure> {
    let mut chosen = wanted.iter().map(|text| one(entries, text)).collect::<Result<BTreeSet<Choice>, _>>()?;
    if all {
        let (indices, names): (BTreeSet<usize>, BTreeSet<String>) = chosen.iter().cloned().unzip();
        let enabled = entries.iter().enumerate().filter(|(_, entry)| entry.found.is_ok() && entry.off.is_none());
        let others = enabled.map(|(index, entry)| (index, server_name(&entry.name)));
        chosen.extend(others.filter(|(index, name)| !indices.contains(index) && !names.contains(name)));
    }
    let mut names: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for (index, name) in &chosen {
        names.entry(name).or_default().extend(entries.get(*index));
    }
    for (name, entries) in names {
        if let [first, .., last] = entries.as_slice() {
            return Err(Failure::new(format!(
                "{} servers would be named `{name}`: {}\n  = help: specify one, `{}`, or rename one, `{}=NAME`\n  = \
                 note: nothing was written",
                entries.len(),
                places(&entries),
                exactly(first),
                exactly(last)
            )));
        }
    }
    Ok(chosen)
}

fn one(entries: &[Entry], text: &str) -> Result<Choice, Failure> {
    let (mut meant, mut new) = (matching(entries, text), None);
    if meant.is_empty()
        && let Some((text, name)) = text.rsplit_once('=')
    {
        check_name(name)?;
        (meant, new) = (matching(entries, text), Some(name.to_owned()));
    }
    match meant.as_slice() {
        [] => {
            let known: Vec<String> = entries.iter().take(LISTED * 50).map(|entry| typed(&entry.name)).collect();
            let known = || known.iter().map(String::as_str);
            let more = if entries.len() > LISTED { ", .." } else { "" };
            let help = did_you_mean(text, known());
            let help = help.unwrap_or_else(|| format!("there are {}{more}", in_ticks(known().take(LISTED))));
            Err(Failure::usage(format!("unknown server `{}`", printable(text))).with_help(help))
        }
        [(index, entry)] => match &entry.found {
            Ok(_) => Ok((*index, new.unwrap_or_else(|| server_name(&entry.name)))),
            Err(why) => {
                let name = shown(&entry.name);
                Err(Failure::new(format!("cannot import server `{name}`: {why}\n  = note: nothing was written")))
            }
        },
        several => {
            let several: Vec<&Entry> = several.iter().map(|(_, entry)| *entry).collect();
            let commands: Vec<String> = several.iter().map(|entry| format!("`{}`", exactly(entry))).collect();
            let message = format!("found {} servers `{}`: {}", several.len(), printable(text), places(&several));
            Err(Failure::usage(message).with_help(format!("specify one, {}", commands.join(" or "))))
        }
    }
}

/// Returns the entries that a text names: as a host has it, or as it would be here, perhaps with the host.
fn matching<'e>(entries: &'e [Entry], text: &str) -> Vec<(usize, &'e Entry)> {
    let at_host = text.rsplit_once('@').and_then(|(name, host)| Some((name, Some(Host::from_str(host, false).ok()?))));
    for (name, host) in [(text, None)].into_iter().chain(at_host) {
        for is_exact in [true, false] {
            let is_meant = |origin: &Origin| {
                let is_named = if is_exact { origin.name == name } else { server_name(&origin.name) == name };
                is_named && host.is_none_or(|host| origin.host == host)
            };
            let found = entries.iter().enumerate().filter(|(_, entry)| entry.origins.iter().any(is_meant));
            let found: Vec<(usize, &Entry)> = found.collect();
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

/// Lists entries as `github` of cursor.
fn places(entries: &[&Entry]) -> String {
    entries.iter().map(|entry| format!("`{}` of {}", shown(&entry.name), entry.hosts())).collect::<Vec<_>>().join(", ")
}

/// Returns a name that the user can type: a name that cannot be shown is replaced by its converted form.
fn typed(name: &str) -> String {
    if printable(name) == name { shown(name) } else { shown(&server_name(name)) }
}

/// Returns words that name this entry and no other.
fn exactly(entry: &Entry) -> String {
    format!("{}@{}", typed(&entry.name), entry.host().name())
}

/// Returns the commands that take the servers over, for those who cannot be asked.
pub(crate) fn commands(entries: &[Entry], from: Option<&str>) -> Vec<String> {
    let start = from.map(|from| format!(" --from {}", command_line([from]))).unwrap_or_default();
    let start = format!("mcp-bindgen import{start}");
    let importable: Vec<&Entry> = entries.iter().filter(|entry| entry.found.is_ok()).collect();
    let command = |entry: &&Entry| {
        let name = typed(&entry.name);
        let name = if matching(entries, &name).len() == 1 { name } else { exactly(entry) };
        format!("{start} {}", command_line([name.as_str()]))
    };
    let mut commands: Vec<String> = importable.iter().take(LISTED).map(command).collect();
    if importable.len() > LISTED {
        commands.push(format!("and so on for {} more", importable.len() - LISTED));
    }
    commands.push(format!("{start} --all"));
    commands
}

/// Reads the answer that selects servers: numbers, ranges, `all`, or an empty line for none. Returns the arguments of
/// [`choose`].
///
/// # Errors
/// Fails if the answer cannot be read or is invalid.
pub(crate) fn answered(input: &mut dyn BufRead, entries: &[Entry]) -> Result<(Vec<String>, bool), Failure> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    if line.trim().eq_ignore_ascii_case("all") {
        return Ok((Vec::new(), true));
    }
    let mut wanted = Vec::new();
    for part in line.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| (1..=entries.len()).contains(number));
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            let message = format!("invalid number `{}`: expected 1 to {}", printable(part), entries.len());
            return Err(Failure::usage(message));
        };
        let chosen = entries.iter().take(last).skip(first - 1);
        wanted.extend(chosen.map(|entry| format!("{}@{}", entry.name, entry.host().name())));
    }
    Ok((wanted, false))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use mcp_bindgen_model::ServerConfig;

    use super::super::entry::Origin;
    use super::*;

    fn entry(name: &str, host: Host, found: Result<&str, &str>, is_off: bool) -> Entry {
        Entry {
            name: name.to_owned(),
            origins: vec![Origin { host, path: PathBuf::from("/x"), name: name.to_owned() }],
            found: found.map(|package| ServerConfig::npm("x", package)).map_err(str::to_owned),
            off: is_off.then(|| "`disabled` is true".to_owned()),
            variables: Vec::new(),
            notes: Vec::new(),
            is_of_user: false,
        }
    }

    fn entries() -> Vec<Entry> {
        vec![
            entry("git", Host::Cursor, Ok("a"), false),
            entry("git", Host::Codex, Ok("b"), false),
            entry("My Server", Host::Cursor, Ok("c"), false),
            entry("my-server", Host::Cursor, Ok("d"), false),
            entry("off", Host::Zed, Ok("e"), true),
            entry("socket", Host::Zed, Err("unsupported transport `ws`"), false),
        ]
    }

    fn chosen(wanted: &[&str], all: bool) -> Result<Vec<(usize, String)>, String> {
        let wanted: Vec<String> = wanted.iter().map(|text| (*text).to_owned()).collect();
        let chosen = choose(&entries(), &wanted, all).map_err(|failure| failure.message)?;
        Ok(chosen.into_iter().collect())
    }

    #[test]
    fn named_servers_are_selected() {
        let is = |index: usize, name: &str| Ok(vec![(index, name.to_owned())]);
        assert_eq!(chosen(&["git@codex"], false), is(1, "git"));
        assert_eq!(chosen(&["git@codex=work"], false), is(1, "work"));
        assert_eq!(chosen(&["My Server"], false), is(2, "my-server"));
        assert_eq!(chosen(&["my-server"], false), is(3, "my-server"));
        assert_eq!(chosen(&["off"], false), is(4, "off"));
        let all = chosen(&["git@cursor", "My Server=mine"], true).unwrap();
        assert_eq!(
            all.iter().map(|(index, _)| *index).collect::<Vec<_>>(),
            [0, 2, 1, 3].into_iter().filter(|index| *index != 1).collect::<Vec<_>>()
        );
    }

    #[test]
    fn ambiguous_selection_is_an_error() {
        for (wanted, all, said) in [
            (&["git"][..], false, "specify one, `git@cursor` or `git@codex`"),
            (&["git@cursor", "git@codex"], false, "2 servers would be named `git`: `git` of cursor, `git` of codex"),
            (&["My Server", "my-server"], false, "`My Server` of cursor, `my-server` of cursor"),
            (&[], true, "2 servers would be named `git`"),
            (&["socket"], false, "cannot import server `socket`: unsupported transport `ws`"),
            (&["gti@cursor"], false, "unknown server `gti@cursor`"),
            (&["git@cursor=A B"], false, "invalid server name `A B`"),
        ] {
            let message = chosen(wanted, all).unwrap_err();
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn selection_accepts_numbers_and_ranges() {
        let answer = |line: &str| answered(&mut line.as_bytes(), &entries()).map_err(|failure| failure.message);
        assert_eq!(answer("all\n"), Ok((vec![], true)));
        assert_eq!(answer("\n"), Ok((vec![], false)));
        assert_eq!(answer("1, 4-5\n").unwrap().0, ["git@cursor", "my-server@cursor", "off@zed"]);
        assert!(answer("7").unwrap_err().contains("expected 1 to 6") && answer("x").is_err());
    }
}
