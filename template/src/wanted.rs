//! The variables that a template uses and does not set.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{Part, Piece, PieceKind, Template, Term, Text};
use crate::fault::{Fault, Place};
use crate::slots::Given;
use crate::words::{Role, Word, first_word, is_word, words};

/// A variable that the caller of a template must or may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wanted {
    /// Its first use.
    pub place: Place,
    /// `true` if the variable is optional: the template tests `x is defined`, or uses only `x|default(..)`.
    pub is_optional: bool,
}

impl Template {
    /// Returns all minijinja code, with its positions; see [`Piece::codes`].
    pub fn codes(&self) -> impl Iterator<Item = (Place, &str)> {
        self.segments.iter().flat_map(|segment| &segment.pieces).flat_map(Piece::codes)
    }

    /// Returns the variables that a template needs, from the names that minijinja reports as undeclared.
    ///
    /// ```
    /// use mcp_bindgen_template::Template;
    ///
    /// let template = Template::parse("[[@now:time]] {{ time }} {{ name }} {{ note|default(\"\") }}")?;
    /// let wanted = template.wanted(["time", "name", "note"].map(str::to_owned));
    /// assert_eq!(wanted.keys().collect::<Vec<_>>(), ["name", "note"]);
    /// assert!(wanted["note"].is_optional && !wanted["name"].is_optional);
    /// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
    /// ```
    pub fn wanted(&self, undeclared: impl IntoIterator<Item = String>) -> BTreeMap<String, Wanted> {
        let given = self.given();
        let undeclared = undeclared.into_iter().filter(|name| !given.has(name));
        let mut uses: BTreeMap<String, Vec<(Place, Guard)>> = undeclared.map(|name| (name, Vec::new())).collect();
        for (place, code) in self.codes() {
            for word in variables(code) {
                if let Some(uses) = uses.get_mut(word.text) {
                    uses.push((place, guard(word.rest)));
                }
            }
        }
        let wanted = |uses: Vec<(Place, Guard)>| {
            let has = |guard: Guard| uses.iter().any(|(_, of_use)| *of_use == guard);
            let is_optional = has(Guard::Test) || (has(Guard::Default) && !has(Guard::None));
            // Minijinja has found it, so that it is somewhere.
            let place = uses.iter().map(|(place, _)| *place).min().unwrap_or(Place { line: 1, column: 1 });
            Wanted { place, is_optional }
        };
        uses.into_iter().map(|(name, uses)| (name, wanted(uses))).collect()
    }

    /// Returns the names that are used before their slots, from the names that minijinja reports as undeclared; each
    /// with an error at its first use.
    ///
    /// ```
    /// use mcp_bindgen_template::Template;
    ///
    /// let template = Template::parse("{{ time }} [[@now:time]] {{ time }}")?;
    /// let late = template.late(&["time".to_owned()].into());
    /// assert_eq!(late["time"].to_string(), "1:1: `time` is used here, before the slot that gives it: move the slot up");
    /// # Ok::<(), Vec<mcp_bindgen_template::Fault>>(())
    /// ```
    pub fn late(&self, undeclared: &BTreeSet<String>) -> BTreeMap<String, Fault> {
        let (all, mut before, mut late) = (self.given(), Given::default(), BTreeMap::new());
        for piece in self.segments.iter().flat_map(|segment| &segment.pieces) {
            for (place, code) in piece.codes() {
                for word in variables(code) {
                    if undeclared.contains(word.text) && all.has(word.text) && !before.has(word.text) {
                        let name = word.text;
                        let message = format!("`{name}` is used here, before the slot that gives it: move the slot up");
                        late.entry(name.to_owned()).or_insert(Fault::new(place, message));
                    }
                }
            }
            piece.kind.slot().into_iter().for_each(|slot| before.add(slot));
        }
        late
    }
}

/// Returns the uses of variables in code, without the targets of assignments and the names of arguments.
fn variables(code: &str) -> impl Iterator<Item = Word<'_>> {
    let is_assigned = |rest: &str| {
        let after = rest.trim_start();
        after.starts_with('=') && !after.starts_with("==")
    };
    words(code).filter(move |word| word.role == Role::Name && !is_assigned(word.rest))
}

/// The way in which a use of a variable allows that it is missing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    None,
    /// `x|default(..)`
    Default,
    /// `x is defined`
    Test,
}

/// Returns the guard of a use; `rest` is the code after the variable.
fn guard(rest: &str) -> Guard {
    let rest = rest.trim_start_matches(|c: char| is_word(c) || c == '.').trim_start();
    match rest.strip_prefix('|') {
        Some(filter) if matches!(first_word(filter), "default" | "d") => Guard::Default,
        None if first_word(rest) == "is" => match words(rest).nth(1) {
            Some(Word { role: Role::Test, text: "defined" | "undefined", .. }) => Guard::Test,
            _ => Guard::None,
        },
        _ => Guard::None,
    }
}

impl Piece {
    /// Returns its minijinja code with positions: a statement or an expression with its braces, or the expressions of
    /// a slot.
    #[must_use]
    pub fn codes(&self) -> Vec<(Place, &str)> {
        let mut codes = Vec::new();
        if let PieceKind::Expression(code) | PieceKind::Statement(code) = &self.kind {
            codes.push((self.place, code.as_str()));
        }
        if let Some(slot) = self.kind.slot() {
            slot.variable().into_iter().for_each(|text| of_text(text, self.place, &mut codes));
            slot.arguments().iter().for_each(|argument| of_term(&argument.value, argument.place, &mut codes));
            slot.default().into_iter().for_each(|term| of_term(term, self.place, &mut codes));
        }
        codes
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_is_optional_only_if_every_use_is_guarded() {
        let wanted = |code: &str| {
            let mut template = Template::parse("{{ x }}").unwrap();
            template.segments[0].pieces[0].kind = PieceKind::Expression(code.to_owned());
            template.wanted(["x".to_owned()])["x"].is_optional
        };
        let guarded = [
            "x|default('a')",
            "x.y | d(1)",
            "{% if x is defined %}",
            "x is not defined",
            "x is undefined",
            "x|d(1) ~ a.x ~ 'x' ~ \"\\\"x\" ~ xy ~ f(x=1)",
        ];
        for guards in guarded {
            assert!(wanted(guards), "{guards}");
        }
        for bare in ["x", "x|upper", "x is none", "y if x else z", "x|default(1) ~ x", "x|defaulted", "x == 1"] {
            assert!(!wanted(bare), "{bare}");
        }
    }
}
