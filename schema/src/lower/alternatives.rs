//! The values that a schema allows, kind by kind: a set that can be united and intersected.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::arrays::ArrayAlternative;
use super::numbers::Numbers;
use super::objects::ObjectAlternative;
use crate::normalize::Kinds;
use crate::number::{ByValue, distinct};
use crate::shape::Shape;

/// From this many kinds on, those that allow everything are one branch.
const MANY_KINDS: usize = 4;
/// The maximum number of alternatives of one kind that are distinguished.
pub(super) const MOST_ALTERNATIVES: usize = 300;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternatives {
    pub(super) null: bool,
    pub(super) booleans: BTreeSet<bool>,
    pub(super) numbers: Numbers,
    /// The strings; any, if they are not listed.
    pub(super) strings: Option<Vec<String>>,
    pub(super) arrays: Vec<ArrayAlternative>,
    pub(super) objects: Vec<ObjectAlternative>,
    /// Arrays and objects given as they are, by `enum` or `const`.
    pub(super) literals: Vec<Value>,
    /// `true` if there were too many alternatives to distinguish.
    pub(super) overflowed: bool,
}

impl Alternatives {
    pub(super) fn anything() -> Self {
        Self::of_kinds(Kinds::ALL)
    }

    pub(super) fn nothing() -> Self {
        Self::of_kinds(Kinds::NONE)
    }

    pub(super) fn of_kinds(kinds: Kinds) -> Self {
        Self {
            null: kinds.has(Kinds::NULL),
            booleans: [false, true].into_iter().filter(|_| kinds.has(Kinds::BOOLEAN)).collect(),
            numbers: match kinds {
                kinds if kinds.has(Kinds::NUMBER) => Numbers::ANY,
                kinds if kinds.has(Kinds::INTEGER) => Numbers::INTEGERS,
                _ => Numbers::NONE,
            },
            strings: (!kinds.has(Kinds::STRING)).then(Vec::new),
            arrays: kinds.has(Kinds::ARRAY).then(ArrayAlternative::default).into_iter().collect(),
            objects: kinds.has(Kinds::OBJECT).then(ObjectAlternative::default).into_iter().collect(),
            literals: Vec::new(),
            overflowed: false,
        }
    }

    pub(super) fn of_values(values: &[Value]) -> Self {
        let mut all = Self::nothing();
        let (mut numbers, mut strings) = (Vec::new(), Vec::new());
        for value in values {
            match value {
                Value::Null => all.null = true,
                Value::Bool(value) => drop(all.booleans.insert(*value)),
                Value::Number(number) => numbers.push(number.clone()),
                Value::String(text) => strings.push(text.clone()),
                Value::Array(_) | Value::Object(_) => all.literals.push(value.clone()),
            }
        }
        all.numbers = Numbers::listed(&numbers);
        all.strings = Some(distinct(&strings, |text| text));
        all.literals = distinct(&all.literals, ByValue);
        all
    }

    /// Creates the values of all of them.
    pub(super) fn union<'u>(all: impl IntoIterator<Item = &'u Self>) -> Self {
        let mut union = Self::nothing();
        let (mut strings, mut is_any_string, mut numbers) = (Vec::new(), false, Vec::new());
        for one in all {
            union.null |= one.null;
            union.booleans.extend(&one.booleans);
            strings.extend(one.strings.iter().flatten().cloned());
            is_any_string |= one.strings.is_none();
            numbers.push(&one.numbers);
            add_new(&mut union.arrays, &one.arrays);
            add_new(&mut union.objects, &one.objects);
            union.literals.extend_from_slice(&one.literals);
            union.overflowed |= one.overflowed;
            union.bound();
        }
        union.strings = (!is_any_string).then(|| distinct(&strings, |text| text));
        union.numbers = Numbers::union(&numbers);
        union.literals = distinct(&union.literals, ByValue);
        union
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        self.intersect_literals(other);
        self.null &= other.null;
        self.booleans.retain(|value| other.booleans.contains(value));
        self.numbers.intersect(&other.numbers);
        if let (Some(strings), Some(others)) = (&mut self.strings, &other.strings) {
            let others: HashSet<&String> = others.iter().collect();
            strings.retain(|text| others.contains(text));
        } else if self.strings.is_none() {
            self.strings.clone_from(&other.strings);
        }
        self.arrays = pairs(&self.arrays, &other.arrays, |left| |right| left.intersection(right));
        self.objects = pairs(&self.objects, &other.objects, |left| {
            let index = left.index();
            move |right| left.intersection(&index, right)
        });
        self.overflowed |= other.overflowed;
        self.bound();
    }

    fn intersect_literals(&mut self, other: &Self) {
        if other.is_open() {
            return;
        }
        if self.is_open() {
            self.literals.clone_from(&other.literals);
            return;
        }
        let admits = |alternatives: &Self, listed: &HashSet<ByValue<'_>>, value: &Value| {
            listed.contains(&ByValue(value))
                || if value.is_array() { !alternatives.arrays.is_empty() } else { !alternatives.objects.is_empty() }
        };
        let [left, right] =
            [&self.literals, &other.literals].map(|values| values.iter().map(ByValue).collect::<HashSet<_>>());
        let kept = self.literals.iter().filter(|value| admits(other, &right, value));
        let more = other.literals.iter().filter(|value| !left.contains(&ByValue(value)) && admits(self, &left, value));
        self.literals = kept.chain(more).cloned().collect();
    }

    /// Estimates the cost of comparing or copying.
    pub(super) fn weight(&self) -> usize {
        // Listed values are many, and quickly hashed.
        const VALUES: usize = 8;
        1 + (self.strings.as_ref().map_or(0, Vec::len) + self.numbers.weight() + self.literals.len()) / VALUES
            + self.arrays.iter().map(ArrayAlternative::weight).sum::<usize>()
            + self.objects.iter().map(ObjectAlternative::weight).sum::<usize>()
    }

    /// Returns how many ways there are to be of one kind.
    pub(super) fn ways(&self) -> usize {
        self.arrays.len().max(self.objects.len())
    }

    /// Returns the kinds of which every value is allowed, leaving out `null`.
    fn open_kinds(&self) -> Vec<Kinds> {
        let kinds = [
            (Kinds::BOOLEAN, self.booleans.len() == 2),
            (Kinds::NUMBER, self.numbers.is_any()),
            (Kinds::STRING, self.strings.is_none()),
            (Kinds::ARRAY, self.arrays.iter().any(ArrayAlternative::is_open)),
            (Kinds::OBJECT, self.objects.iter().any(ObjectAlternative::is_open)),
        ];
        kinds.into_iter().filter_map(|(kind, open)| open.then_some(kind)).collect()
    }

    /// Takes the kinds out of which everything is allowed, and `null`.
    pub(super) fn take_open_kinds(&mut self) -> Kinds {
        let kinds = self.open_kinds();
        for kind in &kinds {
            match *kind {
                Kinds::BOOLEAN => self.booleans.clear(),
                Kinds::NUMBER => self.numbers = Numbers::NONE,
                Kinds::STRING => self.strings = Some(Vec::new()),
                Kinds::ARRAY => self.arrays.clear(),
                _ => self.objects.clear(),
            }
        }
        kinds.into_iter().fold(Kinds::NULL, |all, kind| all | kind)
    }

    pub(super) fn is_anything(&self) -> bool {
        self.null && self.open_kinds().len() == 5
    }

    /// Returns `true` if an untyped branch of the union takes `null`.
    pub(super) fn takes_null(&self) -> bool {
        self.null && self.open_kinds().len() >= MANY_KINDS
    }

    pub(super) fn has_strings(&self) -> bool {
        self.strings.as_ref().is_none_or(|listed| !listed.is_empty())
    }

    /// Returns how many ways there are, leaving out `null` and literals.
    pub(super) fn count(&self) -> usize {
        let scalars = [!self.booleans.is_empty(), !self.numbers.is_none(), self.has_strings()];
        scalars.into_iter().filter(|has| *has).count() + self.arrays.len() + self.objects.len()
    }

    /// Returns `true` if nothing is allowed, leaving out `null`.
    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0 && self.literals.is_empty()
    }

    /// Returns the values, if all are listed.
    pub(super) fn listed(&self) -> Option<impl Iterator<Item = Value>> {
        let (Some(texts), Numbers::Only(numbers)) = (&self.strings, &self.numbers) else { return None };
        let is_open = self.null || self.booleans.len() == 2 || !self.arrays.is_empty() || !self.objects.is_empty();
        let texts = texts.iter().cloned().map(Value::from);
        let numbers = numbers.iter().cloned().map(Value::from);
        let booleans = self.booleans.iter().copied().map(Value::from);
        (!is_open).then(|| texts.chain(numbers).chain(booleans).chain(self.literals.iter().cloned()))
    }

    /// Returns the shape of listed values.
    pub(super) fn enumeration(&self) -> Option<Shape> {
        let values: Vec<Value> = self.listed()?.collect();
        let texts: Option<Vec<String>> = values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        match texts {
            Some(texts) => (!texts.is_empty()).then_some(Shape::TextEnum(texts)),
            None => Some(Shape::LiteralEnum(values)),
        }
    }

    /// Returns `true` if every array and every object is allowed.
    fn is_open(&self) -> bool {
        self.arrays.iter().any(ArrayAlternative::is_open) && self.objects.iter().any(ObjectAlternative::is_open)
    }

    /// Replaces too many alternatives of a kind with one that allows everything.
    fn bound(&mut self) {
        if self.arrays.len() > MOST_ALTERNATIVES {
            self.arrays = vec![ArrayAlternative::default()];
            self.overflowed = true;
        }
        if self.objects.len() > MOST_ALTERNATIVES {
            self.objects = vec![ObjectAlternative::default()];
            self.overflowed = true;
        }
    }
}

fn add_new<T: Clone + PartialEq>(all: &mut Vec<T>, more: &[T]) {
    for one in more {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
}

/// Intersects each with each; `intersect_with` is called once for each on the left.
fn pairs<'p, T, F: FnMut(&'p T) -> Option<T>>(
    left: &'p [T],
    right: &'p [T],
    intersect_with: impl Fn(&'p T) -> F,
) -> Vec<T> {
    left.iter().flat_map(|left| right.iter().filter_map(intersect_with(left))).take(MOST_ALTERNATIVES + 1).collect()
}
