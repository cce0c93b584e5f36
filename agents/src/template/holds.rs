//! The variables that control flow reads, so that it waits for them.

use std::collections::HashMap;

use mcp_bindgen_template::Place;

use super::slot::Slot;

/// A statement that must not be evaluated while something that it reads is still to come.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) place: Place,
    /// The names that it reads and that slots of its segment may give.
    pub(super) names: Vec<String>,
    /// Those of them that slots behind it give alone.
    pub(super) late: Vec<String>,
    /// The number of the next slot.
    before: usize,
}

impl Hold {
    pub(super) fn new(place: Place, before: usize, statement: &str) -> Self {
        let mut hold = Self { place, names: Vec::new(), late: Vec::new(), before };
        hold.also(statement);
        hold
    }

    /// Takes in what other code reads that runs with the statement.
    pub(super) fn also(&mut self, code: &str) {
        self.names.extend(reads(code).into_iter().map(str::to_owned));
    }

    /// Leaves the names that slots may give.
    pub(super) fn settle(&mut self, given: &Given<'_>) {
        self.names.sort();
        self.names.dedup();
        let mut late = Vec::new();
        self.names.retain(|name| {
            let first = given.first(name);
            if first.is_some_and(|first| first >= self.before) {
                late.push(name.clone());
            }
            first.is_some()
        });
        self.late = late;
    }
}

/// The names that the slots of a segment give.
pub(super) struct Given<'s> {
    /// By names, the number of the first slot that gives it.
    names: HashMap<&'s str, usize>,
    /// Those with expressions in their names.
    dynamic: Vec<(usize, &'s Slot)>,
}

impl<'s> Given<'s> {
    /// By all slots, and the number of the segment's first.
    pub(super) fn of(slots: &'s [Slot], first: usize) -> Self {
        let (mut names, mut dynamic) = (HashMap::new(), Vec::new());
        for (number, slot) in slots.iter().enumerate().skip(first) {
            match slot.name.as_deref() {
                Some(name) => drop(names.entry(name).or_insert(number)),
                None => dynamic.push((number, slot)),
            }
        }
        Self { names, dynamic }
    }

    fn first(&self, name: &str) -> Option<usize> {
        let dynamic = self.dynamic.iter().find(|(_, slot)| slot.may_give(name)).map(|(number, _)| *number);
        self.names.get(name).copied().into_iter().chain(dynamic).min()
    }
}

/// The names that a statement or an expression, without its braces, may read: all of its words that are no part of a text,
/// no attribute, no filter, no test, and nothing that is assigned.
fn reads(code: &str) -> Vec<&str> {
    let words = words(code);
    let assigned = match words.first().map(|word| word.text) {
        Some("set") => words.iter().position(|word| word.begins > code.find('=').unwrap_or(code.len())),
        Some("for") => words.iter().position(|word| word.text == "in").map(|at| at + 1),
        _ => Some(0),
    };
    let assigned = assigned.unwrap_or(words.len());
    let targets: Vec<&str> = words.iter().take(assigned).map(|word| word.text).collect();
    let read = words.iter().skip(assigned).filter(|word| word.is_read && !targets.contains(&word.text));
    let is_set = targets.first() == Some(&"set");
    // `{% set x = x + 1 %}` reads what it sets.
    let again = words.iter().skip(assigned).filter(|word| is_set && word.is_read && targets.contains(&word.text));
    read.chain(again).map(|word| word.text).collect()
}

struct Word<'c> {
    text: &'c str,
    begins: usize,
    is_read: bool,
}

fn words(code: &str) -> Vec<Word<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words: Vec<Word<'_>> = Vec::new();
    let (mut quote, mut before, mut is_test) = (None, ' ', false);
    let mut characters = code.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if let Some(open) = quote {
            match character {
                '\\' => drop(characters.next()),
                _ if character == open => quote = None,
                _ => {}
            }
            continue;
        }
        if is_word(character) {
            while characters.next_if(|(_, c)| is_word(*c)).is_some() {}
            let ends = characters.peek().map_or(code.len(), |(at, _)| *at);
            let text = code.get(at..ends).unwrap_or_default();
            let rest = code.get(ends..).unwrap_or_default().trim_start();
            let is_assigned = rest.starts_with('=') && !rest.starts_with("==");
            let is_read = !matches!(before, '.' | '|') && !is_test && !is_assigned;
            is_test = (text == "is" && before != '.') || (is_test && text == "not");
            words.push(Word { text, begins: at, is_read });
            before = 'a';
        } else if !character.is_whitespace() {
            (before, is_test) = (character, false);
            quote = matches!(character, '"' | '\'').then_some(character);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_seen() {
        for (code, names) in [
            ("if x is defined", "if x is"),
            ("elif x.y is not ne z|d(w)", "elif x is z w"),
            ("set x = x|default('y')", "x"),
            ("set a, b = c", "c"),
            ("for p in ps if p.ok and q", "ps if and q"),
            ("with a = b, c = 1", "with b 1"),
            ("if x == 'a\\'b' ~ b", "if x b"),
            ("do f(k=v)", "do f v"),
            ("set x", ""),
        ] {
            assert_eq!(reads(code).join(" "), names, "{code}");
        }
    }
}
