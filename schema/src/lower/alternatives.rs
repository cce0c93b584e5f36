//! The values that a schema allows, kind by kind: a set that can be united and intersected.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use super::arrays::ArrayAlternative;
use super::numbers::Numbers;
use super::objects::ObjectAlternative;
use crate::keys;
use crate::normalize::Kinds;
use crate::number::{ByValue, by_value, distinct};
use crate::shape::Shape;

/// From this many kinds on, those that allow everything are one branch.
const MANY_KINDS: usize = 4;
/// The maximum number of alternatives of one kind that are distinguished.
pub(super) const MOST_ALTERNATIVES: usize = 300;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternatives {
    pub(super) null: bool,
    /// Whether `false` and `true` are allowed.
    pub(super) booleans: (bool, bool),
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
        let boolean = kinds.has(Kinds::BOOLEAN);
        Self {
            null: kinds.has(Kinds::NULL),
            booleans: (boolean, boolean),
            numbers: match kinds {
                kinds if kinds.has(Kinds::NUMBER) => Numbers::ANY,
                kinds if kinds.has(Kinds::INTEGER) => Numbers::INTEGERS,
                _ => Numbers::NONE,
            },
            strings: (!kinds.has(Kinds::STRING)).then(Vec::new),
            arrays: if kinds.has(Kinds::ARRAY) { vec![ArrayAlternative::default()] } else { Vec::new() },
            objects: if kinds.has(Kinds::OBJECT) { vec![ObjectAlternative::default()] } else { Vec::new() },
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
                Value::Bool(false) => all.booleans.0 = true,
                Value::Bool(true) => all.booleans.1 = true,
                Value::Number(_) => numbers.push(value.clone()),
                Value::String(text) => strings.push(text.as_str()),
                Value::Array(_) | Value::Object(_) => all.literals.push(value.clone()),
            }
        }
        all.numbers = Numbers::listed(&numbers);
        all.strings = Some(keys::distinct(&strings));
        all.literals = distinct(&all.literals, ByValue);
        all
    }

    /// Creates the values of all of them.
    pub(super) fn union(all: &[Rc<Self>]) -> Self {
        let mut union = Self::nothing();
        let (mut strings, mut is_any_string, mut numbers) = (Vec::new(), false, Vec::new());
        for one in all {
            union.null |= one.null;
            union.booleans = (union.booleans.0 | one.booleans.0, union.booleans.1 | one.booleans.1);
            match &one.strings {
                Some(listed) => listed.iter().for_each(|text| strings.push(text.as_str())),
                None => is_any_string = true,
            }
            numbers.push(&one.numbers);
            add_new(&mut union.arrays, &one.arrays);
            add_new(&mut union.objects, &one.objects);
            union.literals.extend_from_slice(&one.literals);
            union.overflowed |= one.overflowed;
            union.bound();
        }
        union.strings = (!is_any_string).then(|| keys::distinct(&strings));
        union.numbers = Numbers::union(&numbers);
        union.literals = distinct(&union.literals, ByValue);
        union
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        self.intersect_literals(other);
        self.null &= other.null;
        self.booleans = (self.booleans.0 & other.booleans.0, self.booleans.1 & other.booleans.1);
        self.numbers.intersect(&other.numbers);
        if let (Some(strings), Some(others)) = (&mut self.strings, &other.strings) {
            let others = keys::set(others);
            strings.retain(|text| others.contains(text.as_str()));
        } else if self.strings.is_none() {
            self.strings.clone_from(&other.strings);
        }
        let (mut arrays, mut objects) = (Vec::new(), Vec::new());
        for left in &self.arrays {
            for right in &other.arrays {
                if arrays.len() <= MOST_ALTERNATIVES {
                    arrays.extend(left.intersection(right));
                }
            }
        }
        for left in &self.objects {
            let index = left.index();
            for right in &other.objects {
                if objects.len() <= MOST_ALTERNATIVES {
                    objects.extend(left.intersection(&index, right));
                }
            }
        }
        (self.arrays, self.objects) = (arrays, objects);
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
        let (left, right) = (by_value(&self.literals), by_value(&other.literals));
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
    fn open_kinds(&self) -> Kinds {
        let mut open = Kinds::NONE;
        for (kind, is_open) in [
            (Kinds::BOOLEAN, self.booleans == (true, true)),
            (Kinds::NUMBER, self.numbers.is_any()),
            (Kinds::STRING, self.strings.is_none()),
            (Kinds::ARRAY, self.arrays.iter().any(ArrayAlternative::is_open)),
            (Kinds::OBJECT, self.objects.iter().any(ObjectAlternative::is_open)),
        ] {
            open = if is_open { open | kind } else { open };
        }
        open
    }

    /// Takes the kinds out of which everything is allowed, and `null`.
    pub(super) fn take_open_kinds(&mut self) -> Kinds {
        let open = self.open_kinds();
        for kind in open.each() {
            match kind {
                Kinds::BOOLEAN => self.booleans = (false, false),
                Kinds::INTEGER | Kinds::FRACTION => self.numbers = Numbers::NONE,
                Kinds::STRING => self.strings = Some(Vec::new()),
                Kinds::ARRAY => self.arrays.clear(),
                _ => self.objects.clear(),
            }
        }
        open | Kinds::NULL
    }

    pub(super) fn is_anything(&self) -> bool {
        self.null && (self.open_kinds() | Kinds::NULL) == Kinds::ALL
    }

    /// Returns `true` if an untyped branch of the union takes `null`.
    pub(super) fn takes_null(&self) -> bool {
        self.null && self.open_kinds().names().len() >= MANY_KINDS
    }

    pub(super) fn has_strings(&self) -> bool {
        self.strings.as_ref().is_none_or(|listed| !listed.is_empty())
    }

    /// Returns how many ways there are, leaving out `null` and literals.
    pub(super) fn count(&self) -> usize {
        let (has_booleans, has_numbers) = (self.booleans != (false, false), !self.numbers.is_none());
        let scalars = usize::from(has_booleans) + usize::from(has_numbers) + usize::from(self.has_strings());
        scalars + self.arrays.len() + self.objects.len()
    }

    /// Returns `true` if nothing is allowed, leaving out `null`.
    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0 && self.literals.is_empty()
    }

    /// Returns the values, if all are listed.
    fn listed(&self) -> Option<Vec<Value>> {
        let (Some(texts), Numbers::Only(numbers)) = (&self.strings, &self.numbers) else { return None };
        if self.null || self.booleans == (true, true) || !self.arrays.is_empty() || !self.objects.is_empty() {
            return None;
        }
        let mut listed = Vec::new();
        texts.iter().for_each(|text| listed.push(text.as_str().into()));
        listed.extend_from_slice(numbers);
        if self.booleans != (false, false) {
            listed.push(self.booleans.1.into());
        }
        listed.extend_from_slice(&self.literals);
        Some(listed)
    }

    /// Returns the value, if it is the only one.
    pub(super) fn only(&self) -> Option<Value> {
        let listed = self.strings.as_ref()?.len() + self.numbers.weight() + self.literals.len();
        if listed > 1 { None } else { self.listed().filter(|listed| listed.len() == 1)?.pop() }
    }

    /// Returns the shape of listed values.
    pub(super) fn enumeration(&self) -> Option<Shape> {
        let values = self.listed()?;
        match &self.strings {
            Some(texts) if texts.len() == values.len() => (!texts.is_empty()).then(|| Shape::TextEnum(texts.clone())),
            _ => Some(Shape::LiteralEnum(values)),
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
