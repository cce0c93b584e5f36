//! The variables that a template uses and does not set.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{Argument, OnError, Part, Piece, PieceKind, Template, Term, Text};
use crate::fault::{Fault, Place};
use crate::slots::Given;
use crate::words::{Role, first_word, is_word, words};

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
        let mut found: BTreeMap<String, Uses> = undeclared.map(|name| (name, Uses::default())).collect();
        for (place, code) in self.codes() {
            for word in words(code).filter(|word| word.role == Role::Name) {
                if let Some(uses) = found.get_mut(word.text) {
                    uses.add(place, word.rest);
                }
            }
        }
        found.into_iter().map(|(name, uses)| (name, uses.wanted())).collect()
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
                for word in words(code).filter(|word| word.role == Role::Name && !is_assigned(word.rest)) {
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

/// Returns `true` if this follows the target of an assignment or the name of an argument.
fn is_assigned(rest: &str) -> bool {
    let after = rest.trim_start();
    after.starts_with('=') && !after.starts_with("==")
}

/// The uses of a name as a variable.
#[derive(Debug, Default)]
struct Uses {
    first: Option<Place>,
    is_asked_for: bool,
    is_bare: bool,
}

impl Uses {
    /// Adds a use; `rest` is the code after it.
    fn add(&mut self, place: Place, rest: &str) {
        if is_assigned(rest) {
            return;
        }
        self.first = Some(self.first.map_or(place, |first| first.min(place)));
        let rest = rest.trim_start_matches(|c: char| is_word(c) || c == '.').trim_start();
        let is_asked_for = is_asked_for(rest);
        self.is_asked_for |= is_asked_for;
        self.is_bare |= !is_asked_for && !has_default(rest);
    }

    fn wanted(self) -> Wanted {
        // Minijinja has found it, so that it is somewhere.
        let place = self.first.unwrap_or(Place { line: 1, column: 1 });
        Wanted { place, is_optional: self.is_asked_for || (self.first.is_some() && !self.is_bare) }
    }
}

impl Piece {
    /// Returns its minijinja code with positions: a statement or an expression with its braces, or the expressions of
    /// a slot.
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

/// Returns `true` if `|default(..)` follows a name.
fn has_default(rest: &str) -> bool {
    rest.strip_prefix('|').is_some_and(|filter| matches!(first_word(filter), "default" | "d"))
}

/// Returns `true` if `is defined`, or its like, follows a name.
fn is_asked_for(rest: &str) -> bool {
    if first_word(rest) != "is" {
        return false;
    }
    let test = rest.get(2..).unwrap_or_default().trim_start();
    let test = if first_word(test) == "not" { test.get(3..).unwrap_or_default() } else { test };
    matches!(first_word(test), "defined" | "undefined")
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
