//! What a schema allows, kind by kind: a set that can be united and intersected.

use serde_json::{Number, Value};

use super::arrays::ArrayAlternative;
use super::objects::ObjectAlternative;
use crate::normalize::{Kinds, SchemaId};

/// Schemas that hold together; none means anything.
pub(super) type Conjunction = Vec<SchemaId>;

pub(super) fn both(left: &Conjunction, right: &Conjunction) -> Conjunction {
    let mut all = left.clone();
    all.extend(right.iter().filter(|id| !left.contains(id)));
    all.sort_unstable();
    all
}

/// More alternatives than this of one kind are not told apart.
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
    /// There were too many alternatives to keep apart.
    pub(super) overflowed: bool,
}

/// Values of a kind: any of them, or a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Choice<T> {
    Any,
    Only(Vec<T>),
}

impl<T: Clone + PartialEq> Choice<T> {
    const NONE: Self = Self::Only(Vec::new());

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Only(values) if values.is_empty())
    }

    fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Only(mut left), Self::Only(right)) => {
                left.extend(right.into_iter().filter(|value| !left.contains(value)).collect::<Vec<_>>());
                Self::Only(left)
            }
            _ => Self::Any,
        }
    }

    fn intersection(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, other) | (other, Self::Any) => other,
            (Self::Only(left), Self::Only(right)) => {
                Self::Only(left.into_iter().filter(|value| right.contains(value)).collect())
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    Any,
    Integers { least: Option<i128>, greatest: Option<i128> },
    Only(Vec<Number>),
}

impl Numbers {
    const NONE: Self = Self::Only(Vec::new());

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Only(values) if values.is_empty())
    }

    fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => Self::Any,
            (left, right) if left.is_none() => right,
            (left, right) if right.is_none() => left,
            (Self::Only(mut left), Self::Only(right)) => {
                left.extend(
                    right
                        .into_iter()
                        .filter(|number| !left.iter().any(|known| same(known, number)))
                        .collect::<Vec<_>>(),
                );
                Self::Only(left)
            }
            (Self::Integers { least: a, greatest: b }, Self::Integers { least: c, greatest: d }) => {
                Self::Integers { least: a.zip(c).map(|(a, c)| a.min(c)), greatest: b.zip(d).map(|(b, d)| b.max(d)) }
            }
            (Self::Integers { .. }, Self::Only(values)) | (Self::Only(values), Self::Integers { .. }) => {
                if values.iter().all(is_integral) { Self::Integers { least: None, greatest: None } } else { Self::Any }
            }
        }
    }

    fn intersection(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, other) | (other, Self::Any) => other,
            (Self::Only(left), Self::Only(right)) => {
                Self::Only(left.into_iter().filter(|number| right.iter().any(|known| same(known, number))).collect())
            }
            (Self::Integers { least: a, greatest: b }, Self::Integers { least: c, greatest: d }) => {
                Self::Integers { least: a.into_iter().chain(c).max(), greatest: b.into_iter().chain(d).min() }
            }
            (Self::Integers { .. }, Self::Only(values)) | (Self::Only(values), Self::Integers { .. }) => {
                Self::Only(values.into_iter().filter(is_integral).collect())
            }
        }
    }
}

fn same(left: &Number, right: &Number) -> bool {
    left == right || (left.as_f64() == right.as_f64() && (left.is_f64() || right.is_f64()))
}

fn is_integral(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

impl Alternatives {
    pub(super) fn anything() -> Self {
        Self {
            null: true,
            booleans: Choice::Any,
            numbers: Numbers::Any,
            strings: Choice::Any,
            arrays: vec![ArrayAlternative::default()],
            objects: vec![ObjectAlternative::default()],
            literals: Vec::new(),
            overflowed: false,
        }
    }

    pub(super) fn nothing() -> Self {
        Self {
            null: false,
            booleans: Choice::NONE,
            numbers: Numbers::NONE,
            strings: Choice::NONE,
            arrays: Vec::new(),
            objects: Vec::new(),
            literals: Vec::new(),
            overflowed: false,
        }
    }

    pub(super) fn of_kinds(kinds: Kinds) -> Self {
        let any = Self::anything();
        Self {
            null: kinds.has(Kinds::NULL),
            booleans: if kinds.has(Kinds::BOOLEAN) { Choice::Any } else { Choice::NONE },
            numbers: if kinds.has(Kinds::NUMBER) {
                Numbers::Any
            } else if kinds.has(Kinds::INTEGER) {
                Numbers::Integers { least: None, greatest: None }
            } else {
                Numbers::NONE
            },
            strings: if kinds.has(Kinds::STRING) { Choice::Any } else { Choice::NONE },
            arrays: if kinds.has(Kinds::ARRAY) { any.arrays } else { Vec::new() },
            objects: if kinds.has(Kinds::OBJECT) { any.objects } else { Vec::new() },
            literals: Vec::new(),
            overflowed: false,
        }
    }

    pub(super) fn of_values(values: &[Value]) -> Self {
        let mut all = Self::nothing();
        for value in values {
            let mut one = Self::nothing();
            match value {
                Value::Null => one.null = true,
                Value::Bool(value) => one.booleans = Choice::Only(vec![*value]),
                Value::Number(number) => one.numbers = Numbers::Only(vec![number.clone()]),
                Value::String(text) => one.strings = Choice::Only(vec![text.clone()]),
                Value::Array(_) | Value::Object(_) => one.literals.push(value.clone()),
            }
            all = all.union(one);
        }
        all
    }

    pub(super) fn union(mut self, other: Self) -> Self {
        self.null |= other.null;
        self.booleans = self.booleans.union(other.booleans);
        self.numbers = self.numbers.union(other.numbers);
        self.strings = self.strings.union(other.strings);
        for array in other.arrays {
            if !self.arrays.contains(&array) {
                self.arrays.push(array);
            }
        }
        for object in other.objects {
            if !self.objects.contains(&object) {
                self.objects.push(object);
            }
        }
        for literal in other.literals {
            if !self.literals.contains(&literal) {
                self.literals.push(literal);
            }
        }
        self.overflowed |= other.overflowed;
        self.bounded()
    }

    pub(super) fn intersection(self, other: Self) -> Self {
        let literals = if self.is_open() {
            other.literals
        } else if other.is_open() {
            self.literals
        } else {
            let admits = |alternatives: &Self, value: &Value| {
                alternatives.literals.contains(value)
                    || if value.is_array() { !alternatives.arrays.is_empty() } else { !alternatives.objects.is_empty() }
            };
            let mut kept: Vec<_> = self.literals.iter().filter(|value| admits(&other, value)).cloned().collect();
            kept.extend(
                other
                    .literals
                    .iter()
                    .filter(|value| !kept.contains(value) && admits(&self, value))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
            kept
        };
        Self {
            null: self.null && other.null,
            booleans: self.booleans.intersection(other.booleans),
            numbers: self.numbers.intersection(other.numbers),
            strings: self.strings.intersection(other.strings),
            arrays: pairs(&self.arrays, &other.arrays, ArrayAlternative::intersection),
            objects: pairs(&self.objects, &other.objects, ObjectAlternative::intersection),
            literals,
            overflowed: self.overflowed || other.overflowed,
        }
        .bounded()
    }

    /// Whether every array and every object is allowed.
    fn is_open(&self) -> bool {
        self.arrays.iter().any(ArrayAlternative::is_open) && self.objects.iter().any(ObjectAlternative::is_open)
    }

    /// Many alternatives become one that allows everything of their kind.
    fn bounded(mut self) -> Self {
        if self.arrays.len() > MOST_ALTERNATIVES {
            self.arrays = vec![ArrayAlternative::default()];
            self.overflowed = true;
        }
        if self.objects.len() > MOST_ALTERNATIVES {
            self.objects = vec![ObjectAlternative::default()];
            self.overflowed = true;
        }
        self
    }
}

fn pairs<T>(left: &[T], right: &[T], intersect: fn(&T, &T) -> Option<T>) -> Vec<T> {
    left.iter()
        .flat_map(|left| right.iter().filter_map(move |right| intersect(left, right)))
        .take(MOST_ALTERNATIVES + 1)
        .collect()
}
