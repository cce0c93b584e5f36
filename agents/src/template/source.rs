//! The minijinja source of a template. It contains none of the template's text, which is passed in by number, so that
//! text is never evaluated. Each piece of code has its own lines, so that errors can be located by line.

use std::collections::BTreeSet;

use mcp_bindgen_template::{Effect, PieceKind, Place, Template as Parsed, effect};
use minijinja::Value;

use super::slot::Slot;

/// The values of the code; names of templates may not begin like this.
pub(super) const TEXT: &str = "__mcp_text";
pub(super) const PASS: &str = "__mcp_pass";
const COUNTED: &str = "__mcp_count";
/// The last value without a name of its own.
const VALUE: &str = "__mcp_value";
/// The methods of [`PASS`]: the value of a slot; the end of a segment; the number of results, called before blocks; the
/// last value of a name, called after blocks whose names end with them.
pub(super) const SLOT: &str = "slot";
pub(super) const CHECKPOINT: &str = "checkpoint";
pub(super) const COUNT: &str = "count";
pub(super) const LAST: &str = "last";

/// minijinja code, with the position of each of its lines in the template.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) code: String,
    places: Vec<Place>,
    /// The texts, by number.
    pub(super) texts: Value,
    /// The slots, by number.
    pub(super) slots: Vec<Slot>,
}

impl Source {
    /// Compiles a template.
    pub(super) fn of(parsed: &Parsed) -> Self {
        let (mut source, mut texts) = (Self::default(), Vec::new());
        // The open blocks, each with the number of its first slot.
        let mut open: Vec<(&str, usize)> = Vec::new();
        for (number, segment) in parsed.segments.iter().enumerate() {
            if number > 0 {
                source.statement(segment.place, &format!("set {VALUE} = {PASS}.{CHECKPOINT}()"));
            }
            for piece in &segment.pieces {
                let place = piece.place;
                match &piece.kind {
                    PieceKind::Text(text) => {
                        source.print(place, &format!("{TEXT}[{}]", texts.len()));
                        texts.push(Value::from(text));
                    }
                    PieceKind::Expression(code) => source.print(place, inner(code)),
                    PieceKind::Statement(code) => {
                        let effect = effect(inner(code));
                        if let Effect::Opens(block) = effect {
                            source.statement(place, &format!("set {COUNTED}_{} = {PASS}.{COUNT}()", open.len()));
                            open.push((block, source.slots.len()));
                        }
                        source.statement(place, inner(code));
                        if effect == Effect::Closes
                            && let Some(("for" | "with", since)) = open.pop()
                        {
                            source.restore(place, since, open.len());
                        }
                    }
                    _ => Slot::of(piece).into_iter().for_each(|slot| source.slot(slot)),
                }
            }
        }
        source.texts = Value::from(texts);
        source
    }

    /// Returns the position in the template for the line of an error.
    pub(super) fn place(&self, line: Option<usize>) -> Place {
        // The first line is before all code.
        let line = line.map(|line| line.saturating_sub(2).min(self.places.len().saturating_sub(1)));
        line.and_then(|line| self.places.get(line)).copied().unwrap_or(Place { line: 1, column: 1 })
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
        for (after, part) in code.split('\n').enumerate() {
            self.code.push('\n');
            self.code.push_str(part);
            self.places.push(if after == 0 { place } else { Place { line: place.line + after, column: 1 } });
        }
    }

    /// Appends a slot: its value is assigned to the variable, and printed if the slot prints.
    fn slot(&mut self, slot: Slot) {
        let (place, name) = (slot.piece.place, slot.name.as_deref().unwrap_or(VALUE));
        self.code.push_str("{%");
        self.push(place, &format!("set {name} = {PASS}.{SLOT}({}, [", self.slots.len()));
        for (place, code) in &slot.expressions {
            self.push(*place, &format!("({code} ),"));
        }
        self.push(place, "]) %}");
        if slot.prints() {
            self.print(place, name);
        }
        self.slots.push(slot);
    }

    /// Gives variables, which end with their block, their last values after it.
    fn restore(&mut self, place: Place, since: usize, depth: usize) {
        let inside = self.slots.get(since..).unwrap_or_default().iter();
        let names: BTreeSet<String> = inside.filter_map(|slot| slot.name.clone()).collect();
        for name in names {
            self.statement(place, &format!("set {name} = {PASS}.{LAST}(\"{name}\", {COUNTED}_{depth})"));
        }
    }
}

/// Returns the code without its delimiters and their whitespace control.
fn inner(code: &str) -> &str {
    let inner = code.get(2..code.len().saturating_sub(2)).unwrap_or_default();
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    inner.strip_suffix(['-', '+']).unwrap_or(inner)
}
