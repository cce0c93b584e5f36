//! The names that models know tools by: a bijection, built once for a set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use mcp_model::{Prefix, sha256};
use mcp_runtime::Client;

/// What every provider takes: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`.
pub(crate) const LONGEST_NAME: usize = 64;
/// The calls that a set answers itself. A tool that is called like one of them gets a suffix.
pub(crate) const RESERVED: [&str; 4] = ["find_tools", "call_tool", "open_sections", "read_section"];

/// The group of those that open sections, who have their names themselves.
pub(crate) const SECTIONS: &str = "sections";

const SUFFIXES: [usize; 5] = [8, 16, 24, 32, 40];
/// What is left at least of a server's name where the whole is too long; the tool's name says more.
const SERVER_AT_LEAST: usize = 12;

/// How tools are called in a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NameStyle {
    /// `server_tool`; tools of bindings by their prefixed name, functions of the program without a group by their own.
    #[default]
    ServerTool,
    /// The tool's own name. Two tools of one name are an error.
    ToolOnly,
}

/// What a tool is to be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// By these two a tool is known, whatever it is called.
    pub(crate) identity: (&'a str, &'a str),
    /// What the name begins with; nothing where it is empty.
    pub(crate) prefix: &'a str,
    pub(crate) name: &'a str,
}

/// What the names of a server's tools begin with: what its configuration says, where there is a client that has one.
pub(crate) fn prefix<'a>(server: &'a str, client: Option<&'a Client>) -> &'a str {
    match client.map(|client| &client.config().prefix) {
        None | Some(Prefix::ServerName) => server,
        Some(Prefix::Named(prefix)) => prefix,
        Some(Prefix::None) => "",
    }
}

#[cfg(feature = "proxy")]
impl Wanted<'_> {
    /// What it would be called if there were no others.
    pub(crate) fn plain(&self) -> Option<String> {
        match Claim::of(self) {
            Claim::Exact(name) | Claim::Altered(name) => Some(name),
            Claim::None => None,
        }
    }
}

/// Whether a tool would be called as if it were of the server with this prefix.
#[cfg(feature = "proxy")]
pub(crate) fn begins_with(wanted: &Wanted<'_>, prefix: &str) -> bool {
    let prefix = cleaned(prefix);
    let beginning = beginning(format!("{prefix}_"));
    !prefix.is_empty() && wanted.plain().is_some_and(|name| name.starts_with(&beginning))
}

/// Whether a name that was given may be that of a tool of the server with this prefix.
#[cfg(feature = "proxy")]
pub(crate) fn may_begin(prefix: &str, name: &str) -> bool {
    let prefix = beginning(cleaned(prefix));
    // So much of it is left at least where the whole is too long.
    let head = prefix.get(..SERVER_AT_LEAST).unwrap_or(&prefix).trim_end_matches('_');
    let is_whole_digest = name.len() == LONGEST_NAME && name.starts_with('t');
    is_whole_digest || name.starts_with(head)
}

/// What a tool would be called if there were no others.
enum Claim {
    /// What was wanted, as it is.
    Exact(String),
    /// What every provider takes of it.
    Altered(String),
    /// Nothing of it is left, or not all of it has room.
    None,
}

/// One name for each, other than those that are taken.
///
/// A name depends on server and tool and, where several would have the same name, on that: never on the order. The tool
/// whose name can stay as it is has it before those whose name cannot. Several that have the same right all get a suffix,
/// so that no server can take over the name of another's tool.
pub(crate) fn public_names(wanted: &[Wanted<'_>], taken: &BTreeSet<&str>) -> Vec<String> {
    let claims: Vec<Claim> = wanted.iter().map(Claim::of).collect();
    let mut count: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for claim in &claims {
        match claim {
            Claim::Exact(name) => count.entry(name).or_default().0 += 1,
            Claim::Altered(name) => count.entry(name).or_default().1 += 1,
            Claim::None => {}
        }
    }
    let is_taken = |name: &str, wanted: &Wanted<'_>| {
        taken.contains(name) || (RESERVED.contains(&name) && wanted.identity.0 != SECTIONS)
    };
    let mut names: Vec<Option<String>> = claims
        .iter()
        .zip(wanted)
        .map(|(claim, wanted)| {
            let (name, is_alone) = match claim {
                Claim::Exact(name) => (name, count.get(name.as_str()).is_some_and(|(exact, _)| *exact == 1)),
                Claim::Altered(name) => (name, count.get(name.as_str()) == Some(&(0, 1))),
                Claim::None => return None,
            };
            (is_alone && !is_taken(name, wanted)).then(|| name.clone())
        })
        .collect();
    let mut settled: BTreeSet<String> = BTreeSet::new();
    for digits in SUFFIXES {
        let open = wanted.iter().zip(&mut names).filter(|(_, name)| name.is_none());
        let candidates: Vec<(&mut Option<String>, &Wanted<'_>, String)> =
            open.map(|(wanted, name)| (name, wanted, suffixed(wanted, digits))).collect();
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        candidates.iter().for_each(|(.., candidate)| *times.entry(candidate.clone()).or_default() += 1);
        let mut now = Vec::new();
        for (name, wanted, candidate) in candidates {
            let is_free = !count.contains_key(candidate.as_str()) && !is_taken(&candidate, wanted);
            if is_free && times.get(&candidate) == Some(&1) && !settled.contains(&candidate) {
                now.push(candidate.clone());
                *name = Some(candidate);
            }
        }
        settled.extend(now);
    }
    let whole = |wanted: &Wanted<'_>| format!("t{}", digest(wanted).get(..LONGEST_NAME - 1).unwrap_or_default());
    names.into_iter().zip(wanted).map(|(name, wanted)| name.unwrap_or_else(|| whole(wanted))).collect()
}

impl Claim {
    fn of(wanted: &Wanted<'_>) -> Self {
        let (prefix, name) = (cleaned(wanted.prefix), cleaned(wanted.name));
        let is_lost = |given: &str, left: &str| !given.is_empty() && left.is_empty();
        if name.is_empty() || is_lost(wanted.prefix, &prefix) {
            return Self::None;
        }
        let whole = beginning(joined(&prefix, &name));
        match whole.len() {
            ..=LONGEST_NAME if whole == joined(wanted.prefix, wanted.name) => Self::Exact(whole),
            ..=LONGEST_NAME => Self::Altered(whole),
            _ => Self::None,
        }
    }
}

fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}_{name}") }
}

/// The name with `_` before it where it begins with what no name begins with.
fn beginning(name: String) -> String {
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') { name } else { format!("_{name}") }
}

/// What of a text can stand in a name: what cannot is one `_`, and nothing at the ends.
fn cleaned(text: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.chars().all(is_fine) {
        return text.to_owned();
    }
    text.split(|c| !is_fine(c)).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

/// As much of the name as has room, and a hash of server and tool.
fn suffixed(wanted: &Wanted<'_>, digits: usize) -> String {
    let hash = digest(wanted);
    let suffix = hash.get(..digits).unwrap_or_default();
    // One for the `_` before the suffix, one for a `_` at the beginning.
    let room = LONGEST_NAME - digits - 2;
    let (prefix, name) = (cleaned(wanted.prefix), cleaned(wanted.name));
    let head = |text: &str, length: usize| text.get(..length.min(text.len())).unwrap_or_default().to_owned();
    let stem = match (prefix.is_empty(), name.is_empty()) {
        (true, true) => "tool".to_owned(),
        (true, false) => head(&name, room),
        (false, true) => head(&prefix, room),
        (false, false) => {
            let for_prefix = room.saturating_sub(name.len() + 1).max(SERVER_AT_LEAST.min(prefix.len())).min(room);
            let prefix = head(&prefix, for_prefix);
            let name = head(&name, room.saturating_sub(prefix.len() + 1));
            joined(prefix.trim_end_matches('_'), &name)
        }
    };
    beginning(format!("{}_{suffix}", stem.trim_end_matches('_')))
}

fn digest(wanted: &Wanted<'_>) -> String {
    let (server, tool) = wanted.identity;
    // So that no end of one is the beginning of the other.
    let length = server.len().to_le_bytes();
    sha256(&[length.as_slice(), server.as_bytes(), tool.as_bytes()].concat()).iter().fold(
        String::with_capacity(64),
        |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted<'a>(server: &'a str, tool: &'a str) -> Wanted<'a> {
        Wanted { identity: (server, tool), prefix: server, name: tool }
    }

    fn names(tools: &[(&str, &str)]) -> Vec<String> {
        let wanted: Vec<_> = tools.iter().map(|(server, tool)| wanted(server, tool)).collect();
        let names = public_names(&wanted, &BTreeSet::new());
        for name in &names {
            assert!(fits(name), "{name}");
        }
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        names
    }

    fn fits(name: &str) -> bool {
        let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        first && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    }

    #[test]
    fn what_every_provider_takes_stays_as_it_is() {
        assert_eq!(names(&[("github", "create_issue"), ("fs", "read-file")]), ["github_create_issue", "fs_read-file"]);
    }

    #[test]
    fn what_none_takes_is_made_so() {
        let odd = [("fs", "read file"), ("fs", "a/b.c"), ("7zip", "x"), ("fs", "\u{1b}[31mred\u{202e}")];
        assert_eq!(names(&odd), ["fs_read_file", "fs_a_b_c", "_7zip_x", "fs_31mred"]);
        let nothing = names(&[("fs", ""), ("fs", "課題"), ("fs", "搜索"), ("", ""), ("", "...")]);
        assert!(nothing.iter().take(3).all(|name| name.starts_with("fs_") && name.len() == 11), "{nothing:?}");
        assert!(nothing.iter().skip(3).all(|name| name.starts_with("tool_")), "{nothing:?}");
    }

    #[test]
    fn collisions_are_told_apart_by_content() {
        // Both may be called so: neither is.
        let both = names(&[("a_b", "c"), ("a", "b_c")]);
        assert!(both.iter().all(|name| name.starts_with("a_b_c_")), "{both:?}");
        // What can stay stays.
        let [exact, altered] = &names(&[("a", "b_c"), ("a", "b.c")])[..] else { panic!() };
        assert_eq!(exact, "a_b_c");
        assert!(altered.starts_with("a_b_c_"));
        // Somebody is called as the other would be.
        let hostile = names(&[("a", "b_c"), ("a", "b.c"), ("a", altered.trim_start_matches("a_"))]);
        assert_eq!((&hostile[0], &hostile[2]), (exact, altered));
        assert_eq!(hostile[1].len(), "a_b_c_".len() + 16);
    }

    #[test]
    fn long_names_keep_the_end_that_says_most() {
        let long = "x".repeat(60);
        let tool = "create_an_issue_in_a_repository";
        let [shortened, other, cut] = &names(&[(&long, tool), (&long, "other"), ("s", &"y".repeat(80))])[..] else {
            panic!()
        };
        assert!(shortened.contains(tool) && shortened.starts_with("xxxxxxxxxxxx"), "{shortened}");
        assert!(other.contains("_other_"), "{other}");
        assert!(cut.starts_with("s_yyyy"), "{cut}");
    }

    #[test]
    fn order_decides_nothing() {
        let tools = [("a_b", "c"), ("a", "b_c"), ("a", "b.c"), ("a", "b c"), ("z", "課"), ("z", "call_tool")];
        let forward = names(&tools);
        let backward = names(&tools.iter().rev().copied().collect::<Vec<_>>());
        assert_eq!(forward.iter().rev().collect::<Vec<_>>(), backward.iter().collect::<Vec<_>>());
    }

    #[test]
    fn nothing_that_a_set_answers_itself_is_a_tool() {
        let own = Wanted { identity: ("program", "call_tool"), prefix: "", name: "call_tool" };
        let taken = BTreeSet::from(["fs_read"]);
        let names = public_names(&[own, wanted("fs", "read")], &taken);
        assert!(names[0].starts_with("call_tool_") && names[1].starts_with("fs_read_"), "{names:?}");
    }
}
