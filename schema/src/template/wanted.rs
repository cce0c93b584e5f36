//! The names that a template uses and does not give itself.

use std::collections::BTreeMap;

use super::ast::{Argument, OnError, Part, Piece, PieceKind, Place, Template, Term, Text};

/// A name that whoever runs a template has to give, or may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wanted {
    /// Where it is used first.
    pub place: Place,
    /// Whether the template does without it: it asks `x is defined`, or says everywhere `x|default(..)`.
    pub is_optional: bool,
}

impl Template {
    /// All code for minijinja, each with its place; see [`Piece::codes`].
    pub fn codes(&self) -> impl Iterator<Item = (Place, &str)> {
        self.segments.iter().flat_map(|segment| &segment.pieces).flat_map(Piece::codes)
    }

    /// What is wanted, of the names that minijinja finds nowhere assigned before they are used.
    ///
    /// ```
    /// use mcp_schema::template::Template;
    ///
    /// let template = Template::parse("[[@now:time]] {{ time }} {{ name }} {{ note|default(\"\") }}")?;
    /// let wanted = template.wanted(["time", "name", "note"].map(str::to_owned));
    /// assert_eq!(wanted.keys().collect::<Vec<_>>(), ["name", "note"]);
    /// assert!(wanted["note"].is_optional && !wanted["name"].is_optional);
    /// # Ok::<(), Vec<mcp_schema::template::Fault>>(())
    /// ```
    pub fn wanted(&self, undeclared: impl IntoIterator<Item = String>) -> BTreeMap<String, Wanted> {
        let codes: Vec<(Place, &str)> = self.codes().collect();
        let mut wanted = BTreeMap::new();
        for name in undeclared.into_iter().filter(|name| !self.may_give(name)) {
            let mut found = Vec::new();
            for (place, code) in &codes {
                found.extend(uses(code, &name).into_iter().map(|rest| (*place, guard(rest))));
            }
            let is_asked_for = found.iter().any(|(_, guard)| *guard == Some(Guard::Test));
            let is_optional = is_asked_for || (!found.is_empty() && found.iter().all(|(_, guard)| guard.is_some()));
            // Minijinja has found it, so that it is somewhere.
            let place = found.iter().map(|(place, _)| *place).min().unwrap_or(Place { line: 1, column: 1 });
            wanted.insert(name, Wanted { place, is_optional });
        }
        wanted
    }
}

impl Piece {
    /// The code for minijinja in it, each with its place: a statement or an expression with its braces, or the expressions
    /// in a slot.
    #[must_use]
    pub fn codes(&self) -> Vec<(Place, &str)> {
        let (place, mut codes) = (self.place, Vec::new());
        match &self.kind {
            PieceKind::Text(_) => {}
            PieceKind::Expression(code) | PieceKind::Statement(code) => codes.push((place, code.as_str())),
            PieceKind::Action(action) => {
                action.variable.iter().for_each(|text| of_text(text, place, &mut codes));
                of_arguments(&action.arguments, &mut codes);
                if let OnError::Default(term) = &action.on_error {
                    of_term(term, place, &mut codes);
                }
            }
            PieceKind::Completion(completion) => {
                of_text(&completion.variable, place, &mut codes);
                of_arguments(&completion.options, &mut codes);
            }
        }
        codes
    }
}

fn of_arguments<'t>(arguments: &'t [Argument], codes: &mut Vec<(Place, &'t str)>) {
    for argument in arguments {
        of_term(&argument.value, argument.place, codes);
    }
}

fn of_term<'t>(term: &'t Term, place: Place, codes: &mut Vec<(Place, &'t str)>) {
    match term {
        Term::Literal(_) => {}
        Term::Text(text) => of_text(text, place, codes),
        Term::Variable(code) => codes.push((place, code)),
        Term::List(items) => items.iter().for_each(|item| of_term(item, place, codes)),
        Term::Object(members) => members.iter().for_each(|(_, member)| of_term(member, place, codes)),
    }
}

fn of_text<'t>(text: &'t Text, place: Place, codes: &mut Vec<(Place, &'t str)>) {
    for part in &text.parts {
        if let Part::Expression(code) = part {
            codes.push((place, code));
        }
    }
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
