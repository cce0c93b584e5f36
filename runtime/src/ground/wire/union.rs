//! Types whose values are one of several branches.

use std::any::TypeId;
use std::borrow::Cow;

use serde_json::Value;

use super::Mismatch;
use super::mismatch::{MOST_STRANGERS, missing_among, nothing_read, one_of};
use super::number::integral;
use super::reading::Counts;
use super::tape::{Node, Recorded};

impl<'a> Recorded<'a> {
    /// Returns the tag of a union's branch: its text, or its JSON if tags are not strings.
    ///
    /// # Errors
    /// Fails if it is missing, or of the other kind.
    pub fn tag(self, key: &'static str, is_text: bool) -> Result<Cow<'a, str>, Mismatch> {
        let mut found = self.object()?.filter(|(found, _)| *found == key);
        let Some((_, tag)) = found.next() else { return Err(self.without_tag(key)) };
        // Other readers may take the other one.
        if found.next().is_some() {
            return Err(Mismatch::twice().within(key));
        }
        match (tag.node(), is_text) {
            (Node::Text(text), true) => Ok(Cow::Borrowed(text)),
            (_, true) => Err(tag.expected("a string").within(key)),
            (Node::Text(_), false) => Err(tag.expected("a number or a boolean").within(key)),
            // `1.0` is the tag `1`.
            (Node::Number(number), false) => Ok(Cow::Owned(integral(number).to_string())),
            _ => Ok(Cow::Owned(tag.value().to_string())),
        }
    }

    /// Returns the error for a missing tag. Inside a union it occurs often and is rarely shown, so similar keys are not
    /// searched there.
    #[cold]
    fn without_tag(self, key: &'static str) -> Mismatch {
        if self.reading.trying.get() > 0 {
            return Mismatch::missing(key);
        }
        let keys: Vec<_> = self.members().take(MOST_STRANGERS).map(|(key, _)| key.to_owned()).collect();
        missing_among(key, &keys)
    }

    /// Reads the value as the branch for unlisted tags, if the union has one.
    ///
    /// # Errors
    /// Fails without such a branch, with the listed tags.
    pub fn other_branch<T>(
        self,
        key: &'static str,
        tags: &[&str],
        other: Option<fn(Value) -> T>,
    ) -> Result<T, Mismatch> {
        let Some(other) = other else { return Err(one_of(tags).within(key)) };
        self.read().map(other)
    }
}

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
    /// Returns the branches that may take a value, in their order.
    fn candidates(&self, input: Recorded<'_>) -> Vec<usize> {
        let mut found = self.others.to_vec();
        for (key, value) in input.members() {
            self.find(key, None, &mut found);
            if let Node::Text(text) = value.node() {
                self.find(key, Some(text), &mut found);
            }
        }
        found
    }

    /// Adds the branches with this key and text at their places.
    fn find(&self, key: &str, text: Option<&str>, found: &mut Vec<usize>) {
        let start = self.keys.partition_point(|(known, value, _)| (*known, *value) < (key, text));
        for (known, value, branch) in self.keys.get(start..).unwrap_or_default() {
            if (*known, *value) != (key, text) {
                return;
            }
            if let Err(place) = found.binary_search(branch) {
                found.insert(place, *branch);
            }
        }
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
    let (kinds, wrap) = rest.unzip();
    let mut best = None;
    let mut read = |branch: usize, bound: Option<Counts>| {
        let value = match (branches.get(branch), wrap) {
            (Some(read), _) => read(input)?,
            (None, Some(wrap)) => {
                input.reading.note_undeclared(input.size());
                wrap(input.value())
            }
            (None, None) => return Err(nothing_read()),
        };
        if !input.reading.counts.get().exceed(bound) {
            best = Some(value);
        }
        Ok(())
    };
    let mut pick = Pick { input, branches: branches.len(), kinds, read: &mut read, best: None, mismatch: None };
    pick.run(TypeId::of::<T>(), index)?;
    best.ok_or_else(nothing_read)
}

/// A choice among branches; this code is not generic over the union.
struct Pick<'a, 'r> {
    input: Recorded<'a>,
    /// The number of branches, without the one for the values of these kinds.
    branches: usize,
    kinds: Option<&'static [&'static str]>,
    /// Reads the value as a branch, and keeps the result if its losses are below the bound.
    read: &'r mut dyn FnMut(usize, Option<Counts>) -> Result<(), Mismatch>,
    /// The losses of the best branch so far, and the branch.
    best: Option<(Counts, usize)>,
    mismatch: Option<Mismatch>,
}

impl Pick<'_, '_> {
    fn run(&mut self, union: TypeId, index: Option<&Index>) -> Result<(), Mismatch> {
        let (input, reading) = (self.input, self.input.reading);
        let mut candidates = index.map(|index| index.candidates(input)).unwrap_or_default();
        if candidates.is_empty() {
            candidates.extend(0..self.branches);
        }
        if let ([only], None) = (candidates.as_slice(), self.kinds) {
            return self.read_only(*only);
        }
        let (around, bound, is_inside) = (reading.counts.get(), reading.bound.get(), reading.trying.get() > 0);
        // The surrounding value may be read again, as another branch.
        let place = (union, input.at);
        let known = if is_inside { input.tape.picked.borrow().get(&place).cloned() } else { None };
        if let Some(known) = known {
            let (counts, branch) = known?;
            return if around.and(counts).exceed(bound) { Err(Mismatch::skipped()) } else { (self.read)(branch, None) };
        }
        let mut worth = Vec::with_capacity(candidates.len());
        for branch in candidates {
            if self.best.is_some_and(|(counts, _)| counts == Counts::default()) {
                break;
            }
            reading.look.set(true);
            if let Some(least) = self.trial(branch) {
                worth.insert(worth.partition_point(|known| *known < (least, branch)), (least, branch));
            }
        }
        if let ([(_, only)], None, None) = (worth.as_slice(), self.best, self.kinds) {
            reading.bound.set(bound);
            reading.counts.set(around);
            return self.read_only(*only);
        }
        let is_new = !worth.is_empty();
        for (least, branch) in worth {
            if self.best.is_some_and(|best| best < (least, branch)) {
                break;
            }
            self.trial(branch);
        }
        self.read_rest();
        reading.bound.set(bound);
        reading.counts.set(around);
        let result = self.best.ok_or_else(|| self.no_branch());
        if is_new && is_inside {
            input.tape.picked.borrow_mut().insert(place, result.clone());
        }
        let counts = around.and(result?.0);
        reading.counts.set(counts);
        if counts.exceed(bound) { Err(Mismatch::skipped()) } else { Ok(()) }
    }

    /// Reads the only branch that can take the value.
    fn read_only(&mut self, branch: usize) -> Result<(), Mismatch> {
        (self.read)(branch, None).map_err(|mismatch| {
            self.mismatch = Some(self.deepest(mismatch));
            self.no_branch()
        })
    }

    /// Tries a branch. If the branch was only looked at, returns a lower bound of the losses.
    fn trial(&mut self, branch: usize) -> Option<Counts> {
        let reading = self.input.reading;
        reading.counts.set(Counts::default());
        // Between equal branches, the first one wins.
        let bound = self.best.map(|(Counts { lost, undeclared }, best)| Counts {
            lost,
            undeclared: undeclared + usize::from(branch < best),
        });
        reading.bound.set(bound);
        reading.trying.set(reading.trying.get() + 1);
        let read = (self.read)(branch, bound);
        reading.trying.set(reading.trying.get() - 1);
        reading.look.set(false);
        let counts = reading.counts.get();
        match read {
            Ok(()) if counts.exceed(bound) => {}
            Ok(()) => self.best = Some((counts, branch)),
            Err(mismatch) if mismatch.is_skipped() => return Some(counts),
            Err(mismatch) => self.mismatch = Some(self.deepest(mismatch)),
        }
        None
    }

    /// Returns the deepest mismatch so far, including this one.
    fn deepest(&mut self, mismatch: Mismatch) -> Mismatch {
        self.mismatch.take().filter(|known| known.depth() >= mismatch.depth()).unwrap_or(mismatch)
    }

    /// Takes any value of some kinds, if no branch keeps all of it.
    fn read_rest(&mut self) {
        let kind = match self.input.node() {
            Node::Null => "null",
            Node::Bool(_) => "boolean",
            Node::Number(_) => "number",
            Node::Text(_) => "string",
            Node::Array(_) => "array",
            Node::Object(_) => "object",
        };
        let is_exact = self.best.is_some_and(|(counts, _)| counts.lost == 0);
        if !is_exact && self.kinds.is_some_and(|kinds| kinds.contains(&kind)) {
            self.trial(self.branches);
        }
    }

    /// Returns the deepest mismatch if it is inside the value, otherwise that of the whole value.
    fn no_branch(&mut self) -> Mismatch {
        let inside = self.mismatch.take().filter(|mismatch| mismatch.depth() > 0);
        inside.unwrap_or_else(|| self.input.expected("one of the alternatives"))
    }
}
