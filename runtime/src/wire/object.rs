use std::collections::BTreeMap;

use super::{Input, Mismatch, Wire};

/// How many properties are placed without a list on the heap.
const FEW: usize = 16;
/// Beyond so many comparisons, keys are looked up and not compared one after the other.
const MANY: usize = 4096;

/// How many keys are looked at for one that may have been meant.
const MOST_CANDIDATES: usize = 64;

/// Reads the properties of an object, in the order of its type.
#[derive(Debug)]
pub struct ObjectReader<'a> {
    input: Input<'a>,
    keys: &'static [&'static str],
    /// Where the value of each key is; 0, where the whole value is, for none.
    few: [u32; FEW],
    many: Vec<u32>,
    /// The key to read next.
    next: usize,
    /// Where the keys are that the type does not have.
    unknown: Vec<usize>,
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(input: Input<'a>, keys: &'static [&'static str]) -> Result<Self, Mismatch> {
        let mut members = input.members()?;
        let many = vec![0; if keys.len() > FEW { keys.len() } else { 0 }];
        let mut reader = Self { input, keys, few: [0; FEW], many, next: 0, unknown: Vec::new() };
        if input.size().saturating_mul(keys.len()) > MANY {
            let index: BTreeMap<&str, usize> = keys.iter().enumerate().map(|(place, key)| (*key, place)).collect();
            members.try_for_each(|(key, value)| reader.put(index.get(key).copied(), value))?;
        } else {
            // Servers and models send properties in the order of the schema, or nearly.
            let mut expected = 0;
            for (key, value) in members {
                let (before, after) = keys.split_at_checked(expected).unwrap_or((&[], keys));
                let found = after.iter().position(|known| *known == key).map(|place| place + before.len());
                let found = found.or_else(|| before.iter().position(|known| *known == key));
                expected = found.map_or(expected, |place| place + 1);
                reader.put(found, value)?;
            }
        }
        Ok(reader)
    }

    fn put(&mut self, place: Option<usize>, value: Input<'a>) -> Result<(), Mismatch> {
        let Some(place) = place else {
            self.unknown.push(value.at - 1);
            return Ok(());
        };
        let places = if self.many.is_empty() { self.few.as_mut_slice() } else { self.many.as_mut_slice() };
        let Some(known) = places.get_mut(place) else { return Ok(()) };
        if *known != 0 {
            return Err(Mismatch::new("it is there twice").within(self.keys.get(place).copied().unwrap_or_default()));
        }
        // A tape has at most as many steps.
        *known = u32::try_from(value.at).unwrap_or(u32::MAX);
        Ok(())
    }

    fn place(&self, key: usize) -> Option<usize> {
        let places = if self.many.is_empty() { self.few.as_slice() } else { self.many.as_slice() };
        places.get(key).filter(|place| **place != 0).map(|place| *place as usize)
    }

    /// The key whose turn it is, and its value.
    fn advance(&mut self) -> (&'static str, Option<Input<'a>>) {
        let key = self.keys.get(self.next).copied().unwrap_or_default();
        let value = self.place(self.next).map(|at| self.input.at(at));
        self.next += 1;
        (key, value)
    }

    /// The next property, which has to be there.
    ///
    /// # Errors
    /// Where it is missing or does not fit.
    pub fn required<T: Wire>(&mut self) -> Result<T, Mismatch> {
        match self.advance() {
            (key, Some(value)) => T::read(value).map_err(|error| error.within(key)),
            (key, None) => Err(self.missing(key)),
        }
    }

    /// The next property, which may be absent; `null` reads as absent, because models in strict mode send it.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn optional<T: Wire>(&mut self) -> Result<Option<T>, Mismatch> {
        match self.advance() {
            (_, None) => Ok(None),
            (_, Some(value)) if value.is_null() => {
                self.input.note_lost(2);
                Ok(None)
            }
            (key, Some(value)) => T::read(value).map(Some).map_err(|error| error.within(key)),
        }
    }

    /// The next property, which may be absent and may be `null`, which is not the same.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn present<T: Wire>(&mut self) -> Result<Option<T>, Mismatch> {
        match self.advance() {
            (_, None) => Ok(None),
            (key, Some(value)) => T::read(value).map(Some).map_err(|error| error.within(key)),
        }
    }

    /// Every property that the type does not have.
    ///
    /// # Errors
    /// Where one does not fit.
    pub fn extra<T: Wire>(&self) -> Result<BTreeMap<String, T>, Mismatch> {
        self.input.note_undeclared(self.unknown.len());
        self.unknown()
            .map(|(key, value)| match T::read(value) {
                Ok(value) => Ok((key.to_owned(), value)),
                Err(error) => Err(error.within(key.to_owned())),
            })
            .collect()
    }

    /// Passes over the properties that the type does not have.
    pub fn ignore_unknown(&self) {
        for (_, value) in self.unknown() {
            self.input.note_lost(1 + value.size());
        }
    }

    /// Refuses the properties that the type does not have.
    ///
    /// # Errors
    /// Where there is one.
    pub fn deny_unknown(&self) -> Result<(), Mismatch> {
        let Some((key, _)) = self.unknown().next() else { return Ok(()) };
        let hint = match self.nearest(key, self.absent()) {
            Some(near) => format!("; did you mean `{}`?", near.escape_debug()),
            None => String::new(),
        };
        Err(Mismatch::new(format!("no such property{hint}")).within(key.to_owned()))
    }

    /// Asks for at least one of several sets of properties.
    ///
    /// # Errors
    /// Where none of the sets is complete.
    pub fn require_any(&self, sets: &[&[&str]]) -> Result<(), Mismatch> {
        let has = |key: &&str| {
            let known = self.keys.iter().position(|known| known == key);
            known.map_or_else(|| self.unknown().any(|(unknown, _)| unknown == *key), |key| self.place(key).is_some())
        };
        if sets.iter().any(|set| set.iter().all(has)) {
            return Ok(());
        }
        let sets: Vec<_> = sets.iter().map(|set| format!("`{}`", set.join("`, `"))).collect();
        Err(Mismatch::new(format!("missing one of: {}", sets.join(" or "))))
    }

    fn unknown(&self) -> impl Iterator<Item = (&'a str, Input<'a>)> {
        self.unknown.iter().map(|at| (self.input.tape.text(*at).unwrap_or_default(), self.input.at(at + 1)))
    }

    /// The keys that the object does not have.
    fn absent(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().enumerate().filter(|(place, _)| self.place(*place).is_none()).map(|(_, key)| *key)
    }

    /// The key that may have been meant by another. Nobody reads what is said of a branch that does not fit.
    fn nearest<'k>(&self, key: &str, candidates: impl Iterator<Item = &'k str>) -> Option<&'k str> {
        let is_shown = self.input.reading.trying.get() == 0;
        is_shown.then(|| mcp_model::nearest(key, candidates.take(MOST_CANDIDATES)).first().copied()).flatten()
    }

    fn missing(&self, key: &'static str) -> Mismatch {
        match self.nearest(key, self.unknown().map(|(unknown, _)| unknown)) {
            Some(near) => Mismatch::new(format!(
                "missing property `{}`; there is `{}`: did you mean `{0}`?",
                key.escape_debug(),
                near.escape_debug()
            )),
            None => Mismatch::missing(key),
        }
    }
}

/// The property that says which branch of a tagged union a value is.
///
/// # Errors
/// Where it is missing, or the value no object.
pub(super) fn tag<'a>(input: Input<'a>, key: &'static str) -> Result<Input<'a>, Mismatch> {
    let found = input.members()?.find(|(found, _)| *found == key);
    found.map(|(_, value)| value).ok_or_else(|| Mismatch::missing(key))
}
