//! The texts that minijinja runs for a segment. None of the template's text is in them: text comes in by its number, so that
//! it is what it is whatever it looks like, and each piece of code stands in lines of its own, so that a line says which.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_bindgen_template::{Piece, PieceKind, Place, Segment};
use minijinja::Value;

use super::holds::{Given, Hold};
use super::slot::{Dynamic, Slot};

/// The function that a segment's code calls and reads; no name of a template begins so.
pub(super) const SLOT: &str = "__mcp_slot";
pub(super) const IS_READY: &str = "__mcp_is_ready";
pub(super) const TEXT: &str = "__mcp_text";
pub(super) const HOLD: &str = "__mcp_hold";
pub(super) const LAST: &str = "__mcp_last";
/// The value of a variable before its action has run: nothing is called so.
const UNSET: &str = "__mcp_unset";
/// The name of values that nobody reads.
const UNREAD: &str = "__mcp_unread";

/// Statements that have an end.
const BLOCKS: [&str; 8] = ["if", "for", "with", "set", "autoescape", "filter", "macro", "call"];

/// Code for minijinja, and where each of its lines comes from.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) code: String,
    places: Vec<Place>,
}

impl Source {
    /// Where the line of an error is in the template.
    pub(super) fn place(&self, line: Option<usize>) -> Option<Place> {
        // The first line is before all code.
        let line = line?.saturating_sub(2).min(self.places.len().checked_sub(1)?);
        self.places.get(line).copied()
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.code.push_str(&other.code);
        self.places.extend(&other.places);
    }

    /// Code that stands between delimiters, where newlines mean nothing.
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
}

/// A segment as it is run.
#[derive(Debug)]
pub(super) struct Compiled {
    /// Statements and slots alone: what is to be called.
    pub(super) collecting: Source,
    /// All of it.
    pub(super) whole: Source,
    /// The text, by numbers.
    pub(super) texts: Value,
    pub(super) holds: Arc<[Hold]>,
}

/// A block that is open.
struct Open<'t> {
    keyword: &'t str,
    /// Its own hold, where it has one.
    hold: Option<usize>,
    /// The number of the first slot in it.
    slots: usize,
}

impl Compiled {
    /// Slots are added to those of the segments before.
    pub(super) fn of(segment: &Segment, slots: &mut Vec<Slot>) -> Self {
        let (mut collecting, mut whole, mut texts) = (Source::default(), Source::default(), Vec::new());
        let first = slots.len();
        let (mut holds, mut open): (Vec<Hold>, Vec<Open<'_>>) = (Vec::new(), Vec::new());
        for (at, piece) in segment.pieces.iter().enumerate() {
            // What is within `{% set x %}` is text that becomes a value, which slots may use.
            let captured = open.iter().find(|open| open.keyword == "set").and_then(|open| open.hold);
            let print = |source: &mut Source, code: &str| {
                source.code.push_str("{{");
                source.push(piece.place, code);
            };
            match &piece.kind {
                PieceKind::Text(text) => {
                    let before = at.checked_sub(1).and_then(|before| segment.pieces.get(before));
                    let text = trimmed(text, before, segment.pieces.get(at + 1));
                    let code = format!("{TEXT}[{}]}}}}", texts.len());
                    texts.push(Value::from(text));
                    print(&mut whole, &code);
                    if captured.is_some() {
                        print(&mut collecting, &code);
                    }
                }
                PieceKind::Expression(code) => {
                    let inner = inner(code);
                    let code = format!("{inner} }}}}");
                    print(&mut whole, &code);
                    if let Some(hold) = captured {
                        holds.get_mut(hold).into_iter().for_each(|hold| hold.also(inner));
                        print(&mut collecting, &code);
                    }
                }
                PieceKind::Statement(code) => {
                    let inner = inner(code);
                    let keyword = inner.split(|c: char| !c.is_alphanumeric() && c != '_').find(|word| !word.is_empty());
                    let keyword = keyword.unwrap_or_default();
                    let opens = BLOCKS.contains(&keyword) && (keyword != "set" || opens_block(inner));
                    let mut own = None;
                    match captured.or_else(|| open.last().filter(|_| keyword == "elif").and_then(|open| open.hold)) {
                        // What it belongs to waits for it.
                        Some(hold) => holds.get_mut(hold).into_iter().for_each(|hold| hold.also(inner)),
                        None if opens || matches!(keyword, "set" | "do") => {
                            own = Some(holds.len());
                            for source in [&mut whole, &mut collecting] {
                                source.code.push_str("{%");
                                source.push(piece.place, &format!("set {UNREAD} = {HOLD}({}) %}}", holds.len()));
                            }
                            holds.push(Hold::new(piece.place, slots.len(), inner));
                        }
                        None => {}
                    }
                    for source in [&mut whole, &mut collecting] {
                        source.code.push_str("{%");
                        source.push(piece.place, &format!("{inner} %}}"));
                    }
                    if opens {
                        open.push(Open { keyword, hold: own, slots: slots.len() });
                    } else if keyword.strip_prefix("end").is_some_and(|name| BLOCKS.contains(&name))
                        && let Some(Open { keyword: "for" | "with", hold: Some(hold), slots: since }) = open.pop()
                    {
                        // Names of the block end with it: outside they are what they were last.
                        let names =
                            slots.get(since..).unwrap_or_default().iter().filter_map(|slot| slot.name.as_deref());
                        for name in names.collect::<BTreeSet<_>>() {
                            for source in [&mut whole, &mut collecting] {
                                source.code.push_str("{%");
                                source.push(piece.place, &format!("set {name} = {LAST}({hold}, \"{name}\") %}}"));
                            }
                        }
                    }
                }
                PieceKind::Action(action) => slots.push(Slot::of_action(piece.place, action)),
                PieceKind::Completion(completion) => slots.push(Slot::of_completion(piece.place, completion)),
                // The language has no other pieces.
                _ => {}
            }
            let number = slots.len().saturating_sub(1);
            if matches!(piece.kind, PieceKind::Action(_) | PieceKind::Completion(_))
                && let Some(slot) = slots.last_mut()
            {
                slot.in_loop = open.iter().any(|open| open.keyword == "for");
                collect(&mut collecting, slot, number);
                run(&mut whole, slot, number);
            }
        }
        let given = Given::of(slots, first);
        holds.iter_mut().for_each(|hold| hold.settle(&given));
        Self { collecting, whole, texts: Value::from(texts), holds: holds.into() }
    }
}

/// Adds the code before a variable's value is there.
fn collect(source: &mut Source, slot: &Slot, number: usize) {
    source.code.push_str("{%");
    source.push(slot.place, &format!("set {} = ", slot.name.as_deref().unwrap_or(UNREAD)));
    call(source, slot, number);
    source.push(slot.place, &format!("if {IS_READY}({number}) else {UNSET} %}}"));
}

fn run(source: &mut Source, slot: &Slot, number: usize) {
    match &slot.name {
        None if slot.prints => {
            source.code.push_str("{{");
            call(source, slot, number);
            source.code.push_str("}}");
        }
        name => {
            source.code.push_str("{%");
            source.push(slot.place, &format!("set {} = ", name.as_deref().unwrap_or(UNREAD)));
            call(source, slot, number);
            source.code.push_str("%}");
            if let Some(name) = name.as_deref().filter(|_| slot.prints) {
                source.code.push_str("{{");
                source.push(slot.place, &format!("{name}}}}}"));
            }
        }
    }
}

/// The call of a slot, with all that has to be evaluated for it.
fn call(source: &mut Source, slot: &Slot, number: usize) {
    source.push(slot.place, &format!("{SLOT}({number}, ["));
    for Dynamic { place, code } in &slot.dynamics {
        source.push(*place, &format!("({code} ),"));
    }
    source.push(slot.place, "])");
}

/// Code without its delimiters, and without what they say of the text around them.
fn inner(code: &str) -> &str {
    let inner = code.get(2..code.len().saturating_sub(2)).unwrap_or_default();
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    inner.strip_suffix(['-', '+']).unwrap_or(inner)
}

/// Text as the code beside it leaves it: `-%}` and `{%-` take space away.
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

/// Returns `true` if `set` is that of a block: nothing is assigned in it.
fn opens_block(statement: &str) -> bool {
    let targets = statement.trim_start().strip_prefix("set").unwrap_or_default();
    let is_target = |c: char| c.is_alphanumeric() || c.is_whitespace() || matches!(c, '_' | ',' | '.' | '(' | ')');
    !targets.trim_start_matches(is_target).starts_with('=')
}
