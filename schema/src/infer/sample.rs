//! Samples: a lattice, whose join ignores counts and order.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::keys::is_id;

/// Values below this depth are anything.
pub(super) const DEEPEST: usize = 24;
/// An object with more keys has no fields.
const MOST_KEYS: usize = 256;
/// The limit if no key is in every object.
const MOST_OPTIONAL: usize = 64;
/// A double holds every whole number up to here.
pub(super) const EXACT: u64 = 1 << 53;

/// The structure of the results at one position. It contains keys, but no values.
///
/// ```
/// use mcp_bindgen_schema::infer::Sample;
/// use serde_json::json;
///
/// let mut seen = Sample::default();
/// for result in [json!([1, 2]), json!([]), json!([0.5])] {
///     seen.merge(&Sample::of(&result));
/// }
/// assert_eq!(seen.schema(), json!({ "type": "array", "items": { "type": "number" } }));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// `true` if the values are too varied: nothing else is recorded then.
    pub(super) anything: bool,
    pub(super) null: bool,
    pub(super) boolean: bool,
    pub(super) numbers: Option<Numbers>,
    pub(super) string: bool,
    /// The items, or `None` if all arrays were empty.
    pub(super) array: Option<Box<Self>>,
    pub(super) object: Option<Object>,
}

/// Numbers that were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Some was written with a fraction or an exponent.
    pub(super) fraction: bool,
    /// Some whole one is too large for a double.
    pub(super) large: bool,
}

/// Objects that were seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Object {
    Fields(BTreeMap<String, Field>),
    /// The keys change: everything that any value was.
    Map(Box<Sample>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) sample: Sample,
    /// `true` if every object had the key.
    pub(super) always: bool,
}

impl Sample {
    /// Creates a sample of one value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        Self::of_keys(value, |_| false)
    }

    /// Creates a sample of one value, in which some keys are data: an object with one of them is a map.
    ///
    /// ```
    /// use mcp_bindgen_schema::infer::Sample;
    /// use serde_json::json;
    ///
    /// let seen = Sample::of_keys(&json!({ "ada": 1 }), |key| key == "ada");
    /// assert_eq!(seen.schema(), json!({ "type": "object", "additionalProperties": { "type": "integer" } }));
    /// ```
    #[must_use]
    pub fn of_keys(value: &Value, is_data: impl Fn(&str) -> bool) -> Self {
        Self::below(value, &is_data, DEEPEST)
    }

    fn below(value: &Value, is_data: &dyn Fn(&str) -> bool, levels: usize) -> Self {
        let mut sample = Self::default();
        match value {
            Value::Null => sample.null = true,
            Value::Bool(_) => sample.boolean = true,
            Value::Number(number) => match Numbers::of(number) {
                Some(numbers) => sample.numbers = Some(numbers),
                None => return Self::anything(),
            },
            Value::String(_) => sample.string = true,
            Value::Array(_) | Value::Object(_) if levels == 0 => return Self::anything(),
            Value::Array(items) => {
                sample.array =
                    Some(Box::new(Self::join(items.iter().map(|item| Self::below(item, is_data, levels - 1)))));
            }
            Value::Object(members) => {
                let values = || members.values().map(|value| Self::below(value, is_data, levels - 1));
                sample.object = Some(if members.keys().any(|key| is_data(key)) {
                    Object::Map(Box::new(Self::join(values())))
                } else {
                    let fields = members.keys().cloned().zip(values().map(|sample| Field { sample, always: true }));
                    Object::Fields(fields.collect()).settled()
                });
            }
        }
        sample
    }

    pub(super) fn anything() -> Self {
        Self { anything: true, ..Self::default() }
    }

    /// Returns `true` if it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds another sample.
    pub fn merge(&mut self, other: &Self) {
        if self.anything || other.anything {
            *self = Self::anything();
            return;
        }
        self.null |= other.null;
        self.boolean |= other.boolean;
        self.string |= other.string;
        if let Some(more) = other.numbers {
            let Some(numbers) = self.numbers.unwrap_or_default().and(more) else {
                *self = Self::anything();
                return;
            };
            self.numbers = Some(numbers);
        }
        if let Some(more) = &other.array {
            self.array.get_or_insert_default().merge(more);
        }
        self.object = match (self.object.take(), &other.object) {
            (Some(object), Some(more)) => Some(object.and(more)),
            (object, more) => object.or_else(|| more.clone()),
        };
    }

    fn join(samples: impl IntoIterator<Item = Self>) -> Self {
        samples.into_iter().fold(Self::default(), |mut all, one| {
            all.merge(&one);
            all
        })
    }
}

impl Numbers {
    /// Classifies a number, or returns `None` if no Rust type holds it exactly.
    fn of(number: &Number) -> Option<Self> {
        match number.as_i64() {
            Some(whole) => Some(Self { fraction: false, large: whole.unsigned_abs() > EXACT }),
            None if number.is_u64() => None,
            None => Some(Self { fraction: true, large: false }),
        }
    }

    /// Merges two kinds of numbers, or returns `None` if no type holds both.
    fn and(self, other: Self) -> Option<Self> {
        let both = Self { fraction: self.fraction || other.fraction, large: self.large || other.large };
        (!(both.fraction && both.large)).then_some(both)
    }
}

impl Object {
    fn and(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Fields(mut fields), Self::Fields(more)) => {
                for (key, field) in &mut fields {
                    field.always &= more.get(key).is_some_and(|other| other.always);
                }
                for (key, other) in more {
                    match fields.get_mut(key) {
                        Some(field) => field.sample.merge(&other.sample),
                        None => drop(fields.insert(key.clone(), Field { sample: other.sample.clone(), always: false })),
                    }
                }
                Self::Fields(fields).settled()
            }
            (Self::Map(mut values), more) => {
                match more {
                    Self::Map(more) => values.merge(more),
                    Self::Fields(fields) => fields.values().for_each(|field| values.merge(&field.sample)),
                }
                Self::Map(values)
            }
            (fields @ Self::Fields(_), more @ Self::Map(_)) => more.clone().and(&fields),
        }
    }

    /// Converts fields to a map once the keys vary. Later merges cannot undo that: they only add keys, and fewer keys
    /// are always present.
    fn settled(self) -> Self {
        let Self::Fields(fields) = &self else { return self };
        let change = fields.len() > MOST_KEYS
            || (fields.len() > MOST_OPTIONAL && !fields.values().any(|field| field.always))
            || fields.keys().any(|key| is_id(key));
        if change { Self::Map(Box::default()).and(&self) } else { self }
    }
}
