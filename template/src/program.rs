//! A template as a program of minijinja, for runs and for checks by minijinja. It contains none of the template's text,
//! which is passed in by number, so that text is never evaluated. Each piece of code has its own lines, so that errors
//! can be located by line.

use std::collections::BTreeSet;

use mcp_bindgen_model::printable;
use minijinja::{Environment, Error};

use crate::ast::{Piece, PieceKind, Template};
use crate::blocks::{Effect, effect};
use crate::fault::{Fault, MOST_FAULTS, Place};
use crate::slots::SlotKind;
use crate::vocabulary::{RESERVED, is_variable};

/// The last value without a name of its own.
const VALUE: &str = "__mcp_value";
const COUNTED: &str = "__mcp_count";

/// minijinja code, with the position of each of its lines in the template.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Program {
    /// The code. Its values are [`TEXT`](Self::TEXT) and [`PASS`](Self::PASS).
    pub code: String,
    /// The texts, by number.
    pub texts: Vec<String>,
    /// The slots, by number.
    pub slots: Vec<Piece>,
    places: Vec<Place>,
}

impl Program {
    /// The value with the texts.
    pub const TEXT: &str = "__mcp_text";
    /// The value with these methods.
    pub const PASS: &str = "__mcp_pass";
    /// Returns the value of a slot: its number, and the values of its [expressions](Piece::codes).
    pub const SLOT: &str = "slot";
    /// Ends a segment.
    pub const CHECKPOINT: &str = "checkpoint";
    /// Returns the number of results, before a block.
    pub const COUNT: &str = "count";
    /// Returns the last value of a name that ended with its block: the name, and the number of results before the block.
    pub const LAST: &str = "last";

    /// Compiles a template.
    #[must_use]
    pub fn new(template: &Template) -> Self {
        let mut program = Self::default();
        // The open blocks, each with the number of its first slot.
        let mut open: Vec<(&str, usize)> = Vec::new();
        for (number, segment) in template.segments.iter().enumerate() {
            if number > 0 {
                program.statement(segment.place, &format!("set {VALUE} = {}.{}()", Self::PASS, Self::CHECKPOINT));
            }
            for piece in &segment.pieces {
                let place = piece.place;
                match &piece.kind {
                    PieceKind::Text(text) => {
                        program.print(place, &format!("{}[{}]", Self::TEXT, program.texts.len()));
                        program.texts.push(text.clone());
                    }
                    PieceKind::Expression(code) => program.print(place, inner(code)),
                    PieceKind::Statement(code) => {
                        let effect = effect(inner(code));
                        if let Effect::Opens(block) = effect {
                            let count = format!("{}.{}()", Self::PASS, Self::COUNT);
                            program.statement(place, &format!("set {COUNTED}_{} = {count}", open.len()));
                            open.push((block, program.slots.len()));
                        }
                        program.statement(place, inner(code));
                        if effect == Effect::Closes
                            && let Some(("for" | "with", since)) = open.pop()
                        {
                            program.restore(place, since, open.len());
                        }
                    }
                    PieceKind::Action(_) | PieceKind::Completion(_) => program.slot(piece),
                }
            }
        }
        program
    }

    /// Returns the position in the template for the line of an error.
    #[must_use]
    pub fn place(&self, line: Option<usize>) -> Place {
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
            self.places.push(below(place, after));
        }
    }

    /// Appends a slot: its value is assigned to the variable, and printed if the slot prints.
    fn slot(&mut self, piece: &Piece) {
        let (place, name) = (piece.place, piece.variable().unwrap_or(VALUE));
        self.code.push_str("{%");
        self.push(place, &format!("set {VALUE} = {}.{}({}, [", Self::PASS, Self::SLOT, self.slots.len()));
        for (place, code) in piece.codes() {
            self.push(place, &format!("({code} ),"));
        }
        self.push(place, "]) %}");
        if name != VALUE {
            // minijinja takes a name for assigned in its own statement, so that its use in the slot would not be found.
            self.statement(place, &format!("set {name} = {VALUE}"));
        }
        if !matches!(piece.kind.slot(), Some(SlotKind::Action(action)) if action.variable.is_some()) {
            self.print(place, name);
        }
        self.slots.push(piece.clone());
    }

    /// Gives variables, which end with their block, their last values after it.
    fn restore(&mut self, place: Place, since: usize, depth: usize) {
        let inside = self.slots.get(since..).unwrap_or_default().iter();
        let names: BTreeSet<String> = inside.filter_map(Piece::variable).map(str::to_owned).collect();
        for name in names {
            let last = format!("{}.{}(\"{name}\", {COUNTED}_{depth})", Self::PASS, Self::LAST);
            self.statement(place, &format!("set {name} = {last}"));
        }
    }
}

/// Returns the place of code that many lines after its start.
fn below(start: Place, lines: usize) -> Place {
    if lines == 0 { start } else { Place { line: start.line + lines, column: 1 } }
}

impl Piece {
    /// Returns the name of a slot's result, if it is constant and templates can use it.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        self.kind.slot()?.name().filter(|name| is_variable(name))
    }
}

/// Returns the code without its delimiters and their whitespace control.
fn inner(code: &str) -> &str {
    let inner = code.get(2..code.len().saturating_sub(2)).unwrap_or_default();
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    inner.strip_suffix(['-', '+']).unwrap_or(inner)
}

impl Template {
    /// Checks the code of a template, which was `compiled` by minijinja. Returns the names that are used before anything
    /// is assigned to them, without the globals of the environment.
    ///
    /// # Errors
    /// The faults, in the order of the text: at most twenty.
    pub fn undeclared(
        &self,
        program: &Program,
        environment: &Environment<'_>,
        compiled: Result<minijinja::Template<'_, '_>, Error>,
    ) -> Result<BTreeSet<String>, Vec<Fault>> {
        // Each expression by itself, so that none in a slot can close the brackets around it.
        let invalid = |piece: &Piece| {
            let codes = piece.codes().into_iter().filter_map(|(place, code)| {
                if matches!(piece.kind, PieceKind::Expression(_)) {
                    let error = environment.template_from_str(code).err()?;
                    let lines = error.line().unwrap_or_default().saturating_sub(1);
                    return Some(Fault::new(below(place, lines), in_words(&error)));
                }
                let error = environment.compile_expression(code).err()?;
                Some(Fault::new(place, format!("invalid expression `{}`: {}", code.trim(), in_words(&error))))
            });
            codes.collect::<Vec<_>>()
        };
        let needs_check = |piece: &&Piece| match piece.kind {
            PieceKind::Statement(_) => false,
            PieceKind::Expression(_) => compiled.is_err(),
            _ => true,
        };
        let pieces = self.segments.iter().flat_map(|segment| &segment.pieces);
        let mut faults: Vec<Fault> = pieces.filter(needs_check).flat_map(invalid).take(MOST_FAULTS).collect();
        if !faults.is_empty() {
            faults.sort_by_key(|fault| fault.place);
            faults.dedup();
            return Err(faults);
        }
        let code = compiled.map_err(|error| vec![Fault::new(program.place(error.line()), in_words(&error))])?;
        let is_global = |name: &String| environment.globals().any(|(global, _)| global == name);
        let names = code.undeclared_variables(false).into_iter();
        Ok(names.filter(|name| !is_global(name) && !name.starts_with(RESERVED)).collect())
    }
}

/// minijinja's own words; the place is the template's.
fn in_words(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {}", error.kind(), printable(detail)),
        None => error.kind().to_string(),
    }
}
