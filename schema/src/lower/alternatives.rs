//! The values that a schema allows, kind by kind: a set that can be united and intersected.

use std::collections::HashSet;
use std::hash::Hash;

use serde_json::Value;

use super::arrays::ArrayAlternative;
use super::numbers::Numbers;
use super::objects::ObjectAlternative;
use crate::normalize::Kinds;
use crate::number::{ByValue, distinct};

/// From this many kinds on, those that allow everything are one branch.
const MANY_KINDS: usize = 4;
/// The maximum number of alternatives of one kind that are distinguished.
pub(super) const MOST_ALTERNATIVES: usize = 300;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternatives {
    pub(super) null: bool,
    pub(super) booleans: Choice<bool>,
    pub(super) numbers: Numbers,
    pub(super) strings: Choice<String>,
    pub(super) arrays: Vec<ArrayAlternative>,
    pub(super) objects: Vec<ObjectAlternative>,
    /// Arrays and objects given as they are, by `enum` or `const`.
    pub(super) literals: Vec<Value>,
    /// `true` if there were too many alternatives to distinguish.
    pub(super) overflowed: bool,
}

/// Values of a kind: any of them, or a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Choice<T> {
    Any,
    Only(Vec<T>),
}

impl<T: Clone + Eq + Hash> Choice<T> {
    const NONE: Self = Self::Only(Vec::new());

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Only(values) if values.is_empty())
    }

    fn unite(&mut self, other: &Self) {
        match (&mut *self, other) {
            (_, Self::Only(right)) if right.is_empty() => {}
            (Self::Only(left), Self::Only(right)) => {
                let known: HashSet<&T> = left.iter().collect();
                let mut new: Vec<T> = right.iter().filter(|value| !known.contains(value)).cloned().collect();
                left.append(&mut new);
            }
            _ => *self = Self::Any,
        }
    }

    fn intersect(&mut self, other: &Self) {
        match (&mut *self, other) {
            (_, Self::Any) => {}
            (Self::Any, other) => *self = other.clone(),
            (Self::Only(left), Self::Only(right)) => {
                let known: HashSet<&T> = right.iter().collect();
                left.retain(|value| known.contains(value));
            }
        }
    }
}

impl Choice<bool> {
    /// Widens a choice to any value if it contains several values.
    fn or_both(self) -> Self {
        if matches!(&self, Self::Only(values) if values.len() > 1) { Self::Any } else { self }
    }
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
            booleans: if kinds.has(Kinds::BOOLEAN) { Choice::Any } else { Choice::NONE },
            numbers: if kinds.has(Kinds::NUMBER) {
                Numbers::ANY
            } else if kinds.has(Kinds::INTEGER) {
                Numbers::INTEGERS
            } else {
                Numbers::NONE
            },
            strings: if kinds.has(Kinds::STRING) { Choice::Any } else { Choice::NONE },
            arrays: kinds.has(Kinds::ARRAY).then(ArrayAlternative::default).into_iter().collect(),
            objects: kinds.has(Kinds::OBJECT).then(ObjectAlternative::default).into_iter().collect(),
            literals: Vec::new(),
            overflowed: false,
        }
    }

    pub(super) fn of_values(values: &[Value]) -> Self {
        let mut all = Self::nothing();
        let (mut booleans, mut numbers, mut strings) = (Vec::new(), Vec::new(), Vec::new());
        for value in values {
            match value {
                Value::Null => all.null = true,
                Value::Bool(value) => booleans.push(*value),
                Value::Number(number) => numbers.push(number.clone()),
                Value::String(text) => strings.push(text.clone()),
                Value::Array(_) | Value::Object(_) => all.literals.push(value.clone()),
            }
        }
        all.booleans = Choice::Only(distinct(&booleans, |value| value)).or_both();
        all.numbers = Numbers::listed(&numbers);
        all.strings = Choice::Only(distinct(&strings, |text| text));
        all.literals = distinct(&all.literals, ByValue);
        all
    }

    /// Creates the values of all of them.
    pub(super) fn union<'u>(all: impl IntoIterator<Item = &'u Self>) -> Self {
        let mut union = Self::nothing();
        let mut strings = Some(Vec::new());
        let mut numbers = Vec::new();
        for one in all {
            union.null |= one.null;
            union.booleans.unite(&one.booleans);
            union.booleans = union.booleans.or_both();
            match (&one.strings, &mut strings) {
                (Choice::Only(more), Some(strings)) => strings.extend_from_slice(more),
                (Choice::Any, _) | (_, None) => strings = None,
            }
            numbers.push(&one.numbers);
            add_new(&mut union.arrays, &one.arrays);
            add_new(&mut union.objects, &one.objects);
            union.literals.extend_from_slice(&one.literals);
            union.overflowed |= one.overflowed;
            union.bound();
        }
        union.strings = strings.map_or(Choice::Any, |strings| Choice::Only(distinct(&strings, |text| text)));
        union.numbers = Numbers::union(&numbers);
        union.literals = distinct(&union.literals, ByValue);
        union
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        self.intersect_literals(other);
        self.null &= other.null;
        self.booleans.intersect(&other.booleans);
        self.numbers.intersect(&other.numbers);
        self.strings.intersect(&other.strings);
        self.arrays = pairs(&self.arrays, &other.arrays, ArrayAlternative::intersection);
        self.objects = pairs(&self.objects, &other.objects, ObjectAlternative::intersection);
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
        let strings = if let Choice::Only(strings) = &self.strings { strings.len() } else { 0 };
        1 + (strings + self.numbers.weight() + self.literals.len()) / VALUES
            + self.arrays.iter().map(ArrayAlternative::weight).sum::<usize>()
            + self.objects.iter().map(ObjectAlternative::weight).sum::<usize>()
    }

    /// Returns the kinds of which every value is allowed, leaving out `null`.
    pub(super) fn open_kinds(&self) -> Vec<Kinds> {
        let kinds = [
            (Kinds::BOOLEAN, self.booleans == Choice::Any),
            (Kinds::NUMBER, self.numbers.is_any()),
            (Kinds::STRING, self.strings == Choice::Any),
            (Kinds::ARRAY, self.arrays.iter().any(ArrayAlternative::is_open)),
            (Kinds::OBJECT, self.objects.iter().any(ObjectAlternative::is_open)),
        ];
        kinds.into_iter().filter_map(|(kind, open)| open.then_some(kind)).collect()
    }

    pub(super) fn is_anything(&self) -> bool {
        self.null && self.open_kinds().len() == 5
    }

    /// Returns `true` if an untyped branch of the union takes `null`.
    pub(super) fn takes_null(&self) -> bool {
        self.null && self.open_kinds().len() >= MANY_KINDS
    }

    /// Returns how many ways there are, leaving out `null` and literals.
    pub(super) fn count(&self) -> usize {
        let of_one_way = [!self.booleans.is_none(), !self.numbers.is_none(), !self.strings.is_none()];
        of_one_way.into_iter().map(usize::from).sum::<usize>() + self.arrays.len() + self.objects.len()
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

fn pairs<T>(left: &[T], right: &[T], intersect: fn(&T, &T) -> Option<T>) -> Vec<T> {
    left.iter()
        .flat_map(|left| right.iter().filter_map(move |right| intersect(left, right)))
        .take(MOST_ALTERNATIVES + 1)
        .collect()
}
