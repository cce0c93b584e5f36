//! What minijinja makes of a template: whether its statements and expressions are right, and which variables they use.

use std::collections::BTreeSet;

use mcp_model::printable;
use mcp_schema::template::{
    Action, Argument, Completion, Fault, OnError, Part, Piece, PieceKind, Place, Segment, Template, Term, Text,
};
use minijinja::{Environment, Error};

/// The variables that a template uses and does not give itself, or what is wrong with its minijinja.
pub(super) fn undeclared(template: &Template) -> Result<BTreeSet<String>, Vec<Fault>> {
    let environment = Environment::new();
    let mut reader = Reader { environment: &environment, faults: Vec::new() };
    let mut used = BTreeSet::new();
    for segment in &template.segments {
        let source = reader.source(segment);
        match environment.template_from_str(&source.text) {
            Ok(template) => used.extend(template.undeclared_variables(false)),
            Err(error) => reader.faults.push(Fault::new(source.place(&error, segment.place), in_words(&error))),
        }
    }
    if !reader.faults.is_empty() {
        return Err(reader.faults);
    }
    let globals: BTreeSet<String> = environment.globals().map(|(name, _)| name.to_owned()).collect();
    used.retain(|name| !globals.contains(name) && !template.may_give(name));
    Ok(used)
}

/// A segment in minijinja's language alone, without its text: of a slot, the expressions in it are left.
#[derive(Default)]
struct Source {
    text: String,
    /// Where each line of it comes from.
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
        // What is left open is found behind the last line.
        let line = error.line().and_then(|line| self.lines.get(line.checked_sub(1)?));
        line.or(self.lines.last()).copied().unwrap_or(otherwise)
    }
}

struct Reader<'e> {
    environment: &'e Environment<'e>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn source(&mut self, segment: &Segment) -> Source {
        let mut source = Source::default();
        for piece in &segment.pieces {
            self.piece(piece, &mut source);
        }
        source
    }

    fn piece(&mut self, piece: &Piece, source: &mut Source) {
        match &piece.kind {
            PieceKind::Expression(code) | PieceKind::Statement(code) => source.push(code, piece.place),
            PieceKind::Action(action) => self.action(action, piece.place, source),
            PieceKind::Completion(completion) => self.completion(completion, piece.place, source),
            _ => {}
        }
    }

    fn action(&mut self, action: &Action, place: Place, source: &mut Source) {
        if let Some(variable) = &action.variable {
            self.text(variable, place, source);
        }
        self.arguments(&action.arguments, source);
        if let OnError::Default(term) = &action.on_error {
            self.term(term, place, source);
        }
    }

    fn completion(&mut self, completion: &Completion, place: Place, source: &mut Source) {
        self.text(&completion.variable, place, source);
        self.arguments(&completion.options, source);
    }

    fn arguments(&mut self, arguments: &[Argument], source: &mut Source) {
        for argument in arguments {
            self.term(&argument.value, argument.place, source);
        }
    }

    fn term(&mut self, term: &Term, place: Place, source: &mut Source) {
        match term {
            Term::Text(text) => self.text(text, place, source),
            Term::Variable(expression) => self.expression(expression, place, source),
            Term::List(items) => items.iter().for_each(|item| self.term(item, place, source)),
            Term::Object(members) => members.iter().for_each(|(_, member)| self.term(member, place, source)),
            _ => {}
        }
    }

    fn text(&mut self, text: &Text, place: Place, source: &mut Source) {
        for part in &text.parts {
            if let Part::Expression(expression) = part {
                self.expression(expression, place, source);
            }
        }
    }

    /// An expression by itself, so that none can close the braces around it.
    fn expression(&mut self, expression: &str, place: Place, source: &mut Source) {
        match self.environment.compile_expression(expression) {
            Ok(_) => source.push(&format!("{{{{ ({expression}) }}}}"), place),
            Err(error) => self.faults.push(Fault::new(place, in_words(&error))),
        }
    }
}

/// minijinja's own words; the place is the template's.
fn in_words(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {}", error.kind(), printable(detail)),
        None => error.kind().to_string(),
    }
}
