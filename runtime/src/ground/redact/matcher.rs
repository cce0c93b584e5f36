//! Finds many texts in one. The time grows with the length of that text, and hardly with the number of the others.

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
        for (at, character) in original.char_indices() {
            if character != '\\' {
                text.push(character);
                places.extend(at..at + character.len_utf8());
            }
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

/// The texts to find.
#[derive(Default)]
pub(super) struct Matcher {
    /// The texts, sorted, each with whether it is unmistakable. The last of equal texts is found, so the unmistakable one
    /// comes after the other.
    patterns: Vec<(String, bool)>,
    has_sure: bool,
}

impl Matcher {
    /// Creates a matcher for these texts, escaped or not.
    pub(super) fn new(mut patterns: Vec<(String, bool)>) -> Self {
        for (text, _) in &mut patterns {
            *text = text.replace('\\', "");
        }
        patterns.retain(|(text, _)| text.len() >= SHORTEST);
        patterns.sort_unstable();
        patterns.dedup();
        Self { has_sure: patterns.iter().any(|(_, is_sure)| *is_sure), patterns }
    }

    pub(super) fn is_empty(&self, only_sure: bool) -> bool {
        self.patterns.is_empty() || (only_sure && !self.has_sure)
    }

    /// Returns the end in the original of the longest pattern that starts here.
    pub(super) fn end_at(&self, skeleton: &Skeleton<'_>, at: usize, only_sure: bool) -> Option<usize> {
        let mut rest = skeleton.text.as_bytes().get(at..)?;
        // The pattern found is the last that is sorted up to the rest. Every pattern that `rest` begins with is also a
        // prefix of this one, so only the shared part has to be searched again.
        loop {
            let last = self.patterns.partition_point(|(pattern, _)| pattern.as_bytes() <= rest).checked_sub(1)?;
            let (pattern, is_sure) = self.patterns.get(last)?;
            let pattern = pattern.as_bytes();
            let mut shared = 0;
            while shared < pattern.len() && pattern.get(shared) == rest.get(shared) {
                shared += 1;
            }
            if shared == pattern.len() {
                let end = skeleton.place(at + shared - 1) + 1;
                let is_found = shared >= SHORTEST_INSIDE || is_alone(skeleton.original, skeleton.place(at), end);
                if is_found && (*is_sure || !only_sure) {
                    return Some(end);
                }
                shared -= 1;
            }
            rest = rest.get(..shared)?;
        }
    }
}

fn is_alone(text: &str, start: usize, end: usize) -> bool {
    let (before, after) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    let mut back = before.chars().rev();
    // The letter of an escape (`\n`) does not belong to a word.
    let joined = back.next().is_some_and(char::is_alphanumeric) && back.next() != Some('\\');
    !joined && !after.starts_with(char::is_alphanumeric)
}
