//! One render of a segment: of its statements and slots, to see what is to be called, or of all of it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_schema::template::Place;
use minijinja::value::{Object, ObjectRepr};
use minijinja::{Error, ErrorKind, State, Value};
use serde_json::Value as Json;

use super::data::NoJson;
use super::slot::{Filled, Kind, Slot, Unfilled};

/// What tells one run of a slot from another: not only its place, since a loop comes by more than once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) slot: usize,
    variable: String,
    /// As JSON.
    values: String,
    /// How often the same was passed before it.
    turn: usize,
}

/// A slot that is to be run.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) key: Key,
    pub(super) filled: Filled,
}

/// The values that slots have come to.
pub(super) type Known = HashMap<Key, Value>;

/// What a pass does with a slot that has no value yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Notes it and goes on.
    Collect,
    /// Ends there.
    Render,
}

/// What functions of a pass and whoever renders share.
pub(super) struct Pass {
    mode: Mode,
    slots: Arc<[Slot]>,
    known: Arc<Known>,
    seen: Mutex<Seen>,
    /// How many bytes are printed still, wherever they go.
    room: AtomicUsize,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    turns: HashMap<(usize, String, String), usize>,
    /// Slots that have no value yet, in the order in which the pass came by.
    pub(super) due: Vec<Due>,
    /// What the others have, by their variables, in the same order.
    pub(super) passed: Vec<(String, Value)>,
    /// Where something was not there, and what.
    pub(super) missing: Option<(Place, String)>,
}

impl Pass {
    pub(super) fn new(mode: Mode, slots: Arc<[Slot]>, known: Arc<Known>, most_text: usize) -> Arc<Self> {
        Arc::new(Self { mode, slots, known, seen: Mutex::default(), room: AtomicUsize::new(most_text) })
    }

    /// Counts what is printed, into the text or into what `{% set %}` makes of it.
    ///
    /// # Errors
    /// Where it is too much.
    pub(super) fn prints(&self, bytes: usize) -> Result<(), Error> {
        let taken = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(bytes));
        taken.map(drop).map_err(|_| Error::new(ErrorKind::WriteFailure, "too much text"))
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, number: Option<&Value>) -> Result<(usize, &Slot), Error> {
        let number = number.and_then(Value::as_usize);
        let slot = number.and_then(|number| Some((number, self.slots.get(number)?)));
        slot.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "there is no such slot"))
    }

    fn run(&self, arguments: &[Value]) -> Result<Value, Error> {
        let (number, slot) = self.slot(arguments.first())?;
        let values: Vec<Value> = arguments.get(1).map(Value::try_iter).transpose()?.into_iter().flatten().collect();
        let filled = match slot.filled(&values) {
            Ok(filled) => filled,
            Err(unfilled) => return Err(self.unfilled(slot, unfilled)),
        };
        let mut seen = self.seen();
        let identity = (number, filled.variable.clone(), Json::Object(filled.values.clone()).to_string());
        let turns = seen.turns.entry(identity.clone()).or_default();
        let (slot, variable, values) = identity;
        let key = Key { slot, variable, values, turn: *turns };
        *turns += 1;
        if let Some(value) = self.known.get(&key) {
            seen.passed.push((filled.variable, value.clone()));
            return Ok(value.clone());
        }
        match (self.mode, &self.slots.get(slot).map(|slot| &slot.kind)) {
            // Nobody asks for completions before all actions have run that can.
            (Mode::Collect, Some(Kind::Completion { .. })) => Ok(Value::UNDEFINED),
            (Mode::Collect, _) => {
                seen.due.push(Due { key, filled });
                Ok(Value::UNDEFINED)
            }
            (Mode::Render, _) => {
                seen.due.push(Due { key, filled });
                Err(Error::new(ErrorKind::InvalidOperation, "a slot has no value yet"))
            }
        }
    }

    fn unfilled(&self, slot: &Slot, unfilled: Unfilled) -> Error {
        let dynamic = slot.dynamics.get(unfilled.dynamic);
        let code = dynamic.map(|dynamic| dynamic.code.trim()).unwrap_or_default();
        let (kind, what) = match unfilled.why {
            NoJson::Undefined => (ErrorKind::UndefinedError, format!("`{code}` is not there")),
            NoJson::Other(what) => (ErrorKind::InvalidOperation, format!("`{code}` is {what}, and no value of JSON")),
        };
        self.seen().missing = dynamic.map(|dynamic| (dynamic.place, what.clone()));
        Error::new(kind, what)
    }

    /// Whether all is there that a slot is given.
    fn is_ready(&self, state: &State<'_, '_>, arguments: &[Value]) -> Result<bool, Error> {
        let (_, slot) = self.slot(arguments.first())?;
        let is_there = |name: &String| state.lookup(name).is_some_and(|value| !value.is_undefined());
        Ok(slot.needs.iter().all(is_there))
    }
}

/// The function that stands for slots.
pub(super) struct Run(pub(super) Arc<Pass>);

/// The function that says whether a slot can be run.
pub(super) struct IsReady(pub(super) Arc<Pass>);

impl Object for Run {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
        self.0.run(arguments)
    }
}

impl Object for IsReady {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
        self.0.is_ready(state, arguments).map(Value::from)
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("function")
    }
}

impl fmt::Debug for IsReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("function")
    }
}
