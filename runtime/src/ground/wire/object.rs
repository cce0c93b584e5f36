use std::collections::BTreeMap;

use super::input::{Extra, Fate, Place, Places, Sink};
use super::mismatch::{MOST_STRANGERS, missing_among};
use super::{Input, Keys, Mismatch, Wire};

/// From this many comparisons of unknown keys on, keys are looked up.
const MANY: usize = 4096;

/// The place of a field.
pub struct Slot<'s> {
    sink: Sink<'s>,
    /// `true` if `null` leaves the field empty, because models in strict mode send it.
    is_optional: bool,
    is_required: bool,
    is_there: bool,
}

impl<'s> Slot<'s> {
    /// Creates the field of a required property.
    #[inline]
    pub fn required<T: Wire>(place: &'s mut Option<T>) -> Self {
        Self { sink: T::sink(place), is_optional: false, is_required: true, is_there: false }
    }

    /// Creates the slot of an optional property; `null` reads as missing.
    #[inline]
    pub fn optional<T: Wire>(place: &'s mut Option<T>) -> Self {
        Self { is_optional: true, is_required: false, ..Self::required(place) }
    }

    /// Creates the slot of an optional nullable property; `null` differs from missing.
    #[inline]
    pub fn present<T: Wire>(place: &'s mut Option<T>) -> Self {
        Self { is_required: false, ..Self::required(place) }
    }
}

impl Input<'_> {
    /// Reads the value into fields.
    ///
    /// # Errors
    /// Fails if the value is not an object, or a member does not match.
    pub fn object(self, fields: &mut Fields<'_, '_>) -> Result<(), Mismatch> {
        fields.is_shown = self.reading.trying.get() == 0;
        self.stream.give(Sink::Object(fields), self.reading)
    }
}

/// The handling of members that have no field.
pub enum Unknown<'f> {
    /// They are passed over.
    Ignore,
    /// They are refused.
    Deny,
    /// They are kept.
    Keep(&'f mut dyn Extra),
}

/// The fields of an object. Trailing keys without a slot are handled by the reader of the object.
pub struct Fields<'f, 's> {
    keys: Keys,
    slots: &'f mut [Slot<'s>],
    unknown: Unknown<'f>,
    /// The key that comes next, if they come in order.
    expected: usize,
    /// `true` if errors about the object will be shown.
    pub(super) is_shown: bool,
    strange: Option<Box<Strange>>,
}

/// The state for keys that have no field.
#[derive(Debug, Default)]
struct Strange {
    misses: usize,
    /// The indices of the keys, built after enough look-ups.
    index: BTreeMap<&'static str, usize>,
    keys: Vec<String>,
}

impl<'f, 's> Fields<'f, 's> {
    /// Creates the fields under these keys.
    #[inline]
    pub fn new(keys: Keys, slots: &'f mut [Slot<'s>], unknown: Unknown<'f>) -> Self {
        Self { keys, slots, unknown, expected: 0, is_shown: true, strange: None }
    }

    /// Asks for at least one of several sets of properties.
    ///
    /// # Errors
    /// Fails if none of the sets is complete.
    pub fn require_any(&self, sets: &[&[&str]]) -> Result<(), Mismatch> {
        let is_there = |key: &&str| {
            let known = self.keys.iter().position(|known| known == key);
            known.is_some_and(|known| self.slots.get(known).is_none_or(|slot| slot.is_there))
        };
        if sets.iter().any(|set| set.iter().all(is_there)) {
            return Ok(());
        }
        let sets: Vec<_> = sets.iter().map(|set| format!("`{}`", set.join("`, `"))).collect();
        Err(Mismatch::new(format!("missing one of: {}", sets.join(" or "))))
    }

    /// Returns the keys that have no field.
    #[inline]
    pub fn finish(self) -> Strangers {
        Strangers(self.strange)
    }

    fn position(&mut self, key: &str) -> Option<usize> {
        // Servers and models send properties in the order of the schema, or nearly.
        if self.keys.get(self.expected).is_some_and(|known| *known == key) {
            return Some(self.expected);
        }
        match &self.strange {
            Some(strange) if !strange.index.is_empty() => strange.index.get(key).copied(),
            _ => {
                // The next key is usually near, because optional properties are left out.
                let (before, after) = self.keys.split_at_checked(self.expected).unwrap_or((self.keys, &[]));
                let is_key = |known: &&str| *known == key;
                after.iter().position(is_key).map(|at| before.len() + at).or_else(|| before.iter().position(is_key))
            }
        }
    }

    #[cold]
    fn stranger(&mut self, key: &str) -> Result<Place<'_>, Mismatch> {
        let is_shown = self.is_shown;
        let strange = self.strange.get_or_insert_default();
        strange.misses += 1;
        if strange.misses * self.keys.len() > MANY && strange.index.is_empty() {
            strange.index = self.keys.iter().enumerate().map(|(place, key)| (*key, place)).collect();
        }
        match &mut self.unknown {
            Unknown::Keep(extra) => Ok(Place::Extra(&mut **extra)),
            Unknown::Deny => {
                let absent = self.keys.iter().zip(&*self.slots).filter(|(_, slot)| !slot.is_there);
                let absent = absent.map(|(key, _)| *key).filter(|_| is_shown);
                let hint = match mcp_bindgen_model::nearest(key, absent).first() {
                    Some(near) => format!("; did you mean `{}`?", near.escape_debug()),
                    None => String::new(),
                };
                Err(Mismatch::new(format!("unknown property{hint}")))
            }
            Unknown::Ignore => {
                if is_shown && strange.keys.len() < MOST_STRANGERS {
                    strange.keys.push(key.to_owned());
                }
                Ok(Place::Lost)
            }
        }
    }
}

impl Places for Fields<'_, '_> {
    fn place<'p>(&'p mut self, key: &str) -> Result<Place<'p>, Mismatch> {
        let Some(found) = self.position(key) else { return self.stranger(key) };
        self.expected = found + 1;
        match self.slots.get_mut(found) {
            None => Ok(Place::Known),
            Some(slot) if slot.is_there => Err(Mismatch::twice()),
            Some(slot) => {
                slot.is_there = true;
                Ok(Place::Field(slot.sink.reborrow(), slot.is_optional))
            }
        }
    }

    fn fate(&self, key: &str) -> (Fate, bool) {
        let place = self.keys.iter().position(|known| *known == key);
        match (place.map(|place| self.slots.get(place)), &self.unknown) {
            (Some(Some(slot)), _) if slot.is_optional => (Fate::ReadUnlessNull, false),
            (Some(slot), _) => (Fate::Read, slot.is_some_and(|slot| slot.is_required)),
            (None, Unknown::Deny) => (Fate::Read, false),
            (None, Unknown::Keep(_)) => (Fate::Extra, false),
            (None, Unknown::Ignore) => (Fate::Lost, false),
        }
    }

    fn required(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_required).count()
    }

    #[cold]
    fn missing(&self, there: &[&str]) -> Mismatch {
        let required = self.keys.iter().zip(&*self.slots).filter(|(_, slot)| slot.is_required);
        let missing = required.map(|(key, _)| *key).find(|key| !there.contains(key));
        Mismatch::missing(missing.unwrap_or_default())
    }

    fn keys(&self) -> Option<Keys> {
        if matches!(self.unknown, Unknown::Keep(_)) { None } else { Some(self.keys) }
    }
}

/// The keys of an object that its type does not have.
#[derive(Debug)]
pub struct Strangers(Option<Box<Strange>>);

impl Strangers {
    /// Returns the mismatch of a missing property, with a similar key as a hint.
    #[cold]
    #[must_use]
    pub fn missing(&self, key: &'static str) -> Mismatch {
        missing_among(key, self.0.iter().flat_map(|strange| &strange.keys).map(String::as_str))
    }
}
