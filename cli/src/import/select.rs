//! Which of the servers that were found are meant.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use mcp_bindgen_model::{is_server_name, nearest, printable};

use super::entry::Entry;
use super::host::Host;
use super::variable::{server_name, shown};
use crate::exit::Failure;
use crate::project::NAME_RULE;
use crate::text::command_line;

/// How many names a message lists.
const LISTED: usize = 20;

/// A server to import.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) index: usize,
    /// Its name in `mcp.toml`.
    pub(crate) name: String,
}

/// Returns the requested servers; `all` adds every other enabled server that can be imported.
///
/// # Errors
/// Fails if a server is not found, cannot be imported, or two servers would share a name.
pub(crate) fn choose(entries: &[Entry], wanted: &[String], all: bool) -> Result<Vec<Choice>, Failure> {
    let mut chosen: Vec<Choice> = Vec::new();
    for text in wanted {
        let choice = one(entries, text)?;
        if !chosen.contains(&choice) {
            chosen.push(choice);
        }
    }
    if all {
        let taken: BTreeSet<usize> = chosen.iter().map(|choice| choice.index).collect();
        let names: BTreeSet<String> = chosen.iter().map(|choice| choice.name.clone()).collect();
        let others = entries.iter().enumerate().filter(|(index, entry)| {
            entry.found.is_ok()
                && entry.off.is_none()
                && !taken.contains(index)
                && !names.contains(&server_name(&entry.name))
        });
        chosen.extend(others.map(|(index, entry)| Choice { index, name: server_name(&entry.name) }));
    }
    told_apart(entries, &chosen)?;
    Ok(chosen)
}

fn one(entries: &[Entry], text: &str) -> Result<Choice, Failure> {
    let (meant, name) = match matching(entries, text) {
        found if !found.is_empty() => (found, None),
        _ => match text.rsplit_once('=') {
            Some((text, name)) if !is_server_name(name) => {
                return Err(Failure::usage(format!(
                    "invalid server name `{}`\n  = help: {NAME_RULE}; it would rename `{}`",
                    printable(name),
                    printable(text)
                )));
            }
            Some((text, name)) => (matching(entries, text), Some(name)),
            None => (Vec::new(), None),
        },
    };
    match meant.as_slice() {
        [] => Err(unknown(entries, text)),
        [(index, entry)] => {
            if let Err(why) = &entry.found {
                let name = shown(&entry.name);
                let message = format!("cannot import server `{name}`: {why}\n  = note: nothing was written");
                return Err(Failure::new(message));
            }
            let name = name.map_or_else(|| server_name(&entry.name), str::to_owned);
            Ok(Choice { index: *index, name })
        }
        several => {
            let places: Vec<String> = several.iter().map(|(_, entry)| place(entry)).collect();
            let commands: Vec<String> = several.iter().map(|(_, entry)| format!("`{}`", exactly(entry))).collect();
            Err(Failure::usage(format!(
                "found {} servers `{}`: {}\n  = help: specify one, {}",
                several.len(),
                printable(text),
                places.join(", "),
                commands.join(" or ")
            )))
        }
    }
}

/// Returns the entries that a text names: as a host has it, or as it would be here, perhaps with the host.
fn matching<'e>(entries: &'e [Entry], text: &str) -> Vec<(usize, &'e Entry)> {
    let named = |name: &str, host: Option<Host>| {
        let of_host = |entry: &Entry, is: &dyn Fn(&str) -> bool| {
            entry.origins.iter().any(|origin| host.is_none_or(|host| origin.host == host) && is(&origin.name))
        };
        let all = |is: &dyn Fn(&str) -> bool| -> Vec<(usize, &'e Entry)> {
            entries.iter().enumerate().filter(|(_, entry)| of_host(entry, is)).collect()
        };
        let exact = all(&|known| known == name);
        if exact.is_empty() { all(&|known| server_name(known) == name) } else { exact }
    };
    let found = named(text, None);
    match text.rsplit_once('@').map(|(name, host)| (name, Host::named(host))) {
        Some((name, Some(host))) if found.is_empty() => named(name, Some(host)),
        _ => found,
    }
}

/// Refuses two servers of one name.
fn told_apart(entries: &[Entry], chosen: &[Choice]) -> Result<(), Failure> {
    let mut names: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for choice in chosen {
        names.entry(&choice.name).or_default().extend(entries.get(choice.index));
    }
    let clash = names.into_iter().find_map(|(name, entries)| match entries.as_slice() {
        [first, .., last] => Some((name, exactly(first), exactly(last), entries)),
        _ => None,
    });
    let Some((name, first, last, entries)) = clash else { return Ok(()) };
    Err(Failure::new(format!(
        "{} servers would be named `{name}`: {}\n  = help: specify one, `{first}`, or rename one, `{last}=NAME`\n  = \
         note: nothing was written",
        entries.len(),
        entries.into_iter().map(place).collect::<Vec<_>>().join(", ")
    )))
}

/// Formats an entry as `github` of cursor.
fn place(entry: &Entry) -> String {
    let hosts: Vec<&str> = entry.origins.iter().map(|origin| origin.host.name()).collect();
    format!("`{}` of {}", shown(&entry.name), hosts.join(" and "))
}

/// Returns a name that the user can type: a name that cannot be shown is replaced by its converted form.
fn typed(name: &str) -> String {
    if printable(name) == name { shown(name) } else { shown(&server_name(name)) }
}

/// Returns words that name this entry and no other.
fn exactly(entry: &Entry) -> String {
    format!("{}@{}", typed(&entry.name), first_host(entry))
}

fn first_host(entry: &Entry) -> &'static str {
    entry.origins.first().map_or(Host::File, |origin| origin.host).name()
}

fn unknown(entries: &[Entry], text: &str) -> Failure {
    let names = || entries.iter().map(|entry| entry.name.as_str());
    let help = match nearest(text, names().take(LISTED * 50)).first() {
        Some(near) => format!("did you mean `{}`?", typed(near)),
        None => format!("there are {}", listed(entries)),
    };
    Failure::usage(format!("unknown server `{}`\n  = help: {help}", printable(text)))
}

fn listed(entries: &[Entry]) -> String {
    let names: Vec<String> = entries.iter().take(LISTED).map(|entry| format!("`{}`", shown(&entry.name))).collect();
    let more = entries.len().saturating_sub(LISTED);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

/// Returns the commands that take the servers over, for those who cannot be asked.
pub(crate) fn commands(entries: &[Entry], from: Option<&str>) -> Vec<String> {
    let from = from.map(|from| format!(" --from {}", command_line([from]))).unwrap_or_default();
    let takeable: Vec<&Entry> = entries.iter().filter(|entry| entry.found.is_ok()).collect();
    let command = |entry: &&Entry| {
        let name = typed(&entry.name);
        let name = if matching(entries, &name).len() == 1 { name } else { exactly(entry) };
        format!("mcp-bindgen import{from} {}", command_line([name.as_str()]))
    };
    let mut commands: Vec<String> = takeable.iter().take(LISTED).map(command).collect();
    if takeable.len() > LISTED {
        commands.push(format!("and so on for {} more", takeable.len() - LISTED));
    }
    commands.push(format!("mcp-bindgen import{from} --all"));
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
        wanted.extend(chosen.map(|entry| format!("{}@{}", entry.name, first_host(entry))));
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
        Ok(chosen.into_iter().map(|choice| (choice.index, choice.name)).collect())
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
