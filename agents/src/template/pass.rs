//! One render of a segment: of its statements and slots, to see what is to be called, or of all of it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_bindgen_template::{Place, RESERVED, is_variable};
use minijinja::value::{Object, ObjectRepr};
use minijinja::{Error, ErrorKind, State, Value};
use serde_json::Value as Json;

use super::data::NoJson;
use super::holds::Hold;
use super::slot::{Filled, Kind, Slot, Unfilled};

/// The identity of a slot's run: not only its place, since a loop comes by more than once.
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
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    values: HashMap<Key, Value>,
    slots: HashSet<usize>,
}

impl Known {
    pub(super) fn insert(&mut self, key: Key, value: Value) {
        self.slots.insert(key.slot);
        self.values.insert(key, value);
    }
}

/// The state that passes over a segment share.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) slots: Arc<[Slot]>,
    pub(super) holds: Arc<[Hold]>,
    /// Names that expressions in names may not come to.
    pub(super) taken: Arc<BTreeSet<String>>,
    /// The numbers of slots that run one after another.
    pub(super) ordered: Arc<BTreeSet<usize>>,
    /// How many bytes may be printed.
    pub(super) room: usize,
}

/// The treatment of a slot that has no value yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Notes it and goes on.
    Collect,
    /// Ends there.
    Render,
}

/// The state that functions of a pass and the renderer share.
pub(super) struct Pass {
    mode: Mode,
    frame: Frame,
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
    /// By their variables, what slots have, in the same order; none where it is still to come.
    passed: Vec<(String, Option<Value>)>,
    /// Names that are still to come.
    coming: HashSet<String>,
    /// Slots whose names are still to come.
    unnamed: Vec<usize>,
    /// Whether one of those that run in order has to wait, and so all behind it.
    is_blocked: bool,
    /// How much had passed when a hold was passed last.
    marks: HashMap<usize, usize>,
    /// Where something was not there, and what.
    pub(super) missing: Option<(Place, String)>,
}

impl Seen {
    /// Returns the values of slots, by their variables.
    pub(super) fn passed(&mut self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.passed).into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn comes(&mut self, name: &str) {
        self.coming.insert(name.to_owned());
        self.passed.push((name.to_owned(), None));
    }
}

impl Pass {
    pub(super) fn new(mode: Mode, frame: &Frame, known: Arc<Known>) -> Arc<Self> {
        let room = AtomicUsize::new(frame.room);
        Arc::new(Self { mode, frame: frame.clone(), known, seen: Mutex::default(), room })
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
        let slot = number.and_then(|number| Some((number, self.frame.slots.get(number)?)));
        slot.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "there is no such slot"))
    }

    fn run(&self, arguments: &[Value]) -> Result<Value, Error> {
        let (number, slot) = self.slot(arguments.first())?;
        let values: Vec<Value> = arguments.get(1).map(Value::try_iter).transpose()?.into_iter().flatten().collect();
        let filled = match slot.filled(&values, &|bytes| self.prints(bytes).is_ok()) {
            Ok(filled) => filled,
            Err(unfilled) => return Err(self.unfilled(slot, unfilled)),
        };
        if let Some(message) = self.misnamed(slot, &filled.variable) {
            self.seen().missing = Some((slot.place, message.clone()));
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        let mut seen = self.seen();
        let identity = (number, filled.variable.clone(), Json::Object(filled.values.clone()).to_string());
        let turns = seen.turns.entry(identity.clone()).or_default();
        let (_, variable, values) = identity;
        let key = Key { slot: number, variable, values, turn: *turns };
        *turns += 1;
        if let Some(value) = self.known.values.get(&key) {
            seen.passed.push((filled.variable, Some(value.clone())));
            return Ok(value.clone());
        }
        if !slot.in_loop && self.known.slots.contains(&number) {
            let message = "what is given to this slot has changed since it was run: it is run once".to_owned();
            seen.missing = Some((slot.place, message.clone()));
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        match (self.mode, &slot.kind) {
            (Mode::Collect, kind) => {
                seen.comes(&filled.variable);
                // Nobody asks for completions before all actions have run that can.
                let is_action = matches!(kind, Kind::Action { .. });
                if is_action && !(seen.is_blocked && self.frame.ordered.contains(&number)) {
                    seen.due.push(Due { key, filled });
                }
                Ok(Value::UNDEFINED)
            }
            (Mode::Render, _) => {
                seen.due.push(Due { key, filled });
                Err(Error::new(ErrorKind::InvalidOperation, "a slot has no value yet"))
            }
        }
    }

    /// Returns the fault in a name that expressions made: it may be a stranger's.
    fn misnamed(&self, slot: &Slot, name: &str) -> Option<String> {
        if slot.name.is_some() {
            return None;
        }
        if !is_variable(name) || name.starts_with(RESERVED) {
            let what = "the name of this result comes to something that is no name: take letters, digits and `_` alone";
            return Some(what.to_owned());
        }
        let is_taken = self.frame.taken.contains(name);
        is_taken.then(|| {
            "the name of this result comes to one that is taken already: begin it with another word".to_owned()
        })
    }

    fn unfilled(&self, slot: &Slot, unfilled: Unfilled) -> Error {
        let dynamic = slot.dynamics.get(unfilled.dynamic);
        let code = dynamic.map(|dynamic| dynamic.code.trim()).unwrap_or_default();
        let (kind, what) = match unfilled.why {
            NoJson::Undefined => (ErrorKind::UndefinedError, format!("`{code}` is not there")),
            NoJson::TooMuch => (ErrorKind::WriteFailure, "the template makes too much text".to_owned()),
            NoJson::Other(what) => (ErrorKind::InvalidOperation, format!("`{code}` is {what}, and no value of JSON")),
        };
        self.seen().missing = dynamic.map(|dynamic| (dynamic.place, what.clone()));
        Error::new(kind, what)
    }

    /// Whether all is there that a slot is given.
    fn is_ready(&self, state: &State<'_, '_>, arguments: &[Value]) -> Result<bool, Error> {
        let (number, slot) = self.slot(arguments.first())?;
        let is_ready = slot.needs.iter().all(|name| is_there(state, name));
        if !is_ready {
            let mut seen = self.seen();
            seen.is_blocked |= self.frame.ordered.contains(&number);
            match &slot.name {
                Some(name) => seen.comes(name),
                None => seen.unnamed.push(number),
            }
        }
        Ok(is_ready)
    }

    /// Ends the pass where control flow reads what is still to come: it would go where it does not go later.
    fn hold(&self, state: &State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
        let number = arguments.first().and_then(Value::as_usize);
        let hold = number.and_then(|number| Some((number, self.frame.holds.get(number)?)));
        let Some((number, hold)) = hold else { return Ok(Value::UNDEFINED) };
        let mut seen = self.seen();
        let passed = seen.passed.len();
        seen.marks.insert(number, passed);
        if let Some(late) = hold.late.iter().find(|name| !is_there(state, name)) {
            let message =
                format!("`{late}` is read here, and given behind it: move the slot before what depends on it");
            seen.missing = Some((hold.place, message.clone()));
            return Err(Error::new(ErrorKind::UndefinedError, message));
        }
        let may_be = |name: &String| {
            let slots = seen.unnamed.iter().filter_map(|slot| self.frame.slots.get(*slot));
            seen.coming.contains(name) || slots.into_iter().any(|slot| slot.may_give(name))
        };
        if hold.names.iter().any(may_be) {
            return Err(Error::new(ErrorKind::UndefinedError, "something is still to come that is read here"));
        }
        Ok(Value::UNDEFINED)
    }

    /// Returns the last value of a name in a block that has ended, or else before it.
    fn last(&self, state: &State<'_, '_>, arguments: &[Value]) -> Value {
        let hold = arguments.first().and_then(Value::as_usize);
        let Some(name) = arguments.get(1).and_then(Value::as_str) else { return Value::UNDEFINED };
        let seen = self.seen();
        let mark = hold.and_then(|hold| seen.marks.get(&hold)).copied().unwrap_or_default();
        let inside = seen.passed.get(mark..).unwrap_or_default();
        match inside.iter().rev().find(|(passed, _)| passed == name) {
            Some((_, value)) => value.clone().unwrap_or_default(),
            None => state.lookup(name).unwrap_or_default(),
        }
    }
}

fn is_there(state: &State<'_, '_>, name: &str) -> bool {
    state.lookup(name).is_some_and(|value| !value.is_undefined())
}

/// The functions of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// Stands for slots.
    Run,
    /// Says whether a slot can be run.
    IsReady,
    /// Stands before control flow.
    Hold,
    /// Stands behind blocks whose names end with them.
    Last,
}

/// One of them.
pub(super) struct Function(pub(super) What, pub(super) Arc<Pass>);

impl Object for Function {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, arguments: &[Value]) -> Result<Value, Error> {
        let pass = &self.1;
        match self.0 {
            What::Run => pass.run(arguments),
            What::IsReady => pass.is_ready(state, arguments).map(Value::from),
            What::Hold => pass.hold(state, arguments),
            What::Last => Ok(pass.last(state, arguments)),
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("function")
    }
}
