//! The state of reading a whole value.

use std::cell::{Cell, RefCell};

use serde::de::Error;

use super::mismatch::Mismatch;

/// The losses of reading a value, in steps: the least is the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Counts {
    /// The parts that are not kept, and would not be printed.
    pub(super) lost: usize,
    /// The parts that are kept without a type: properties without a field, values of any kind, texts that no schema lists.
    pub(super) undeclared: usize,
}

impl Counts {
    pub(super) fn and(self, other: Self) -> Self {
        Self { lost: self.lost + other.lost, undeclared: self.undeclared + other.undeclared }
    }
}

/// Text is at most 128 levels deep, but not every value comes from text.
const DEEPEST: u32 = 160;

/// The state of reading a whole value.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// `true` if `Deserialize` is about to read the whole value.
    pub(super) is_whole: Cell<bool>,
    /// The error of a sink, stored here because a deserializer's own error cannot carry it.
    fault: RefCell<Option<Mismatch>>,
    pub(super) depth: Cell<u32>,
    /// How many branches of unions are being tried, one inside the other.
    pub(super) trying: Cell<u32>,
    /// The losses so far, inside the innermost branch that is tried.
    pub(super) counts: Cell<Counts>,
    /// The limit for that branch to be better than the best one so far.
    pub(super) bound: Cell<Option<Counts>>,
    look: Cell<Look>,
}

/// The state of a look at a branch: a cheap check that does not read the contents of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Look {
    #[default]
    No,
    Requested,
    Done,
}

impl Reading {
    pub(super) fn new(is_whole: bool) -> Self {
        Self { is_whole: Cell::new(is_whole), ..Self::default() }
    }

    /// Asks that the next value be only looked at.
    pub(super) fn look(&self) {
        self.look.set(Look::Requested);
    }

    /// Returns `true` if this value is only looked at, and resets the flag; its members are read.
    pub(super) fn is_look(&self) -> bool {
        self.look.replace(Look::No) == Look::Requested
    }

    /// Ends the reading of a value that was only looked at.
    pub(super) fn looked_at(&self) -> Mismatch {
        self.look.set(Look::Done);
        worse()
    }

    /// Returns `true` if the last value was only looked at.
    pub(super) fn was_looked_at(&self) -> bool {
        self.look.replace(Look::No) == Look::Done
    }

    /// Says that this much of the value is kept without a type.
    pub(super) fn note_undeclared(&self, steps: usize) {
        self.counts.set(self.counts.get().and(Counts { lost: 0, undeclared: steps }));
    }

    /// Says that this much of the value is not kept.
    pub(super) fn note_lost(&self, steps: usize) {
        self.counts.set(self.counts.get().and(Counts { lost: steps, undeclared: 0 }));
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

    /// Adds a place around an error.
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

/// Returns `true` if a branch cannot be better than the best one so far: counts only grow.
pub(super) fn exceeds(counts: Counts, bound: Option<Counts>) -> bool {
    bound.is_some_and(|bound| counts >= bound)
}

/// Returns the mismatch of a branch that is worse than another. It is never shown.
#[cold]
pub(super) fn worse() -> Mismatch {
    Mismatch::new("another branch loses less")
}

fn too_deep() -> Mismatch {
    Mismatch::new(format!("more than {DEEPEST} levels deep"))
}
