//! Valid names of properties, for every provider.

use std::collections::{BTreeMap, HashMap};

use super::Dialect;
use crate::names::fnv1a;

/// Anthropic answers other keys with an error for the whole request: `^[a-zA-Z0-9_.-]{1,64}$`.
/// Gemini documents `[A-Za-z_][A-Za-z0-9_]{0,63}`.
const LONGEST: usize = 64;

/// Returns `true` if a provider takes a property of that name.
fn is_taken(dialect: Dialect, name: &str) -> bool {
    let is_short = !name.is_empty() && name.len() <= LONGEST;
    match dialect {
        Dialect::OpenAi => true,
        Dialect::Anthropic => {
            is_short && name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-'))
        }
        Dialect::Gemini => is_short && plain(name) == name,
    }
}

/// The aliases of properties whose names a provider rejects. Each alias means one name in the whole document and equals
/// no name in it. It can thus be undone without knowing the provider. Aliases are the same for all providers, and do
/// not depend on the order of names.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    by_wire: HashMap<String, String>,
    by_sent: HashMap<String, String>,
}

impl Aliases {
    /// Creates aliases for the names in a document. The flag is `true` if the name is in an object that takes
    /// undeclared keys. There the plain form may be another key, so a hash is used.
    pub(super) fn of<'n>(names: impl Iterator<Item = (&'n str, bool)>) -> Self {
        let (mut known, mut rivals) = (BTreeMap::new(), HashMap::new());
        for (name, is_open) in names {
            *known.entry(name).or_insert(false) |= is_open;
        }
        known.keys().for_each(|name| *rivals.entry(plain(name)).or_insert(0) += 1);
        // Gemini takes the least.
        let others = known.iter().filter(|(name, _)| !is_taken(Dialect::Gemini, name));
        let (simple, hard): (Vec<_>, Vec<_>) = others.partition(|(name, is_open)| {
            let alias = plain(name);
            !**is_open && alias.len() <= LONGEST && rivals.get(&alias) == Some(&1)
        });
        let mut aliases = Self::default();
        simple.into_iter().for_each(|(name, _)| aliases.add(name, plain(name)));
        for (name, _) in hard {
            let is_free = |alias: &String| !known.contains_key(alias.as_str()) && !aliases.by_sent.contains_key(alias);
            if let Some(alias) = (0..=known.len()).map(|attempt| hashed(name, attempt)).find(is_free) {
                aliases.add(name, alias);
            }
        }
        aliases
    }

    fn add(&mut self, wire: &str, sent: String) {
        self.by_sent.insert(sent.clone(), wire.to_owned());
        self.by_wire.insert(wire.to_owned(), sent);
    }

    /// Returns the alias of a name, if it has one.
    pub(super) fn sent(&self, wire: &str) -> Option<&str> {
        self.by_wire.get(wire).map(String::as_str)
    }

    /// Returns the name behind an alias.
    pub(super) fn wire(&self, sent: &str) -> Option<&str> {
        self.by_sent.get(sent).map(String::as_str)
    }

    /// Returns the name of a property for a provider.
    pub(super) fn told<'n>(&'n self, dialect: Dialect, wire: &'n str) -> &'n str {
        if is_taken(dialect, wire) { wire } else { self.sent(wire).unwrap_or(wire) }
    }
}

/// Returns the name with its hash behind it; another one for each attempt. Names must be stable between versions of
/// this crate.
fn hashed(name: &str, attempt: usize) -> String {
    // FNV-1a of 32 bits.
    let short = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let digits = match attempt {
        0 => format!("{:08x}", name.bytes().fold(0x811c_9dc5, short)),
        _ => format!("{:016x}", fnv1a(&format!("{attempt}/{name}"))),
    };
    let cut: String = plain(name).chars().take(LONGEST - 1 - digits.len()).collect();
    format!("{cut}_{digits}")
}

/// Returns the name with `_` for each character that not every provider accepts.
fn plain(name: &str) -> String {
    let plain: String = name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect();
    if plain.is_empty() || plain.starts_with(|char: char| char.is_ascii_digit()) { format!("_{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases(names: &[&str]) -> Aliases {
        Aliases::of(names.iter().map(|name| (*name, false)))
    }

    #[test]
    fn aliases_are_valid_for_all_providers_and_unique() {
        for (name, others, expected) in [
            ("$filter", vec!["$filter"], "_filter"),
            ("filter[id]", vec!["filter[id]", "x"], "filter_id_"),
            ("5th", vec!["5th"], "_5th"),
            ("", vec![""], "_"),
            ("$filter", vec!["$filter", "_filter"], "_filter_e2ba687d"),
            ("$filter", vec!["$filter", "@filter"], "_filter_e2ba687d"),
            ("", vec!["", "é"], "__811c9dc5"),
        ] {
            let aliases = aliases(&others);
            let alias = aliases.sent(name).unwrap_or_default();
            assert_eq!(alias, expected);
            assert_eq!(aliases.wire(alias), Some(name));
            assert!(is_taken(Dialect::Gemini, alias) && is_taken(Dialect::Anthropic, alias), "{alias}");
        }
        let (left, right) = ("a$".repeat(60), "a@".repeat(60));
        let long = aliases(&[&left, &right]);
        assert_ne!(long.sent(&left), long.sent(&right));
        assert!(is_taken(Dialect::Gemini, long.sent(&left).unwrap_or_default()));
    }

    #[test]
    fn hashed_alias_is_extended_on_a_conflict() {
        let short = hashed("$filter", 0);
        let long = hashed("$filter", 1);
        let first = aliases(&["$filter", "_filter", &short]);
        assert_eq!(first.sent("$filter"), Some(long.as_str()));
        let second = aliases(&["$filter", "_filter", &short, &long]);
        assert_eq!(second.sent("$filter"), Some(hashed("$filter", 2).as_str()));
        // One whose plain form is that hash.
        let other = short.replacen('_', "@", 1);
        let both = aliases(&["$filter", "_filter", &other]);
        assert_ne!(both.sent("$filter"), both.sent(&other));
        assert!(is_taken(Dialect::Gemini, &hashed(&"é".repeat(90), 1)));
    }

    #[test]
    fn alias_in_an_open_object_has_a_hash() {
        let open = Aliases::of([("$filter", true), ("plain", true)].into_iter());
        assert_eq!(open.sent("$filter"), Some(hashed("$filter", 0).as_str()));
        assert_eq!((open.sent("plain"), open.wire("_filter")), (None, None));
    }
}
