//! Samples: a lattice, whose join ignores counts and order.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::normalize::Kinds;

/// Values below this depth are anything.
pub(super) const DEEPEST: usize = 24;
/// An object with more keys has no fields.
const MOST_KEYS: usize = 256;
/// The limit if no key is in every object.
const MOST_OPTIONAL: usize = 64;
/// A double holds every whole number up to here.
const EXACT: u64 = 1 << 53;

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
    /// The kinds of values, apart from arrays and objects: all numbers, if one was written with a fraction or an
    /// exponent. With all kinds the values are too varied, and nothing else is recorded.
    pub(super) kinds: Kinds,
    /// `true` if an integer is too large for a double.
    pub(super) large: bool,
    /// The items, or `None` if there were no arrays.
    pub(super) array: Option<Box<Self>>,
    pub(super) object: Option<Object>,
}

/// Objects that were seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Object {
    Fields(BTreeMap<String, Field>),
    /// The keys change: everything that any value was.
    Map(Box<Sample>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
            Value::Number(number) => match number.as_i64() {
                Some(whole) => {
                    sample.kinds = Kinds::INTEGER;
                    sample.large = whole.unsigned_abs() > EXACT;
                }
                // No Rust type holds these and negative integers.
                None if number.is_u64() => return Self::anything(),
                None => sample.kinds = Kinds::NUMBER,
            },
            Value::Array(_) | Value::Object(_) if levels == 0 => return Self::anything(),
            Value::Array(items) => {
                let items = items.iter().map(|item| Self::below(item, is_data, levels - 1));
                sample.array = Some(Box::new(Self::join(items)));
            }
            Value::Object(members) => {
                let field = |value| Field { sample: Self::below(value, is_data, levels - 1), always: true };
                let fields = members.iter().map(|(key, value)| (key.clone(), field(value)));
                let is_map = members.keys().any(|key| is_data(key));
                sample.object = Some(Object::Fields(fields.collect()).settled(is_map));
            }
            value => sample.kinds = Kinds::of(value),
        }
        sample
    }

    pub(super) fn anything() -> Self {
        Self { kinds: Kinds::ALL, ..Self::default() }
    }

    /// Returns `true` if it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds another sample.
    pub fn merge(&mut self, other: &Self) {
        self.kinds = self.kinds | other.kinds;
        self.large |= other.large;
        // No type holds both fractions and large integers.
        if self.kinds == Kinds::ALL || (self.large && self.kinds.has(Kinds::NUMBER)) {
            *self = Self::anything();
            return;
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

impl Object {
    /// Returns the samples of all values.
    pub(super) fn samples(&self) -> Vec<&Sample> {
        match self {
            Self::Fields(fields) => fields.values().map(|field| &field.sample).collect(),
            Self::Map(values) => vec![values],
        }
    }

    fn and(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Fields(mut fields), Self::Fields(more)) => {
                for (key, field) in &mut fields {
                    field.always &= more.get(key).is_some_and(|other| other.always);
                }
                for (key, other) in more {
                    fields.entry(key.clone()).or_default().sample.merge(&other.sample);
                }
                Self::Fields(fields).settled(false)
            }
            (Self::Map(mut values), more) => {
                more.samples().into_iter().for_each(|sample| values.merge(sample));
                Self::Map(values)
            }
            (fields @ Self::Fields(_), more @ Self::Map(_)) => more.clone().and(&fields),
        }
    }

    /// Converts fields to a map if their keys are data, or vary. Later merges cannot undo that: they only add keys, and
    /// fewer keys are always present.
    fn settled(self, is_map: bool) -> Self {
        let Self::Fields(fields) = &self else { return self };
        let change = is_map
            || fields.len() > MOST_KEYS
            || (fields.len() > MOST_OPTIONAL && !fields.values().any(|field| field.always))
            || fields.keys().any(|key| is_id(key));
        if change { Self::Map(Box::default()).and(&self) } else { self }
    }
}

/// Fewer hexadecimal digits may be a word.
const FEWEST_DIGITS: usize = 16;
/// How long the groups of a UUID are.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// Returns `true` if a key looks like an id.
fn is_id(key: &str) -> bool {
    is_whole_number(key) || is_uuid(key) || is_hash(key) || is_date(key) || is_path_or_address(key)
}

fn is_whole_number(key: &str) -> bool {
    let digits = key.strip_prefix('-').unwrap_or(key);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_uuid(key: &str) -> bool {
    key.split('-').map(str::len).eq(UUID) && key.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Returns `true` for hexadecimal digits with at least one figure, which words do not have.
fn is_hash(key: &str) -> bool {
    let mut bytes = key.bytes();
    key.len() >= FEWEST_DIGITS
        && bytes.clone().all(|byte| byte.is_ascii_hexdigit())
        && bytes.any(|byte| byte.is_ascii_digit())
}

/// Returns `true` for a date like `2026-11-22`, with or without a time.
fn is_date(key: &str) -> bool {
    let form: String = key.chars().take(11).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    form.strip_prefix("0000-00-00").is_some_and(|rest| rest != "0")
}

/// Returns `true` for a path or an address; `@type` and `$ref` are keywords of formats.
fn is_path_or_address(key: &str) -> bool {
    key.contains('/') || key.char_indices().any(|(index, character)| character == '@' && index > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinguished_from_words() {
        for id in [
            "0",
            "-7",
            "10234",
            "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "2026-11-22",
            "2026-11-22T10:00:00Z",
            "src/lib.rs",
            "https://example.com/x",
            "a@example.com",
        ] {
            assert!(is_id(id), "{id}");
        }
        for word in [
            "",
            "-",
            "id",
            "p50",
            "h1",
            "@type",
            "$ref",
            "feedbeef",
            "x-2026-11-22",
            "2026-11-222",
            "24h",
            "deadbeefdeadbeef",
        ] {
            assert!(!is_id(word), "{word}");
        }
    }
}
