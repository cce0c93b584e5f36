//! The names that a template uses and does not give itself.

use std::collections::BTreeMap;

use mcp_schema::template::{PieceKind, Place, Template as Parsed};

use super::slot::Slot;
use super::source::RESERVED;

/// A name that whoever runs the template has to give, or may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Where it is used first.
    pub(super) place: Place,
    /// Whether the template does without it: it asks `x is defined`, or says everywhere `x|default(..)`.
    pub(super) is_optional: bool,
}

/// What is wanted, of the names that minijinja finds nowhere assigned before they are used.
pub(super) fn wanted(
    parsed: &Parsed,
    slots: &[Slot],
    undeclared: impl IntoIterator<Item = String>,
) -> BTreeMap<String, Wanted> {
    let given = |name: &String| name.starts_with(RESERVED) || parsed.may_give(name);
    let mut wanted = BTreeMap::new();
    for name in undeclared.into_iter().filter(|name| !given(name)) {
        let mut found = Vec::new();
        for (place, code) in codes(parsed, slots) {
            found.extend(uses(code, &name).into_iter().map(|rest| (place, guard(rest))));
        }
        let is_asked_for = found.iter().any(|(_, guard)| *guard == Some(Guard::Test));
        let is_optional = is_asked_for || (!found.is_empty() && found.iter().all(|(_, guard)| guard.is_some()));
        // Minijinja has found it, so that it is somewhere.
        let place = found.iter().map(|(place, _)| *place).min().unwrap_or(Place { line: 1, column: 1 });
        wanted.insert(name, Wanted { place, is_optional });
    }
    wanted
}

/// All code of a template, with its places.
pub(super) fn codes<'t>(parsed: &'t Parsed, slots: &'t [Slot]) -> impl Iterator<Item = (Place, &'t str)> {
    let pieces = parsed.segments.iter().flat_map(|segment| &segment.pieces);
    let of_pieces = pieces.filter_map(|piece| match &piece.kind {
        PieceKind::Expression(code) | PieceKind::Statement(code) => Some((piece.place, code.as_str())),
        _ => None,
    });
    let dynamics = slots.iter().flat_map(|slot| &slot.dynamics);
    of_pieces.chain(dynamics.map(|dynamic| (dynamic.place, dynamic.code.as_str())))
}

/// What follows each use of a name as a variable.
fn uses<'c>(code: &'c str, name: &str) -> Vec<&'c str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut quote = None;
    let mut found = Vec::new();
    let mut before = None;
    let mut characters = code.char_indices();
    while let Some((at, character)) = characters.next() {
        let starts = quote.is_none() && !before.is_some_and(|c| is_word(c) || c == '.');
        match (quote, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            _ => {}
        }
        if let Some(rest) = code.get(at..).and_then(|code| code.strip_prefix(name)).filter(|_| starts)
            && !rest.starts_with(is_word)
        {
            found.push(rest);
        }
        before = Some(character);
    }
    found
}

/// How a use does without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// `x|default(..)`
    Default,
    /// `x is defined`
    Test,
}

/// Whether a use does without a value, by what follows the name.
fn guard(rest: &str) -> Option<Guard> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let rest = rest.trim_start_matches(|c: char| is_word(c) || c == '.').trim_start();
    let word = |text: &str| -> String { text.trim_start().chars().take_while(|c| is_word(*c)).collect() };
    if let Some(filter) = rest.strip_prefix('|') {
        return matches!(word(filter).as_str(), "default" | "d").then_some(Guard::Default);
    }
    if word(rest) != "is" {
        return None;
    }
    let test = rest.get(2..).unwrap_or_default().trim_start();
    let test = if word(test) == "not" { test.get(3..).unwrap_or_default() } else { test };
    matches!(word(test).as_str(), "defined" | "undefined").then_some(Guard::Test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_found_and_guards_are_seen() {
        assert_eq!(uses("{{ a.b + b + 'b' + ab + b_c }}", "b").len(), 1);
        assert_eq!(uses(r#"{{ "\"b" ~ b }}"#, "b").len(), 1);
        let guarded = |code: &str| uses(code, "x").into_iter().all(|rest| guard(rest).is_some());
        for guards in ["x|default('a')", "x.y | d(1)", "{% if x is defined %}", "x is not defined", "x is undefined"] {
            assert!(guarded(guards), "{guards}");
        }
        for bare in ["x", "x|upper", "x is none", "y if x else z", "x|default(1) ~ x", "x|defaulted"] {
            assert!(!guarded(bare), "{bare}");
        }
    }
}
