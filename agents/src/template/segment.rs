//! One render of a segment's code.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_bindgen_template::{Place, RESERVED};
use minijinja::{Environment, Error, ErrorKind, Value};

use super::data::{self, NoJson};
use super::error::{TemplateErrorKind, TemplateProblem};
use super::pass::{Due, Frame, Function, Known, Mode, Pass, What};
use super::source::{Compiled, HOLD, IS_READY, LAST, SLOT, TEXT};
use super::{Inner, collecting, whole};
use crate::jinja;

/// The outcome of a render.
pub(super) enum Came {
    /// The text, what slots gave by their variables, and what the template has set itself.
    Text { text: String, passed: Vec<(String, Value)>, set: Vec<(String, Value)> },
    /// A slot has no value yet; the text before it.
    Due(Box<Due>, String),
}

/// Values print as they are: texts as texts, all else as JSON.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = jinja::environment();
    environment.set_formatter(|out, state, value| {
        let run = state.lookup(SLOT);
        let pass = run.as_ref().and_then(|run| run.downcast_object_ref::<Function>());
        let write = |out: &mut minijinja::Output<'_>, text: &str| {
            pass.map_or(Ok(()), |Function(_, pass)| pass.prints(text.len()))?;
            out.write_str(text).map_err(|_| Error::new(ErrorKind::WriteFailure, "the text cannot be written"))
        };
        match value.as_str() {
            Some(text) => write(out, text),
            None => match data::printed(value) {
                Ok(text) => write(out, &text),
                Err(NoJson::Undefined | NoJson::Other(_) | NoJson::TooMuch) => Err(ErrorKind::UndefinedError.into()),
            },
        }
    });
    environment.add_filter("tojson", |value: Value| {
        let json = data::to_json(&value, data::Wanted::Data)
            .map_err(|_| Error::new(ErrorKind::InvalidOperation, "it is no value of JSON"))?;
        Ok::<String, Error>(json.to_string())
    });
    environment
}

/// Returns the actions that have all their arguments, in the order of the text.
pub(super) fn collect(
    inner: &Inner,
    environment: &Environment<'_>,
    segment: usize,
    variables: &BTreeMap<String, Value>,
    known: &Arc<Known>,
    frame: &Frame,
) -> Result<Vec<Due>, Box<TemplateProblem>> {
    let Some(compiled) = inner.segments.get(segment) else { return Ok(Vec::new()) };
    let pass = Pass::new(Mode::Collect, frame, known.clone());
    let code = environment.get_template(&collecting(segment));
    let rendered = code.and_then(|code| code.render(context(compiled, variables, &pass)));
    match rendered {
        Err(error) if matches!(error.kind(), ErrorKind::OutOfFuel | ErrorKind::WriteFailure) => {
            Err(problem(&error, compiled.collecting.place(error.line()), &pass))
        }
        // What is not there yet ends a pass early; where it never comes, the render of the whole says so.
        Ok(_) | Err(_) => Ok(std::mem::take(&mut pass.seen().due)),
    }
}

/// The segment's text, as far as it can be rendered.
pub(super) fn render(
    inner: &Inner,
    environment: &Environment<'_>,
    segment: usize,
    variables: &BTreeMap<String, Value>,
    known: &Arc<Known>,
    frame: &Frame,
) -> Result<Came, Box<TemplateProblem>> {
    let nothing = || Came::Text { text: String::new(), passed: Vec::new(), set: Vec::new() };
    let Some(compiled) = inner.segments.get(segment) else { return Ok(nothing()) };
    let pass = Pass::new(Mode::Render, frame, known.clone());
    let mut written = Vec::new();
    let rendered = environment.get_template(&whole(segment)).and_then(|code| {
        let captured = code.render_captured_to(context(compiled, variables, &pass), &mut written)?;
        let state = captured.state();
        let names = state.exports().into_iter().filter(|name| !name.starts_with(RESERVED));
        let set = names.filter_map(|name| Some((name.to_owned(), state.lookup(name)?)));
        Ok(set.filter(|(_, value)| !value.is_undefined()).collect::<Vec<_>>())
    });
    // All that is written is text.
    let text = String::from_utf8(written).unwrap_or_default();
    let mut seen = pass.seen();
    match rendered {
        Ok(set) => Ok(Came::Text { text, passed: seen.passed(), set }),
        Err(error) => match seen.due.pop() {
            Some(due) => Ok(Came::Due(Box::new(due), text)),
            None => {
                drop(seen);
                Err(problem(&error, compiled.whole.place(error.line()), &pass))
            }
        },
    }
}

fn context(compiled: &Compiled, variables: &BTreeMap<String, Value>, pass: &Arc<Pass>) -> Value {
    let own = [
        (TEXT, compiled.texts.clone()),
        (SLOT, Value::from_object(Function(What::Run, pass.clone()))),
        (IS_READY, Value::from_object(Function(What::IsReady, pass.clone()))),
        (HOLD, Value::from_object(Function(What::Hold, pass.clone()))),
        (LAST, Value::from_object(Function(What::Last, pass.clone()))),
    ];
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
    let all = variables.iter().map(|(name, value)| (name.clone(), value.clone())).chain(own);
    Value::from(all.collect::<BTreeMap<String, Value>>())
}

fn problem(error: &Error, place: Option<Place>, pass: &Pass) -> Box<TemplateProblem> {
    let kind = match error.kind() {
        ErrorKind::UndefinedError => TemplateErrorKind::Undefined,
        ErrorKind::OutOfFuel | ErrorKind::WriteFailure => TemplateErrorKind::Limit,
        _ => TemplateErrorKind::Evaluation,
    };
    let place = place.unwrap_or(Place { line: 1, column: 1 });
    let (place, message) = match (pass.seen().missing.take(), error.kind()) {
        (Some((place, what)), _) => (place, what),
        (None, ErrorKind::UndefinedError) => (place, "something is not there that is used here".to_owned()),
        (None, ErrorKind::OutOfFuel) => {
            (place, "the template takes too many steps: is there a loop without end?".to_owned())
        }
        (None, ErrorKind::WriteFailure) => (place, "the template makes too much text".to_owned()),
        (None, _) => (place, jinja::in_words(error)),
    };
    Box::new(TemplateProblem::new(kind, place, message))
}
