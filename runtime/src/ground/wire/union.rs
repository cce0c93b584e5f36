use std::any::TypeId;

use serde_json::Value;

use super::input::{Known, Recorded};
use super::reading::Counts;
use super::scalar::Scalar;
use super::tape::Token;
use super::{Mismatch, Wire};

/// Picks the branch of an untagged union that loses nothing: of those that keep all of the value, the first that holds
/// least of it without a type, or else the one that loses least.
#[derive(Debug)]
pub struct Pick<'a, T> {
    input: Recorded<'a>,
    /// What this value was known to be before.
    known: Option<Known>,
    /// What became of the value around this one.
    around: Counts,
    /// What the value around this one has to stay below.
    bound: Option<Counts>,
    trials_before: u64,
    branches: usize,
    best: Option<Best<T>>,
    mismatch: Option<Mismatch>,
}

#[derive(Debug)]
struct Best<T> {
    value: T,
    branch: usize,
    counts: Counts,
}

/// From this many trials on, what became of a value is kept.
const WORTH_KEEPING: u64 = 4;

impl<'a, T: 'static> Pick<'a, T> {
    /// A choice among branches that are yet to be tried.
    #[must_use]
    pub fn of(input: Recorded<'a>) -> Self {
        let reading = input.reading;
        let known = input.recording.picked.borrow().get(&(TypeId::of::<T>(), input.at)).cloned();
        let (around, bound) = (reading.counts.get(), reading.bound.get());
        // A value whose parts are known to lose too much need not be read to its end.
        let known = match known {
            Some(Known::Branch(_, counts)) if exceeds(around.and(counts), bound) => Some(Known::Mismatch(worse())),
            known => known,
        };
        let trials_before = reading.trials.get();
        Self { input, known, around, bound, trials_before, branches: 0, best: None, mismatch: None }
    }

    /// Tries a branch.
    pub fn branch<B: Wire>(&mut self, wrap: fn(B) -> T) {
        let branch = self.branches;
        self.branches += 1;
        if self.is_worth(branch) {
            match self.input.read::<B>() {
                Ok(value) => self.fits(branch, wrap(value)),
                Err(mismatch) => self.miss(mismatch),
            }
        }
    }

    /// Whether a branch may be the one; where it is, it is about to be tried.
    fn is_worth(&self, branch: usize) -> bool {
        let is_worth = match (&self.known, &self.best) {
            (Some(Known::Branch(known, _)), _) => *known == branch,
            (Some(Known::Mismatch(_)), _) => false,
            (None, Some(best)) => best.counts != Counts::default(),
            (None, None) => true,
        };
        if is_worth {
            let reading = self.input.reading;
            reading.trials.set(reading.trials.get() + 1);
            reading.counts.set(Counts::default());
            reading.bound.set(self.best.as_ref().map(|best| best.counts));
            reading.trying.set(reading.trying.get() + 1);
        }
        is_worth
    }

    fn fits(&mut self, branch: usize, value: T) {
        let reading = self.input.reading;
        reading.trying.set(reading.trying.get() - 1);
        let counts = reading.counts.get();
        if self.best.as_ref().is_none_or(|best| counts < best.counts) {
            self.best = Some(Best { value, branch, counts });
        }
    }

    fn miss(&mut self, mismatch: Mismatch) {
        let reading = self.input.reading;
        reading.trying.set(reading.trying.get() - 1);
        if self.mismatch.as_ref().is_none_or(|known| mismatch.depth() > known.depth()) {
            self.mismatch = Some(mismatch);
        }
    }

    /// Takes any value of these kinds, if no branch keeps all of it.
    pub fn rest(&mut self, kinds: &[&str], wrap: fn(Value) -> T) {
        let kind = match (self.input.scalar(), self.input.token()) {
            (Some(Scalar::Null), _) => "null",
            (Some(Scalar::Bool(_)), _) => "boolean",
            (Some(Scalar::Text(_)), _) => "string",
            (Some(_), _) => "number",
            (None, Token::Array { .. }) => "array",
            (None, _) => "object",
        };
        let is_exact = self.best.as_ref().is_some_and(|best| best.counts.lost == 0);
        let is_refused = matches!(self.known, Some(Known::Mismatch(_)));
        if !is_exact && !is_refused && kinds.contains(&kind) {
            let value = wrap(self.input.value());
            let counts = Counts { lost: 0, undeclared: self.input.size() };
            self.best = Some(Best { value, branch: self.branches, counts });
        }
    }

    /// The picked branch.
    ///
    /// # Errors
    /// Where no branch fits: the mismatch that lies deepest, for it belongs to the branch that was meant.
    pub fn finish(self) -> Result<T, Mismatch> {
        let reading = self.input.reading;
        reading.bound.set(self.bound);
        let is_new = self.known.is_none();
        let result = match (self.known, self.best, self.mismatch) {
            (Some(Known::Mismatch(mismatch)), ..) => Err(mismatch),
            (_, Some(best), _) => Ok(best),
            (_, None, Some(mismatch)) if mismatch.depth() > 0 => Err(mismatch),
            (_, None, _) => Err(self.input.expected("one of the alternatives")),
        };
        let counts = self.around.and(result.as_ref().map_or(Counts::default(), |best| best.counts));
        reading.counts.set(counts);
        if is_new && reading.trials.get() - self.trials_before >= WORTH_KEEPING {
            let known = match &result {
                Ok(best) => Known::Branch(best.branch, best.counts),
                Err(mismatch) => Known::Mismatch(mismatch.clone()),
            };
            self.input.recording.picked.borrow_mut().insert((TypeId::of::<T>(), self.input.at), known);
        }
        if exceeds(counts, self.bound) { Err(worse()) } else { result.map(|best| best.value) }
    }
}

/// Whether a branch cannot be better than the best one so far: counts only grow.
fn exceeds(counts: Counts, bound: Option<Counts>) -> bool {
    bound.is_some_and(|bound| counts >= bound)
}

/// Nobody sees it: there is a better branch.
#[cold]
fn worse() -> Mismatch {
    Mismatch::new("another branch loses less")
}
