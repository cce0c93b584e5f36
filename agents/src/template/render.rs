//! Renders a template. minijinja is not async, so it runs on a separate thread, which requests the values of slots in the
//! order of the text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use mcp_bindgen_template::{Place, Program, RESERVED, is_variable};
use minijinja::value::Object;
use minijinja::{Environment, Error, ErrorKind, State, Value};
use serde_json::{Map, Value as Json};
use tokio::sync::{mpsc, oneshot};

use super::data::{self, NoJson};
use super::error::{TemplateErrorKind, TemplateProblem};
use super::rendered::RenderedSegment;
use super::slot::{Filled, MOST_TEXT, Slot, Unfilled};
use super::{CODE, Template};
use crate::jinja;
use crate::lock::locked;

const OUTPUT_LIMIT: &str = "the template exceeds its output limit of 64 MiB";
const STEP_LIMIT: &str = "the template exceeds its step limit: check for an endless loop";

/// A slot that waits for its value. If this is dropped, the render fails.
pub(super) struct Ask {
    pub(super) slot: usize,
    pub(super) filled: Filled,
    /// The text of the segment before it.
    pub(super) prompt: String,
    pub(super) answer: oneshot::Sender<Value>,
}

/// The segments of a template, and the variables that it set.
pub(super) type Rendered = (Vec<RenderedSegment>, Map<String, Json>);

/// Renders a template with the given variables, and requests the values of its slots.
pub(super) fn render(
    template: Template,
    variables: BTreeMap<String, Value>,
    asks: mpsc::Sender<Ask>,
) -> Result<Rendered, Box<TemplateProblem>> {
    let inner = template.inner.clone();
    let names = inner.slots.iter().filter_map(|slot| slot.piece.variable());
    let globals = inner.environment.globals().map(|(name, _)| name);
    let taken = names.chain(globals).chain(inner.wanted.keys().chain(variables.keys()).map(String::as_str));
    let pass = Arc::new(Pass {
        taken: taken.map(str::to_owned).collect(),
        template,
        variables,
        asks,
        seen: Mutex::default(),
        room: AtomicUsize::new(MOST_TEXT),
    });
    let set = inner.environment.get_template(CODE).and_then(|code| {
        let captured = code.render_captured_to(Value::from_dyn_object(pass.clone()), Writer(pass.clone()))?;
        let state = captured.state();
        let set = state.exports().into_iter().filter_map(|name| Some((name.to_owned(), state.lookup(name)?)));
        Ok(set.filter(|(_, value)| !value.is_undefined()).collect::<Vec<_>>())
    });
    let mut seen = pass.seen();
    let set = set.map_err(|error| problem(&error, inner.program.place(error.line()), seen.missing.take()))?;
    seen.end_segment();
    let made = std::mem::take(&mut seen.results).into_iter().chain(set);
    let made = made.filter_map(|(name, value)| Some((name, data::to_json(&value, data::Wanted::First).ok()?)));
    let names = inner.parsed.segments.iter().map(|segment| segment.name.clone());
    let segments = names.zip(std::mem::take(&mut seen.segments)).map(|(name, text)| RenderedSegment { name, text });
    Ok((segments.collect(), made.collect()))
}

fn problem(error: &Error, place: Place, missing: Option<(Place, String)>) -> Box<TemplateProblem> {
    let (kind, message) = match error.kind() {
        ErrorKind::UndefinedError => (TemplateErrorKind::Undefined, "an undefined value is used here".to_owned()),
        ErrorKind::OutOfFuel => (TemplateErrorKind::Limit, STEP_LIMIT.to_owned()),
        ErrorKind::WriteFailure => (TemplateErrorKind::Limit, OUTPUT_LIMIT.to_owned()),
        _ => (TemplateErrorKind::Evaluation, jinja::in_words(error)),
    };
    let (place, message) = missing.unwrap_or((place, message));
    Box::new(TemplateProblem::new(kind, place, message))
}

/// Prints strings as they are, and other values as JSON.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = jinja::environment();
    environment.set_formatter(|out, state, value| {
        let pass = state.lookup(Program::PASS);
        let pass = pass.as_ref().and_then(|pass| pass.downcast_object_ref::<Pass>());
        let text = match value.as_str() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(data::printed(value).map_err(|_| ErrorKind::UndefinedError)?),
        };
        pass.map_or(Ok(()), |pass| pass.prints(text.len()))?;
        out.write_str(&text).map_err(|_| Error::new(ErrorKind::WriteFailure, "failed to write the output"))
    });
    environment.add_filter("tojson", |value: Value| {
        let json = data::to_json(&value, data::Wanted::Data)
            .map_err(|_| Error::new(ErrorKind::InvalidOperation, "the value has no JSON form"))?;
        Ok::<String, Error>(json.to_string())
    });
    environment
}

/// The state that the code of a template and its text share. The code gets its values from it, and calls its methods.
#[derive(Debug)]
struct Pass {
    template: Template,
    /// The given variables.
    variables: BTreeMap<String, Value>,
    /// Names that names with expressions may not evaluate to.
    taken: BTreeSet<String>,
    asks: mpsc::Sender<Ask>,
    seen: Mutex<Seen>,
    /// The number of bytes that this segment may still print, in arguments and blocks of `{% set %}` too.
    room: AtomicUsize,
}

#[derive(Debug, Default)]
struct Seen {
    /// The text of the current segment.
    text: Vec<u8>,
    /// The texts of those before it.
    segments: Vec<String>,
    /// The bytes of those.
    bytes: usize,
    /// The number of results in those.
    earlier: usize,
    /// The values of slots by their variables, in the order of the text.
    results: Vec<(String, Value)>,
    /// The position of a missing value, and the message.
    missing: Option<(Place, String)>,
}

impl Seen {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }

    fn end_segment(&mut self) {
        let text = self.text();
        self.text.clear();
        self.bytes += text.len();
        self.earlier = self.results.len();
        self.segments.push(text);
    }

    fn last(&self, name: &str, since: usize) -> Option<Value> {
        let results = self.results.get(since..).unwrap_or_default();
        results.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }
}

impl Pass {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        locked(&self.seen)
    }

    /// Counts printed bytes, in the text and in blocks of `{% set %}`.
    ///
    /// # Errors
    /// Fails if there are too many.
    fn prints(&self, bytes: usize) -> Result<(), Error> {
        let taken = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(bytes));
        taken.map(drop).map_err(|_| Error::new(ErrorKind::WriteFailure, OUTPUT_LIMIT))
    }

    /// Requests the value of a slot, and waits for it.
    fn value(&self, state: &State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
        let number = arguments.first().and_then(Value::as_usize);
        let slot = number.and_then(|number| Some((number, self.template.inner.slots.get(number)?)));
        let (number, slot) = slot.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "unknown slot"))?;
        let values: Vec<Value> = arguments.get(1).map(Value::try_iter).transpose()?.into_iter().flatten().collect();
        let filled = slot
            .filled(&values, &|bytes| self.prints(bytes).is_ok())
            .map_err(|unfilled| self.unfilled(slot, unfilled))?;
        if let Some(message) = self.misnamed(slot, &filled.variable, state) {
            return Err(self.fails(Some(slot.piece.place), ErrorKind::InvalidOperation, message.to_owned()));
        }
        let prompt = if slot.is_completion() { self.seen().text() } else { String::new() };
        let variable = filled.variable.clone();
        let (answer, answered) = oneshot::channel();
        let is_asked = self.asks.blocking_send(Ask { slot: number, filled, prompt, answer }).is_ok();
        let value = is_asked.then(|| answered.blocking_recv().ok()).flatten();
        let value = value.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the run is over"))?;
        self.seen().results.push((variable, value.clone()));
        Ok(value)
    }

    /// Returns the problem of a name with expressions, which may come from untrusted values.
    fn misnamed(&self, slot: &Slot, name: &str, state: &State<'_, '_>) -> Option<&'static str> {
        if slot.piece.variable().is_some() {
            return None;
        }
        if !is_variable(name) || name.starts_with(RESERVED) {
            return Some("the name of this result is invalid: use letters, digits and `_`");
        }
        let value = state.lookup(name).filter(|value| !value.is_undefined());
        let seen = self.seen();
        // Loops of a segment may repeat a name; those of statements and of earlier segments would be lost.
        let is_lost = value.is_some() && value != seen.last(name, seen.earlier);
        let is_taken = self.taken.contains(name) || is_lost;
        is_taken.then_some("the name of this result is already used: start it with another word")
    }

    fn unfilled(&self, slot: &Slot, unfilled: Unfilled) -> Error {
        let codes = slot.piece.codes();
        let expression = codes.get(unfilled.expression);
        let code = expression.map(|(_, code)| code.trim()).unwrap_or_default();
        let (kind, what) = match unfilled.why {
            NoJson::Undefined => (ErrorKind::UndefinedError, format!("`{code}` is undefined")),
            NoJson::TooMuch => (ErrorKind::WriteFailure, OUTPUT_LIMIT.to_owned()),
            NoJson::Other(what) => (ErrorKind::InvalidOperation, format!("`{code}` is {what}, which has no JSON form")),
        };
        self.fails(expression.map(|(place, _)| *place), kind, what)
    }

    /// Keeps the position of an error, which minijinja's own errors do not have.
    fn fails(&self, place: Option<Place>, kind: ErrorKind, what: String) -> Error {
        self.seen().missing = place.map(|place| (place, what.clone()));
        Error::new(kind, what)
    }

    /// Returns the last value of a name since a number of results, or else its value before.
    fn last(&self, state: &State<'_, '_>, arguments: &[Value]) -> Value {
        let Some(name) = arguments.first().and_then(Value::as_str) else { return Value::UNDEFINED };
        let since = arguments.get(1).and_then(Value::as_usize).unwrap_or_default();
        let last = self.seen().last(name, since);
        last.or_else(|| state.lookup(name)).unwrap_or_default()
    }
}

impl Object for Pass {
    /// Returns a name that is defined before the code: those with expressions are, once their slots have values.
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            Program::TEXT => Some(self.template.inner.texts.clone()),
            Program::PASS => Some(Value::from_dyn_object(self.clone())),
            name => self.seen().last(name, 0).or_else(|| self.variables.get(name).cloned()),
        }
    }

    fn call_method(
        self: &Arc<Self>,
        state: &mut State<'_, '_>,
        method: &str,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        match method {
            Program::SLOT => self.value(state, arguments),
            Program::CHECKPOINT => {
                let mut seen = self.seen();
                seen.end_segment();
                self.room.store(MOST_TEXT.saturating_sub(seen.bytes), Ordering::Relaxed);
                Ok(Value::UNDEFINED)
            }
            Program::COUNT => Ok(Value::from(self.seen().results.len())),
            Program::LAST => Ok(self.last(state, arguments)),
            _ => Err(ErrorKind::UnknownMethod.into()),
        }
    }
}

/// Appends printed text to that of the segment.
struct Writer(Arc<Pass>);

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.seen().text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
