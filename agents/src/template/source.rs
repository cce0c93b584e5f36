//! The minijinja source of a segment. It contains none of the template's text, which is passed in by number, so that
//! text is never evaluated. Each piece of code has its own lines, so that errors can be located by line.

use std::collections::BTreeSet;

use mcp_bindgen_template::{Effect, Piece, PieceKind, Place, Segment, effect};
use minijinja::Value;

use super::slot::{Dynamic, Kind, Slot};

/// The values of the code; names of templates may not begin like this.
pub(super) const TEXT: &str = "__mcp_text";
pub(super) const PASS: &str = "__mcp_pass";
const COUNTED: &str = "__mcp_count";
/// The methods of [`PASS`]: the value of a slot; the number of results, called before blocks; the last value of a name,
/// called after blocks whose names end with them.
pub(super) const SLOT: &str = "slot";
pub(super) const COUNT: &str = "count";
pub(super) const LAST: &str = "last";
/// The name of unused values.
const UNREAD: &str = "__mcp_unread";

/// minijinja code, with the position of each of its lines in the template.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) code: String,
    places: Vec<Place>,
}

impl Source {
    /// Returns the position in the template for the line of an error.
    pub(super) fn place(&self, line: Option<usize>) -> Option<Place> {
        // The first line is before all code.
        let line = line?.saturating_sub(2).min(self.places.len().checked_sub(1)?);
        self.places.get(line).copied()
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.code.push_str(&other.code);
        self.places.extend(&other.places);
    }

    fn print(&mut self, place: Place, expression: &str) {
        self.code.push_str("{{");
        self.push(place, expression);
        self.code.push_str(" }}");
    }

    fn statement(&mut self, place: Place, statement: &str) {
        self.code.push_str("{%");
        self.push(place, statement);
        self.code.push_str(" %}");
    }

    /// Appends code between delimiters, where newlines are ignored.
    fn push(&mut self, place: Place, code: &str) {
        self.code.push('\n');
        self.places.push(place);
        for (after, part) in code.split('\n').enumerate() {
            if after > 0 {
                self.code.push('\n');
                self.places.push(Place { line: place.line + after, column: 1 });
            }
            self.code.push_str(part);
        }
    }

    /// Appends a slot: its value is assigned to the variable, and printed if the slot prints.
    fn slot(&mut self, slot: &Slot, number: usize) {
        match &slot.name {
            None if slot.prints => {
                self.code.push_str("{{");
                self.call(slot, number);
                self.code.push_str("}}");
            }
            name => {
                self.code.push_str("{%");
                self.push(slot.place, &format!("set {} = ", name.as_deref().unwrap_or(UNREAD)));
                self.call(slot, number);
                self.code.push_str("%}");
                if let Some(name) = name.as_deref().filter(|_| slot.prints) {
                    self.print(slot.place, name);
                }
            }
        }
    }

    /// Appends the call of a slot, with the expressions to evaluate.
    fn call(&mut self, slot: &Slot, number: usize) {
        self.push(slot.place, &format!("{PASS}.{SLOT}({number}, ["));
        for Dynamic { place, code } in &slot.dynamics {
            self.push(*place, &format!("({code} ),"));
        }
        self.push(slot.place, "])");
    }
}

/// The code and text of a segment.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) source: Source,
    /// The text, by number.
    pub(super) texts: Value,
}

impl Compiled {
    /// Compiles a segment, and appends its slots to `slots`.
    pub(super) fn of(segment: &Segment, slots: &mut Vec<Slot>) -> Self {
        let (mut source, mut texts) = (Source::default(), Vec::new());
        // The open blocks, each with the number of its first slot.
        let mut open: Vec<(&str, usize)> = Vec::new();
        for (at, piece) in segment.pieces.iter().enumerate() {
            let place = piece.place;
            let mut add = |kind: Kind| {
                let slot = Slot::new(place, kind);
                source.slot(&slot, slots.len());
                slots.push(slot);
            };
            match &piece.kind {
                PieceKind::Text(text) => {
                    let before = at.checked_sub(1).and_then(|before| segment.pieces.get(before));
                    source.print(place, &format!("{TEXT}[{}]", texts.len()));
                    texts.push(Value::from(trimmed(text, before, segment.pieces.get(at + 1))));
                }
                PieceKind::Expression(code) => source.print(place, inner(code)),
                PieceKind::Statement(code) => {
                    let effect = effect(inner(code));
                    if let Effect::Opens(block) = effect {
                        source.statement(place, &format!("set {COUNTED}_{} = {PASS}.{COUNT}()", open.len()));
                        open.push((block, slots.len()));
                    }
                    source.statement(place, inner(code));
                    if effect == Effect::Closes
                        && let Some(("for" | "with", since)) = open.pop()
                    {
                        // Variables end with their block: after it they get their last values.
                        let inside = slots.get(since..).unwrap_or_default().iter();
                        for name in inside.filter_map(|slot| slot.name.as_deref()).collect::<BTreeSet<_>>() {
                            let last = format!("{PASS}.{LAST}(\"{name}\", {COUNTED}_{})", open.len());
                            source.statement(place, &format!("set {name} = {last}"));
                        }
                    }
                }
                PieceKind::Action(action) => add(Kind::Action(action.clone())),
                PieceKind::Completion(completion) => add(Kind::Completion(completion.clone())),
                // There are no other pieces.
                _ => {}
            }
        }
        Self { source, texts: Value::from(texts) }
    }
}

/// Returns the code without its delimiters and their whitespace control.
fn inner(code: &str) -> &str {
    let inner = code.get(2..code.len().saturating_sub(2)).unwrap_or_default();
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    inner.strip_suffix(['-', '+']).unwrap_or(inner)
}

/// Trims text next to `-%}` and `{%-`.
fn trimmed<'t>(text: &'t str, before: Option<&Piece>, after: Option<&Piece>) -> &'t str {
    let takes_after = before.is_some_and(|piece| {
        says(piece, |code| code.get(..code.len().saturating_sub(2)).is_some_and(|code| code.ends_with('-')))
    });
    let takes_before =
        after.is_some_and(|piece| says(piece, |code| code.get(2..).is_some_and(|code| code.starts_with('-'))));
    let text = if takes_after { text.trim_start() } else { text };
    if takes_before { text.trim_end() } else { text }
}

fn says(piece: &Piece, says: impl Fn(&str) -> bool) -> bool {
    match &piece.kind {
        PieceKind::Expression(code) | PieceKind::Statement(code) => says(code),
        _ => false,
    }
}
