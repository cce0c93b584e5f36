use std::any::TypeId;

use serde_json::Value;

use super::Mismatch;
use super::input::{Known, Recorded};
use super::reading::{Counts, exceeds, worse};
use super::scalar::Scalar;
use super::tape::Node;

/// Reads a value as one of the branches of an untagged union.
pub type ReadBranch<T> = fn(Recorded<'_>) -> Result<T, Mismatch>;

/// The branch of an untagged union that accepts any value of some JSON types.
pub type Rest<T> = (&'static [&'static str], fn(Value) -> T);

/// The distinguishing keys of the object branches of an untagged union.
#[derive(Debug)]
pub struct Index {
    /// Sorted: a required key, the only text that the branch allows as its value, if there is one, and the branch.
    pub keys: &'static [(&'static str, Option<&'static str>, usize)],
    /// The branches that keys do not distinguish, in order.
    pub others: &'static [usize],
}

impl Index {
    fn of(&self, key: &str, text: Option<&str>) -> impl Iterator<Item = usize> {
        let start = self.keys.partition_point(|(known, value, _)| (*known, *value) < (key, text));
        let found = self.keys.iter().skip(start).take_while(move |(known, value, _)| (*known, *value) == (key, text));
        found.map(|(_, _, branch)| *branch)
    }

    /// Returns the branches that may take a value, in their order.
    fn candidates(&self, input: Recorded<'_>) -> Vec<usize> {
        let mut found = self.others.to_vec();
        for (key, value) in input.members().into_iter().flatten() {
            found.extend(self.of(key, None));
            if let Node::Scalar(Scalar::Text(text)) = value.node() {
                found.extend(self.of(key, Some(text)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Reads a value as the branch of an untagged union that loses least. If several branches keep the whole value, the one
/// with the fewest untyped parts wins, then the first.
///
/// # Errors
/// Fails if no branch fits, with the deepest mismatch, which likely belongs to the intended branch.
pub fn pick<T: 'static>(
    input: Recorded<'_>,
    branches: &[ReadBranch<T>],
    index: Option<&Index>,
    rest: Option<Rest<T>>,
) -> Result<T, Mismatch> {
    let mut candidates = index.map(|index| index.candidates(input)).unwrap_or_default();
    if candidates.is_empty() {
        candidates.extend(0..branches.len());
    }
    let read = |branch: usize| branches.get(branch).ok_or_else(worse).and_then(|read| read(input));
    if let ([only], None) = (candidates.as_slice(), rest) {
        return read(*only).map_err(|mismatch| union_mismatch(mismatch, input));
    }
    let reading = input.reading;
    // The surrounding value may be read again, as another branch.
    let place = (TypeId::of::<T>(), input.at);
    let known = if reading.trying.get() > 0 { input.recording.picked.borrow().get(&place).cloned() } else { None };
    match known {
        Some(Known::Branch(branch, counts)) => {
            if exceeds(reading.counts.get().and(counts), reading.bound.get()) {
                return Err(worse());
            }
            return match rest {
                Some((_, wrap)) if branch == branches.len() => {
                    reading.note_undeclared(input.size());
                    Ok(wrap(input.value()))
                }
                _ => read(branch),
            };
        }
        Some(Known::Mismatch(mismatch)) => return Err(mismatch),
        None => {}
    }
    let mut pick = Pick { input, best: None, mismatch: None };
    let (around, bound) = (reading.counts.get(), reading.bound.get());
    let mut worth = Vec::with_capacity(candidates.len());
    for branch in candidates {
        if pick.best.as_ref().is_some_and(|best| best.counts == Counts::default()) {
            break;
        }
        reading.look();
        if let Some(least) = pick.trial(branch, read) {
            worth.push((least, branch));
        }
    }
    if let ([(_, only)], None, None) = (worth.as_slice(), &pick.best, rest) {
        reading.bound.set(bound);
        reading.counts.set(around);
        return read(*only).map_err(|mismatch| union_mismatch(pick.deepest(mismatch), input));
    }
    worth.sort_unstable();
    let is_new = !worth.is_empty();
    for (least, branch) in worth {
        if pick.best.as_ref().is_some_and(|best| (best.counts, best.branch) < (least, branch)) {
            break;
        }
        pick.trial(branch, read);
    }
    if let Some((kinds, wrap)) = rest {
        pick.rest(kinds, branches.len(), wrap);
    }
    reading.bound.set(bound);
    reading.counts.set(around);
    let result = match (pick.best, pick.mismatch) {
        (Some(best), _) => Ok(best),
        (None, mismatch) => Err(union_mismatch(mismatch.unwrap_or_else(worse), input)),
    };
    if is_new && reading.trying.get() > 0 {
        let known = match &result {
            Ok(best) => Known::Branch(best.branch, best.counts),
            Err(mismatch) => Known::Mismatch(mismatch.clone()),
        };
        input.recording.picked.borrow_mut().insert(place, known);
    }
    let best = result?;
    reading.counts.set(around.and(best.counts));
    if exceeds(reading.counts.get(), bound) { Err(worse()) } else { Ok(best.value) }
}

/// Returns the mismatch of a branch if it is inside the value; otherwise says that no alternative fits.
fn union_mismatch(mismatch: Mismatch, input: Recorded<'_>) -> Mismatch {
    if mismatch.depth() > 0 { mismatch } else { input.expected("one of the alternatives") }
}

/// A choice among branches.
struct Pick<'a, T> {
    input: Recorded<'a>,
    best: Option<Best<T>>,
    mismatch: Option<Mismatch>,
}

struct Best<T> {
    value: T,
    branch: usize,
    counts: Counts,
}

impl<T> Pick<'_, T> {
    /// Tries a branch. If the branch was only looked at, returns a lower bound of the losses.
    fn trial(&mut self, branch: usize, read: impl FnOnce(usize) -> Result<T, Mismatch>) -> Option<Counts> {
        let reading = self.input.reading;
        reading.counts.set(Counts::default());
        // Between equal branches, the first one wins.
        let bound = self.best.as_ref().map(|best| match best.counts {
            Counts { lost, undeclared } if branch < best.branch => Counts { lost, undeclared: undeclared + 1 },
            counts => counts,
        });
        reading.bound.set(bound);
        reading.trying.set(reading.trying.get() + 1);
        let read = read(branch);
        reading.trying.set(reading.trying.get() - 1);
        let (counts, was_looked_at) = (reading.counts.get(), reading.was_looked_at());
        match read {
            Ok(value) if !exceeds(counts, bound) => self.best = Some(Best { value, branch, counts }),
            Ok(_) => {}
            Err(_) if was_looked_at => return Some(counts),
            Err(mismatch) => self.mismatch = Some(self.deepest(mismatch)),
        }
        None
    }

    /// Returns the deepest mismatch so far, including this one.
    fn deepest(&mut self, mismatch: Mismatch) -> Mismatch {
        self.mismatch.take().filter(|known| known.depth() >= mismatch.depth()).unwrap_or(mismatch)
    }

    /// Takes any value of these kinds, if no branch keeps all of it.
    fn rest(&mut self, kinds: &[&str], branch: usize, wrap: fn(Value) -> T) {
        let kind = match self.input.node() {
            Node::Scalar(Scalar::Null) => "null",
            Node::Scalar(Scalar::Bool(_)) => "boolean",
            Node::Scalar(Scalar::Text(_)) => "string",
            Node::Scalar(_) => "number",
            Node::Array(_) => "array",
            Node::Object(_) => "object",
        };
        let is_exact = self.best.as_ref().is_some_and(|best| best.counts.lost == 0);
        if !is_exact && kinds.contains(&kind) {
            let counts = Counts { lost: 0, undeclared: self.input.size() };
            self.best = Some(Best { value: wrap(self.input.value()), branch, counts });
        }
    }
}
