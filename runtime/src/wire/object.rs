use std::collections::BTreeMap;

use super::{Input, Keys, Mismatch, Wire};

/// Beyond so many comparisons, keys are looked up and not compared one after the other.
const MANY: usize = 4096;

/// How many keys are looked at for one that may have been meant.
const MOST_CANDIDATES: usize = 64;

/// Room for the place of each key.
#[must_use]
pub fn places<const KEYS: usize>(_: &[&str; KEYS]) -> [u32; KEYS] {
    [0; KEYS]
}

/// Reads the properties of an object, in the order of its type.
#[derive(Debug)]
pub struct ObjectReader<'p, 'a> {
    input: Input<'a>,
    keys: Keys,
    /// Where the value of each key is; 0, where the whole value is, for none.
    places: &'p [u32],
    /// The key to read next.
    next: usize,
    /// Where the keys are that the type does not have.
    unknown: Vec<usize>,
}

impl<'p, 'a> ObjectReader<'p, 'a> {
    pub(super) fn new(input: Input<'a>, keys: Keys, places: &'p mut [u32]) -> Result<Self, Mismatch> {
        let members = input.members()?;
        let mut unknown = Vec::new();
        let is_large = input.size().saturating_mul(keys.len()) > MANY;
        let index: BTreeMap<&str, usize> =
            keys.iter().enumerate().filter(|_| is_large).map(|(place, key)| (*key, place)).collect();
        let mut expected = 0;
        for (key, value) in members {
            let found = if is_large { index.get(key).copied() } else { position(keys, key, expected) };
            let Some((found, place)) = found.and_then(|found| Some((found, places.get_mut(found)?))) else {
                unknown.push(value.at - 1);
                continue;
            };
            if *place != 0 {
                return Err(Mismatch::new("it is there twice").within(key.to_owned()));
            }
            // A tape is not longer.
            *place = u32::try_from(value.at).unwrap_or(u32::MAX);
            expected = found + 1;
        }
        Ok(Self { input, keys, places, next: 0, unknown })
    }

    /// The value whose turn it is.
    #[inline]
    fn advance(&mut self) -> Option<Input<'a>> {
        let place = self.places.get(self.next).copied().unwrap_or_default();
        self.next += 1;
        (place != 0).then(|| self.input.at(place as usize))
    }

    /// The key of the value whose turn it was.
    fn key(&self) -> &'static str {
        self.keys.get(self.next - 1).copied().unwrap_or_default()
    }

    #[cold]
    fn within(&self, error: Mismatch) -> Mismatch {
        error.within(self.key())
    }

    /// The next property, which has to be there.
    ///
    /// # Errors
    /// Where it is missing or does not fit.
    #[inline]
    pub fn required<T: Wire>(&mut self) -> Result<T, Mismatch> {
        match self.advance() {
            Some(value) => T::read(value).map_err(|error| self.within(error)),
            None => Err(self.missing(self.key())),
        }
    }

    /// The next property, which may be absent; `null` reads as absent, because models in strict mode send it.
    ///
    /// # Errors
    /// Where it does not fit.
    #[inline]
    pub fn optional<T: Wire>(&mut self) -> Result<Option<T>, Mismatch> {
        match self.advance() {
            None => Ok(None),
            Some(value) if value.is_null() => {
                self.input.note_lost(2);
                Ok(None)
            }
            Some(value) => T::read(value).map(Some).map_err(|error| self.within(error)),
        }
    }

    /// The next property, which may be absent and may be `null`, which is not the same.
    ///
    /// # Errors
    /// Where it does not fit.
    #[inline]
    pub fn present<T: Wire>(&mut self) -> Result<Option<T>, Mismatch> {
        let value = self.advance();
        value.map(|value| T::read(value).map_err(|error| self.within(error))).transpose()
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
            known.map_or_else(|| self.unknown().any(|(unknown, _)| unknown == *key), |key| self.has(key))
        };
        if sets.iter().any(|set| set.iter().all(has)) {
            return Ok(());
        }
        let sets: Vec<_> = sets.iter().map(|set| format!("`{}`", set.join("`, `"))).collect();
        Err(Mismatch::new(format!("missing one of: {}", sets.join(" or "))))
    }

    fn unknown(&self) -> impl Iterator<Item = (&'a str, Input<'a>)> {
        self.unknown.iter().map(|at| (self.input.tape().text(*at).unwrap_or_default(), self.input.at(at + 1)))
    }

    fn has(&self, key: usize) -> bool {
        self.places.get(key).is_some_and(|place| *place != 0)
    }

    /// The keys that the object does not have.
    fn absent(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().enumerate().filter(|(place, _)| !self.has(*place)).map(|(_, key)| *key)
    }

    /// The key that may have been meant by another. Nobody reads what is said of a branch that does not fit.
    fn nearest<'k>(&self, key: &str, candidates: impl Iterator<Item = &'k str>) -> Option<&'k str> {
        let is_shown = self.input.reading.trying.get() == 0;
        is_shown.then(|| mcp_model::nearest(key, candidates.take(MOST_CANDIDATES)).first().copied()).flatten()
    }

    #[cold]
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

/// Where a key is among others. Servers and models send properties in the order of the schema, or nearly.
fn position(keys: Keys, key: &str, expected: usize) -> Option<usize> {
    let (before, after) = keys.split_at_checked(expected)?;
    let found = after.iter().position(|known| *known == key).map(|place| place + expected);
    found.or_else(|| before.iter().position(|known| *known == key))
}

/// The property that says which branch of a tagged union a value is.
///
/// # Errors
/// Where it is missing, or the value no object.
pub(super) fn tag<'a>(input: Input<'a>, key: &'static str) -> Result<Input<'a>, Mismatch> {
    let found = input.members()?.find(|(found, _)| *found == key);
    found.map(|(_, value)| value).ok_or_else(|| Mismatch::missing(key))
}
