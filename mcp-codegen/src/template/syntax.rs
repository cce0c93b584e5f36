//! Checks by minijinja: whether the statements and expressions of a template are right, and which variables they use.

use std::collections::{BTreeMap, BTreeSet};

use mcp_bindgen_model::printable;
use mcp_bindgen_template::{Fault, MOST_FAULTS, PieceKind, Place, Segment, Template, Wanted};
use minijinja::{Environment, Error};

/// Returns the variables that a template uses but does not set, or the faults of its minijinja code.
pub(super) fn undeclared(template: &Template) -> Result<BTreeMap<String, Wanted>, Vec<Fault>> {
    let environment = Environment::new();
    let mut faults = Vec::new();
    let mut whole = Source::default();
    for segment in &template.segments {
        if faults.len() >= MOST_FAULTS {
            break;
        }
        let source = Source::of(segment, &environment, &mut faults);
        if let Err(error) = environment.template_from_str(&source.text) {
            faults.push(Fault::new(source.place(&error, segment.place), in_words(&error)));
        }
        // Variables of a segment are available in later ones.
        whole.text.push_str(&source.text);
    }
    if !faults.is_empty() {
        faults.truncate(MOST_FAULTS);
        return Err(faults);
    }
    // Each segment has compiled, and so does all of it.
    let read = environment.template_from_str(&whole.text);
    let globals: BTreeSet<String> = environment.globals().map(|(name, _)| name.to_owned()).collect();
    let used = read.map(|read| read.undeclared_variables(false)).unwrap_or_default().into_iter();
    let used: BTreeSet<String> = used.filter(|name| !globals.contains(name)).collect();
    let late = template.late(&used);
    if late.is_empty() {
        return Ok(template.wanted(used));
    }
    Err(late.into_values().collect())
}

/// A segment in minijinja's language alone, without its text: of a slot, the expressions in it are left.
#[derive(Default)]
struct Source {
    text: String,
    /// The origin of each line.
    lines: Vec<Place>,
}

impl Source {
    fn push(&mut self, code: &str, place: Place) {
        for (below, line) in code.split('\n').enumerate() {
            self.text.push_str(line);
            self.text.push('\n');
            self.lines.push(if below == 0 { place } else { Place { line: place.line + below, column: 1 } });
        }
    }

    fn place(&self, error: &Error, otherwise: Place) -> Place {
        // Unclosed blocks are reported after the last line.
        let line = error.line().and_then(|line| self.lines.get(line.checked_sub(1)?));
        line.or(self.lines.last()).copied().unwrap_or(otherwise)
    }
}

impl Source {
    /// Creates a segment, and adds faults in the expressions of slots.
    fn of(segment: &Segment, environment: &Environment<'_>, faults: &mut Vec<Fault>) -> Self {
        let mut source = Self::default();
        for piece in &segment.pieces {
            let in_slot = !matches!(piece.kind, PieceKind::Expression(_) | PieceKind::Statement(_));
            for (place, code) in piece.codes() {
                if !in_slot {
                    source.push(code, place);
                    continue;
                }
                // By itself first, so that none can close the braces around it.
                match environment.compile_expression(code) {
                    Ok(_) => source.push(&format!("{{{{ ({code}) }}}}"), place),
                    Err(error) => faults.push(Fault::new(place, in_words(&error))),
                }
            }
        }
        source
    }
}

/// minijinja's own words; the place is the template's.
fn in_words(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {}", error.kind(), printable(detail)),
        None => error.kind().to_string(),
    }
}
