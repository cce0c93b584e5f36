use std::cell::{Cell, RefCell};

use serde::de::Error;
use serde_json::Value;

use super::recorded::{Recorded, Recording};
use super::sink::Sink;
use super::tape::Tape;
use super::union::{Counts, too_many_trials};
use super::{Fields, Keys, Mismatch};

/// A JSON value being read: from a text, from another value, from any format that describes itself.
pub struct Input<'i> {
    pub(super) stream: &'i mut dyn Stream,
    pub(super) reading: &'i Reading,
}

impl std::fmt::Debug for Input<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Input")
    }
}

/// A source of one value, which it gives once.
pub(super) trait Stream {
    /// Gives the value.
    fn give(&mut self, sink: Sink<'_>, reading: &Reading) -> Result<(), Mismatch>;

    /// The value, where it lies open already.
    fn recorded(&self) -> Option<Recorded<'_>> {
        None
    }

    /// Lays the value open. The keys are those of a struct.
    fn record(&mut self, keys: Option<Keys>, reading: &Reading) -> Result<Tape<'_>, Mismatch>;
}

impl<'i> Input<'i> {
    /// Gives the value to the place that it goes to.
    ///
    /// # Errors
    /// Where it does not fit.
    #[inline]
    pub fn give(self, sink: Sink<'_>) -> Result<(), Mismatch> {
        self.stream.give(sink, self.reading)
    }

    /// Gives the value to fields.
    ///
    /// # Errors
    /// Where it is no object, or a member does not fit.
    pub fn object(self, fields: &mut Fields<'_, '_>) -> Result<(), Mismatch> {
        fields.is_shown = self.reading.trying.get() == 0;
        self.stream.give(Sink::Object(fields), self.reading)
    }

    /// The value, to be looked at more than once.
    ///
    /// # Errors
    /// Those of `read`, and where the source has none.
    pub fn recorded<T>(
        self,
        keys: impl FnOnce() -> Option<Keys>,
        read: impl FnOnce(Recorded<'_>) -> Result<T, Mismatch>,
    ) -> Result<T, Mismatch> {
        if let Some(recorded) = self.stream.recorded() {
            return read(recorded);
        }
        let keys = if self.reading.is_whole.get() { keys() } else { None };
        let recording = Recording::new(self.stream.record(keys, self.reading)?);
        self.reading.allow(recording.len());
        read(recording.root(self.reading))
    }

    /// The value, as it came.
    ///
    /// # Errors
    /// Where the source has none.
    pub fn value(self) -> Result<Value, Mismatch> {
        self.recorded(|| None, |value| Ok(value.value()))
    }
}

/// How much work reading may be, for each step of a value that is laid open. It may come from a hostile server, and the
/// branches of unions read it again and again: without an end, for hours.
const MOST_WORK: u64 = 64;
const LEAST_WORK: u64 = 1 << 19;
/// Text is at most 128 levels deep, but not every value comes from text.
const DEEPEST: u32 = 160;

/// What is known of a whole value while its parts are read.
#[derive(Debug)]
pub(super) struct Reading {
    /// Whether the whole value is about to be read, by way of `Deserialize`.
    pub(super) is_whole: Cell<bool>,
    /// Why a sink refused what it was given, on its way past the errors of a deserializer, which cannot be added to.
    fault: RefCell<Option<Mismatch>>,
    pub(super) depth: Cell<u32>,
    work_left: Cell<u64>,
    pub(super) trials: Cell<u64>,
    /// How many branches of unions are being tried, one inside the other.
    pub(super) trying: Cell<u32>,
    /// What became of the value so far, inside the innermost branch that is tried.
    pub(super) counts: Cell<Counts>,
    /// What they have to stay below, for that branch to be better than the best one so far.
    pub(super) bound: Cell<Option<Counts>>,
}

impl Reading {
    pub(super) fn new(is_whole: bool) -> Self {
        Self {
            is_whole: Cell::new(is_whole),
            fault: RefCell::new(None),
            depth: Cell::new(0),
            work_left: Cell::new(LEAST_WORK),
            trials: Cell::new(0),
            trying: Cell::new(0),
            counts: Cell::default(),
            bound: Cell::default(),
        }
    }

    fn allow(&self, steps: usize) {
        self.work_left.set(self.work_left.get() + MOST_WORK * steps as u64);
    }

    pub(super) fn work(&self, steps: u32) -> Result<(), Mismatch> {
        let left = &self.work_left;
        left.set(left.get().saturating_sub(1 + u64::from(steps)));
        if left.get() == 0 { Err(too_many_trials()) } else { Ok(()) }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.work_left.get() == 0
    }

    /// Says that this much of the value is kept without a type.
    pub(super) fn note_undeclared(&self, steps: usize) {
        let Counts { lost, undeclared } = self.counts.get();
        self.counts.set(Counts { lost, undeclared: undeclared + steps });
    }

    /// Says that this much of the value is not kept.
    pub(super) fn note_lost(&self, steps: usize) {
        let Counts { lost, undeclared } = self.counts.get();
        self.counts.set(Counts { lost: lost + steps, undeclared });
    }

    #[cold]
    pub(super) fn raise<E: Error>(&self, mismatch: Mismatch) -> E {
        let error = E::custom(&mismatch);
        self.refuse(mismatch);
        error
    }

    /// Says why an error of a deserializer came about.
    #[cold]
    pub(super) fn refuse(&self, mismatch: Mismatch) {
        self.fault.replace(Some(mismatch));
    }

    #[cold]
    pub(super) fn fault(&self) -> Option<Mismatch> {
        self.fault.take()
    }

    /// What went wrong, seen from further out.
    #[cold]
    pub(super) fn within(&self, within: impl FnOnce(Mismatch) -> Mismatch) {
        let fault = self.fault.take();
        self.fault.replace(fault.map(within));
    }

    #[inline]
    pub(super) fn enter<E: Error>(&self) -> Result<(), E> {
        self.is_whole.set(false);
        self.depth.set(self.depth.get() + 1);
        if self.depth.get() <= DEEPEST { Ok(()) } else { Err(self.raise(too_deep())) }
    }

    #[inline]
    pub(super) fn leave(&self) {
        self.depth.set(self.depth.get() - 1);
    }
}

fn too_deep() -> Mismatch {
    Mismatch::new(format!("more than {DEEPEST} levels deep"))
}
