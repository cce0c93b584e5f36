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

    /// Returns `true` if a branch cannot be better than the best one so far: counts only grow.
    pub(super) fn exceed(self, bound: Option<Self>) -> bool {
        bound.is_some_and(|bound| self >= bound)
    }
}

/// Text is at most 128 levels deep, but not every value comes from text.
const DEEPEST: u32 = 160;

/// The state of reading a whole value.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The error of a sink. It passes beside the error of the deserializer, because that cannot be extended.
    pub(super) fault: RefCell<Option<Mismatch>>,
    pub(super) depth: Cell<u32>,
    /// The number of nested branches of unions that are being tried.
    pub(super) trying: Cell<u32>,
    /// The losses so far, inside the innermost branch that is tried.
    pub(super) counts: Cell<Counts>,
    /// The limit for that branch to be better than the best one so far.
    pub(super) bound: Cell<Option<Counts>>,
    /// `true` if the next value is only looked at: a cheap check that does not read its contents.
    pub(super) look: Cell<bool>,
}

impl Reading {
    /// Returns `true` if this value is only looked at, and resets the flag; its members are read.
    pub(super) fn is_look(&self) -> bool {
        self.look.replace(false)
    }

    /// Records that this much of the value is kept without a type.
    pub(super) fn note_undeclared(&self, steps: usize) {
        self.counts.set(self.counts.get().and(Counts { lost: 0, undeclared: steps }));
    }

    /// Records that this much of the value is not kept.
    pub(super) fn note_lost(&self, steps: usize) {
        self.counts.set(self.counts.get().and(Counts { lost: steps, undeclared: 0 }));
    }

    #[cold]
    pub(super) fn raise<E: Error>(&self, mismatch: Mismatch) -> E {
        let error = E::custom(&mismatch);
        self.fault.replace(Some(mismatch));
        error
    }

    #[inline]
    pub(super) fn enter<E: Error>(&self) -> Result<(), E> {
        self.depth.set(self.depth.get() + 1);
        let too_deep = || Mismatch::new(format!("more than {DEEPEST} levels deep"));
        if self.depth.get() <= DEEPEST { Ok(()) } else { Err(self.raise(too_deep())) }
    }

    #[inline]
    pub(super) fn leave(&self) {
        self.depth.set(self.depth.get() - 1);
    }
}
