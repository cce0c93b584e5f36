//! Regular expressions of schemas: whether a text matches, and a text that does.

use std::collections::HashMap;

use regex_automata::nfa::thompson::pikevm::{Cache, PikeVM};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Compiled automata larger than this are not worth their memory.
const LARGEST: usize = 1 << 20;
const LONGEST_SAMPLE: usize = 512;

/// The compiled patterns; `None` for a pattern that cannot be matched in linear time.
#[derive(Default)]
pub(super) struct Patterns(HashMap<String, Option<Automaton>>);

/// A pattern that was compiled.
#[derive(Debug)]
pub(crate) struct Automaton {
    regex: PikeVM,
    cache: Cache,
    /// The prefix of every matching text, which rejects most texts without the automaton.
    prefix: String,
    /// `true` if every text with the prefix matches.
    needs_no_more: bool,
}

impl Automaton {
    /// Returns `true` if the pattern is found in a text.
    pub(crate) fn is_match(&mut self, text: &str) -> bool {
        text.starts_with(&self.prefix) && self.regex.is_match(&mut self.cache, text)
    }
}

impl Patterns {
    /// Returns `true` if a pattern matches a text, or `None` if that is unknown.
    pub(super) fn matches(&mut self, pattern: &str, text: &str) -> Option<bool> {
        self.compiled(pattern).map(|automaton| automaton.is_match(text))
    }

    /// Returns the number of states that are looked at for each character of a text, at the most.
    pub(super) fn states(&mut self, pattern: &str) -> usize {
        self.compiled(pattern).map_or(0, |automaton| automaton.regex.get_nfa().states().len())
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

    fn compiled(&mut self, pattern: &str) -> Option<&mut Automaton> {
        if !self.0.contains_key(pattern) {
            self.0.insert(pattern.to_owned(), compile(pattern));
        }
        self.0.get_mut(pattern)?.as_mut()
    }
}

/// Compiles a pattern for a linear and small matcher, because only a few samples are matched.
pub(crate) fn compile(pattern: &str) -> Option<Automaton> {
    let config = thompson::Config::new().nfa_size_limit(Some(LARGEST)).which_captures(WhichCaptures::None);
    let spelled = ecma(pattern);
    let regex = PikeVM::builder().thompson(config).build(&spelled).ok()?;
    let prefix = regex_syntax::parse(&spelled).ok().and_then(|hir| prefix(&hir));
    let (prefix, needs_no_more) = prefix.unwrap_or_else(|| (String::new(), is_everywhere(pattern)));
    Some(Automaton { cache: regex.create_cache(), regex, prefix, needs_no_more })
}

/// Returns the literal text after a `^` at the start, and whether nothing follows it.
fn prefix(hir: &Hir) -> Option<(String, bool)> {
    let HirKind::Concat(parts) = hir.kind() else { return None };
    let [start, literal, rest @ ..] = parts.as_slice() else { return None };
    match (start.kind(), literal.kind()) {
        (HirKind::Look(Look::Start), HirKind::Literal(literal)) => {
            Some((String::from_utf8(literal.0.to_vec()).ok()?, rest.is_empty()))
        }
        _ => None,
    }
}

/// Returns a pattern of ECMA-262, in which digits, words and their bounds are those of ASCII, and white space and line
/// ends those of ECMA-262, as the crates for regular expressions spell it.
fn ecma(pattern: &str) -> String {
    let mut spelled = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('d') => spelled.push_str("[0-9]"),
                Some('D') => spelled.push_str("[^0-9]"),
                Some('w') => spelled.push_str("[A-Za-z0-9_]"),
                Some('W') => spelled.push_str("[^A-Za-z0-9_]"),
                Some('s') => spelled.push_str("[\\t-\\r\\x{FEFF}\\x{2028}\\x{2029}\\p{Zs}]"),
                Some('S') => spelled.push_str("[^\\t-\\r\\x{FEFF}\\x{2028}\\x{2029}\\p{Zs}]"),
                Some('b') if in_class => spelled.push_str("\\x08"),
                Some(bound @ ('b' | 'B')) => spelled.extend(["(?-u:\\", &bound.to_string(), ")"]),
                Some('/') => spelled.push('/'),
                Some(other) => spelled.extend([character, other]),
                None => spelled.push(character),
            },
            '.' if !in_class => spelled.push_str("[^\\n\\r\\x{2028}\\x{2029}]"),
            // Within a class only a backslash and the bracket that ends it mean more than themselves.
            '[' | '&' | '~' if in_class => spelled.extend(['\\', character]),
            _ => {
                in_class = character == '[' || (in_class && character != ']');
                spelled.push(character);
            }
        }
    }
    spelled
}

/// Returns a text in which the pattern is found.
pub(super) fn sample(pattern: &str) -> Option<String> {
    samples(pattern, 0).into_iter().next()
}

/// Texts in which the pattern is found, the shortest first, and some of about `length` characters.
pub(super) fn samples(pattern: &str, length: usize) -> Vec<String> {
    let Ok(hir) = regex_syntax::parse(&ecma(pattern)) else { return Vec::new() };
    let length = length.min(LONGEST_SAMPLE);
    let ways = [(0, false), (length.max(1), false), (0, true), (length.max(1), true)];
    let mut texts: Vec<String> = Vec::new();
    for (more, is_last) in ways {
        let mut text = String::new();
        if write(&hir, &mut text, more, is_last).is_some() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    let padded: Vec<String> = texts.iter().take(1).map(|text| format!("{text}{}", "a".repeat(length.max(1)))).collect();
    texts.extend(padded);
    texts
}

/// Returns `true` if the pattern is found in every text: nothing at the start of a text matches it.
pub(super) fn is_everywhere(pattern: &str) -> bool {
    let is_at_start = |look| look == Look::Start;
    regex_syntax::parse(&ecma(pattern)).is_ok_and(|hir| {
        hir.properties().minimum_len() == Some(0) && hir.properties().look_set().iter().all(is_at_start)
    })
}

/// Appends a match with `more` repetitions, and with the first or the last character of each class.
fn write(hir: &Hir, text: &mut String, more: usize, is_last: bool) -> Option<()> {
    if text.len() > LONGEST_SAMPLE {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(()),
        HirKind::Literal(literal) => {
            text.push_str(std::str::from_utf8(&literal.0).ok()?);
            Some(())
        }
        HirKind::Class(Class::Unicode(class)) if is_last => {
            text.push(class.ranges().last()?.end());
            Some(())
        }
        HirKind::Class(Class::Unicode(class)) => {
            let is_plain = |char: &char| char.is_ascii_alphanumeric();
            let starts = class.ranges().iter().flat_map(|range| [range.start(), range.end()]);
            let preferred = ['a', 'A', '0']
                .into_iter()
                .find(|wanted| class.ranges().iter().any(|range| range.start() <= *wanted && *wanted <= range.end()));
            text.push(preferred.or_else(|| starts.clone().find(is_plain)).or_else(|| starts.clone().next())?);
            Some(())
        }
        HirKind::Class(Class::Bytes(class)) => {
            text.push(char::from(class.ranges().first()?.start()));
            Some(())
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.map_or(usize::MAX, |most| most as usize);
            for _ in 0..more.min(most).max(repetition.min as usize) {
                write(&repetition.sub, text, more, is_last)?;
            }
            Some(())
        }
        HirKind::Capture(capture) => write(&capture.sub, text, more, is_last),
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, text, more, is_last)),
        HirKind::Alternation(branches) => {
            write(if is_last { branches.last()? } else { branches.first()? }, text, more, is_last)
        }
    }
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
        ] {
            assert_eq!(Patterns::default().matches(pattern, text), Some(found), "{pattern} {text}");
        }
        assert_eq!(sample("(?=a)b"), None);
        assert!(samples("^[a-z]*$", 3).contains(&"aaa".to_owned()));
        assert!(samples("^[a-z]+$", 0).contains(&"z".to_owned()));
        for (pattern, everywhere) in
            [("", true), ("^.*", true), ("a*", true), ("^a*$", false), ("a", false), ("\\b", false)]
        {
            assert_eq!(is_everywhere(pattern), everywhere, "{pattern}");
        }
    }
}
