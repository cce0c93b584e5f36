//! Regular expressions of schemas: whether a text matches, and a text that does.

use std::collections::HashMap;

use regex_lite::{Regex, RegexBuilder};

use crate::checks::plain::{Part, Pattern, parse};

/// Compiled automata larger than this are not worth their memory.
const LARGEST: usize = 1 << 20;
/// More than a parsed pattern has.
const DEEPEST: u32 = 250;
const LONGEST_SAMPLE: usize = 512;

/// The compiled patterns; `None` for a pattern that cannot be matched in linear time.
#[derive(Default)]
pub(super) struct Patterns(HashMap<String, Option<Automaton>>);

/// A pattern that was compiled.
#[derive(Debug)]
pub(crate) struct Automaton {
    regex: Regex,
    /// The size of the pattern.
    size: usize,
    /// The prefix of every matching text, which rejects most texts without the automaton.
    prefix: String,
    /// `true` if every text with the prefix matches.
    needs_no_more: bool,
}

impl Automaton {
    /// Returns `true` if the pattern is found in a text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        text.starts_with(&self.prefix) && self.regex.is_match(text)
    }
}

impl Patterns {
    /// Returns `true` if a pattern matches a text, or `None` if that is unknown.
    pub(super) fn matches(&mut self, pattern: &str, text: &str) -> Option<bool> {
        self.compiled(pattern).map(|automaton| automaton.is_match(text))
    }

    /// Returns the number of states that are looked at for each character of a text, at the most.
    pub(super) fn states(&mut self, pattern: &str) -> usize {
        const STATES_EACH: usize = 2;
        self.compiled(pattern).map_or(0, |automaton| STATES_EACH * automaton.size)
    }

    /// Returns a text that every match of a pattern begins with; empty if none is known.
    pub(super) fn prefix(&mut self, pattern: &str) -> &str {
        self.compiled(pattern).map(|automaton| automaton.prefix.as_str()).unwrap_or_default()
    }

    /// Returns `true` if a pattern surely matches every text with this prefix.
    pub(super) fn covers(&mut self, pattern: &str, prefix: &str) -> bool {
        let known = self.compiled(pattern);
        known.is_some_and(|known| known.needs_no_more && prefix.starts_with(&known.prefix))
    }

    fn compiled(&mut self, pattern: &str) -> Option<&Automaton> {
        if !self.0.contains_key(pattern) {
            self.0.insert(pattern.to_owned(), compile(pattern));
        }
        self.0.get(pattern)?.as_ref()
    }
}

/// Compiles a pattern for a linear and small matcher, because only a few samples are matched.
pub(crate) fn compile(pattern: &str) -> Option<Automaton> {
    let Pattern { whole, size, .. } = parse(pattern)?;
    let mut spelled = String::new();
    spell(&whole, &mut spelled);
    let regex = RegexBuilder::new(&spelled).size_limit(LARGEST).nest_limit(DEEPEST).build().ok()?;
    let mut prefix = String::new();
    let is_text = match &whole {
        Part::Sequence(parts) => match parts.as_slice() {
            [Part::Look("^"), rest @ ..] => rest.iter().all(|part| is_literal(part, &mut prefix)),
            _ => false,
        },
        _ => false,
    };
    Some(Automaton { regex, size, needs_no_more: is_text || (prefix.is_empty() && takes_nothing(&whole)), prefix })
}

/// Writes a part as [`regex_lite`] spells it: without captures, for which it needs much memory.
fn spell(part: &Part, text: &mut String) {
    match part {
        Part::Class(ranges) => {
            text.push('[');
            for (first, last) in ranges {
                text.push_str(&format!("\\u{{{:x}}}-\\u{{{:x}}}", u32::from(*first), u32::from(*last)));
            }
            text.push(']');
        }
        Part::Look(look) => text.push_str(look),
        Part::Repeated(part, least, most) => {
            spell(part, text);
            text.push_str(&format!("{{{least},{}}}", most.map_or_else(String::new, |most| most.to_string())));
        }
        Part::Sequence(parts) | Part::Choice(parts) => {
            text.push_str("(?:");
            for (place, inner) in parts.iter().enumerate() {
                text.push_str(if place > 0 && matches!(part, Part::Choice(_)) { "|" } else { "" });
                spell(inner, text);
            }
            text.push(')');
        }
    }
}

/// Appends the text that a part is; returns `false` if it is not a text.
fn is_literal(part: &Part, text: &mut String) -> bool {
    match part {
        Part::Class(ranges) => match ranges.as_slice() {
            [(first, last)] if first == last => {
                text.push(*first);
                true
            }
            _ => false,
        },
        Part::Sequence(parts) => parts.iter().all(|part| is_literal(part, text)),
        _ => false,
    }
}

/// Returns `true` if nothing, at the start of any text, matches a part.
fn takes_nothing(part: &Part) -> bool {
    match part {
        Part::Class(_) => false,
        Part::Look(look) => *look == "^",
        Part::Repeated(part, least, _) => *least == 0 || takes_nothing(part),
        Part::Sequence(parts) => parts.iter().all(takes_nothing),
        Part::Choice(branches) => branches.iter().any(takes_nothing),
    }
}

/// Returns a text in which the pattern is found.
pub(super) fn sample(pattern: &str) -> Option<String> {
    samples(pattern, 0).into_iter().next()
}

/// Texts in which the pattern is found, the shortest first, and some of about `length` characters.
pub(super) fn samples(pattern: &str, length: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let Some(pattern) = parse(pattern) else { return texts };
    let length = length.min(LONGEST_SAMPLE);
    for (more, is_last) in [(0, false), (length.max(1), false), (0, true), (length.max(1), true)] {
        let mut text = String::new();
        if write(&pattern.whole, &mut text, more, is_last).is_some() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    let padded = texts.first().map(|text| format!("{text}{}", "a".repeat(length.max(1))));
    texts.extend(padded);
    texts
}

/// Returns `true` if the pattern is found in every text: nothing at the start of a text matches it.
pub(super) fn is_everywhere(pattern: &str) -> bool {
    parse(pattern).is_some_and(|pattern| takes_nothing(&pattern.whole))
}

/// Appends a match with `more` repetitions, and with the first or the last character of each class.
fn write(part: &Part, text: &mut String, more: usize, is_last: bool) -> Option<()> {
    if text.len() > LONGEST_SAMPLE {
        return None;
    }
    match part {
        Part::Look(_) => {}
        Part::Class(ranges) if is_last => text.push(ranges.last()?.1),
        Part::Class(ranges) => {
            let has = |wanted: &char| ranges.iter().any(|(first, last)| first <= wanted && wanted <= last);
            let mut ends = ranges.iter().flat_map(|(first, last)| [*first, *last]);
            let plain = ['a', 'A', '0'].into_iter().find(has).or_else(|| ends.find(char::is_ascii_alphanumeric));
            text.push(plain.or(ranges.first().map(|(first, _)| *first))?);
        }
        Part::Repeated(part, least, most) => {
            for _ in 0..more.min(most.unwrap_or(usize::MAX)).max(*least) {
                let before = text.len();
                write(part, text, more, is_last)?;
                // All the others are as empty.
                if text.len() == before {
                    break;
                }
            }
        }
        Part::Sequence(parts) => parts.iter().try_for_each(|part| write(part, text, more, is_last))?,
        Part::Choice(branches) => {
            write(if is_last { branches.last()? } else { branches.first()? }, text, more, is_last)?
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_match_their_pattern() {
        for pattern in ["^[a-z]+$", "^a{3,5}(b|c)\\d$", "^$", "x", "^[^a-zA-Z0-9]$", "^\\w+@\\w+\\.com$"] {
            let sample = sample(pattern).unwrap();
            assert_eq!(Patterns::default().matches(pattern, &sample), Some(true), "{pattern} {sample}");
        }
        assert_eq!(Patterns::default().matches("^[a", ""), None);
        for (pattern, text, found) in [
            ("^\\d$", "\u{0663}", false),
            ("^\\w$", "\u{e9}", false),
            ("^[\\w-]$", "\u{e9}", false),
            ("^[^\\d]$", "\u{0663}", true),
            ("^[[]$", "[", true),
            ("^a\\/b$", "a/b", true),
            ("\\bb", "\u{e9}b", true),
            ("^ab+", "abb", true),
            ("^ab+", "aabb", false),
            ("^ab|c", "xc", true),
            ("^ab|^cd", "cd", true),
            ("ab", "xab", true),
            ("^[\\s-x]$", "-", true),
            ("^[--/]$", ".", true),
            ("^(?<a>\\S]){2}$", "a]b]", true),
        ] {
            assert_eq!(Patterns::default().matches(pattern, text), Some(found), "{pattern} {text}");
        }
        for unknown in ["(?=a)b", "\\p{L}", "(a)\\1", "(?i)a"] {
            assert_eq!((sample(unknown), Patterns::default().matches(unknown, "")), (None, None), "{unknown}");
        }
        assert!(samples("^[a-z]*$", 3).contains(&"aaa".to_owned()));
        assert!(samples("^[a-z]+$", 0).contains(&"z".to_owned()));
        for (pattern, everywhere) in
            [("", true), ("^.*", true), ("a*", true), ("^a*$", false), ("a", false), ("\\b", false)]
        {
            assert_eq!(is_everywhere(pattern), everywhere, "{pattern}");
        }
    }

    #[test]
    fn hostile_patterns_are_small_or_unknown() {
        let nested = format!("{}{}", "(".repeat(30), ")*".repeat(30));
        let captures = "(a)".repeat(8_000);
        for pattern in [nested, captures, "(".repeat(10_000), "a".repeat(100_000), "a{1000}{1000}".to_owned()] {
            let texts = samples(&pattern, 512);
            assert!(texts.iter().all(|text| Patterns::default().matches(&pattern, text) != Some(false)));
        }
    }
}
