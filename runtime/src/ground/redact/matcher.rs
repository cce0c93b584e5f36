//! Finds many texts in one, in a time that grows with the text and hardly with how many there are.

use std::borrow::Cow;

/// The minimum length of a text that matches inside a word: `4711` does not match the middle of `147112`.
const SHORTEST_INSIDE: usize = 6;
const SHORTEST: usize = 4;

/// A text without its backslashes, so that a match does not depend on the levels of escaping.
pub(super) struct Skeleton<'t> {
    original: &'t str,
    text: Cow<'t, str>,
    /// The offset of each byte in the original, if offsets differ.
    places: Vec<usize>,
}

impl<'t> Skeleton<'t> {
    pub(super) fn of(original: &'t str) -> Self {
        if !original.contains('\\') {
            return Self { original, text: Cow::Borrowed(original), places: Vec::new() };
        }
        let mut text = String::with_capacity(original.len());
        let mut places = Vec::with_capacity(original.len());
        for (at, character) in original.char_indices().filter(|(_, character)| *character != '\\') {
            text.push(character);
            places.extend(at..at + character.len_utf8());
        }
        Self { original, text: Cow::Owned(text), places }
    }

    /// Returns the offsets of characters, here and in the original.
    pub(super) fn chars(&self) -> impl Iterator<Item = (usize, usize)> {
        self.text.char_indices().map(|(at, _)| (at, self.place(at)))
    }

    fn place(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or(at)
    }
}

struct Pattern {
    text: String,
    /// The longest other pattern that this one begins with.
    parent: Option<usize>,
}

/// The texts, sorted.
#[derive(Default)]
pub(super) struct Matcher {
    patterns: Vec<Pattern>,
    /// One bit for each pair of bytes that a pattern begins with.
    starts: Vec<u64>,
}

impl Matcher {
    /// Looks for these texts, escaped or not.
    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<String> = texts.into_iter().map(|text| text.replace('\\', "")).collect();
        texts.retain(|text| text.len() >= SHORTEST);
        texts.sort_unstable();
        texts.dedup();
        let mut starts = if texts.is_empty() { Vec::new() } else { vec![0; usize::from(u16::MAX / 64) + 1] };
        let mut patterns: Vec<Pattern> = Vec::with_capacity(texts.len());
        let mut open: Vec<usize> = Vec::new();
        for text in texts {
            if let Some((word, bit)) = start(text.as_bytes(), 0)
                && let Some(word) = starts.get_mut(word)
            {
                *word |= bit;
            }
            let begins = |index: &usize| patterns.get(*index).is_some_and(|earlier| text.starts_with(&earlier.text));
            while open.last().is_some_and(|last| !begins(last)) {
                open.pop();
            }
            let parent = open.last().copied();
            open.push(patterns.len());
            patterns.push(Pattern { text, parent });
        }
        Self { patterns, starts }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns the end in the original of the longest pattern that starts here.
    pub(super) fn end_at(&self, skeleton: &Skeleton<'_>, at: usize) -> Option<usize> {
        let (word, bit) = start(skeleton.text.as_bytes(), at)?;
        if self.starts.get(word)? & bit == 0 {
            return None;
        }
        let rest = skeleton.text.get(at..)?;
        // The last pattern sorted before the rest has every prefix of the rest among its parents.
        let mut candidate = self.patterns.partition_point(|pattern| pattern.text.as_str() <= rest).checked_sub(1);
        while let Some(pattern) = candidate.and_then(|index| self.patterns.get(index)) {
            let length = pattern.text.len();
            if rest.starts_with(&pattern.text) {
                let end = skeleton.place(at + length - 1) + 1;
                if length >= SHORTEST_INSIDE || is_alone(skeleton.original, skeleton.place(at), end) {
                    return Some(end);
                }
            }
            candidate = pattern.parent;
        }
        None
    }
}

fn start(text: &[u8], at: usize) -> Option<(usize, u64)> {
    let pair = usize::from(*text.get(at)?) << 8 | usize::from(*text.get(at + 1)?);
    Some((pair / 64, 1 << (pair % 64)))
}

fn is_alone(text: &str, start: usize, end: usize) -> bool {
    let (before, after) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    let mut back = before.chars().rev();
    // The letter of an escape (`\n`) does not belong to a word.
    let joined = back.next().is_some_and(char::is_alphanumeric) && back.next() != Some('\\');
    !joined && !after.starts_with(char::is_alphanumeric)
}
