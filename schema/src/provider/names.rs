//! Names that every provider takes, for properties and definitions.

use std::collections::HashSet;

use super::rewrite::Dialect;

/// Anthropic answers other keys with an error for the whole request: `^[a-zA-Z0-9_.-]{1,64}$`.
/// Gemini documents `[A-Za-z_][A-Za-z0-9_]{0,63}`.
const LONGEST: usize = 64;
/// Room for a hash behind what is cut.
const CUT: usize = LONGEST - 9;

/// Whether a provider takes a property of that name.
pub(super) fn is_taken(dialect: Dialect, name: &str) -> bool {
    let is_short = !name.is_empty() && name.len() <= LONGEST;
    match dialect {
        Dialect::OpenAi => true,
        Dialect::Anthropic => {
            is_short && name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-'))
        }
        Dialect::Gemini => is_short && is_plain(name),
    }
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
        && !name.starts_with(|char: char| char.is_ascii_digit())
}

/// What to call a property whose name is not taken, among these: the same for all providers, and whatever their order.
pub(super) fn alias(name: &str, declared: &HashSet<&str>) -> String {
    let alias = plain(name);
    let has_rival = declared.iter().any(|other| *other != name && (*other == alias || plain(other) == alias));
    if alias.len() <= LONGEST && !has_rival {
        return alias;
    }
    let cut: String = alias.chars().take(CUT).collect();
    format!("{cut}_{:08x}", hash(name))
}

/// The name with `_` for all that is not taken by everybody.
fn plain(name: &str) -> String {
    let plain: String = name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect();
    if plain.is_empty() || plain.starts_with(|char: char| char.is_ascii_digit()) { format!("_{plain}") } else { plain }
}

/// FNV-1a: names must stay what they are between versions of this crate.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A name for a definition that no other has, from what the document calls it.
pub(super) fn definition(wish: &str, taken: &mut HashSet<String>) -> String {
    const LONGEST: usize = 40;
    let plain: String =
        wish.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '_').take(LONGEST).collect();
    let plain = if plain.is_empty() || plain.starts_with(|char: char| char.is_ascii_digit()) {
        format!("T{plain}")
    } else {
        plain
    };
    let mut name = plain.clone();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{plain}_{number}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_taken_by_all_and_never_another_property() {
        for (name, others, expected) in [
            ("$filter", vec!["$filter"], "_filter"),
            ("filter[id]", vec!["filter[id]", "x"], "filter_id_"),
            ("5th", vec!["5th"], "_5th"),
            ("", vec![""], "_"),
            ("$filter", vec!["$filter", "_filter"], "_filter_7d7a2e30"),
            ("$filter", vec!["$filter", "@filter"], "_filter_7d7a2e30"),
            ("", vec!["", "é"], "__7d7a2e30"),
        ] {
            let declared: HashSet<&str> = others.iter().copied().collect();
            let alias = alias(name, &declared);
            let without_hash = |text: &str| text.rsplit_once('_').map(|(head, _)| head.to_owned());
            assert!(
                alias == expected || (expected.len() >= 10 && without_hash(&alias) == without_hash(expected)),
                "{name}: {alias}"
            );
            assert!(is_taken(Dialect::Gemini, &alias) && is_taken(Dialect::Anthropic, &alias), "{alias}");
        }
        let (left, right) = ("a$".repeat(60), "a@".repeat(60));
        let declared = HashSet::from([left.as_str(), right.as_str()]);
        assert_ne!(alias(&left, &declared), alias(&right, &declared));
        assert!(is_taken(Dialect::Gemini, &alias(&left, &declared)));
    }
}
