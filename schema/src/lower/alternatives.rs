//! The values that a schema allows, kind by kind: a set that can be united and intersected.

use std::rc::Rc;

use serde_json::Value;

use super::arrays::ArrayAlternative;
use super::objects::ObjectAlternative;
use crate::normalize::Kinds;
use crate::number::{ByValue, by_value, distinct, floor, is_integral, smaller};
use crate::shape::Shape;

/// From this many kinds on, those that allow everything are one branch.
const MANY_KINDS: usize = 4;
/// The maximum number of alternatives of one kind that are distinguished.
pub(super) const MOST_ALTERNATIVES: usize = 300;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternatives {
    /// The kinds, of `null`, booleans and strings, of which every value is allowed.
    pub(super) open: Kinds,
    /// The numbers, if they are not listed.
    pub(super) numbers: Option<Range>,
    pub(super) arrays: Vec<ArrayAlternative>,
    pub(super) objects: Vec<ObjectAlternative>,
    /// The values that `enum` or `const` lists, of kinds that are not open: strings first, then numbers, a boolean,
    /// arrays and objects.
    pub(super) listed: Vec<Value>,
    /// The kinds of the listed values; a listed array or object counts as both.
    pub(super) listed_kinds: Kinds,
    /// `true` if there were too many alternatives to distinguish.
    pub(super) overflowed: bool,
}

/// Every number, or every integer, between bounds. Bounds of numbers that need not be whole decide nothing, until
/// another schema asks for whole ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) whole: bool,
    pub(super) least: Option<i128>,
    pub(super) greatest: Option<i128>,
}

impl Range {
    /// Creates the range of one number.
    fn of(number: &Value) -> Self {
        // `floor` clamps to 128 bits. Integers from 2^126 on get no bounds.
        let whole = number.as_number().filter(|number| is_integral(number)).map(floor);
        let whole = whole.filter(|whole| whole.unsigned_abs() < 1 << 126);
        Self { whole: whole.is_some(), least: whole, greatest: whole }
    }

    fn union(self, other: Self) -> Self {
        Self {
            whole: self.whole && other.whole,
            least: self.least.zip(other.least).map(|(left, right)| left.min(right)),
            greatest: self.greatest.zip(other.greatest).map(|(left, right)| left.max(right)),
        }
    }

    fn intersection(self, other: Self) -> Self {
        Self {
            whole: self.whole || other.whole,
            least: self.least.max(other.least),
            greatest: smaller(self.greatest, other.greatest),
        }
    }
}

/// Returns the kinds of values that are listed together.
fn kinds_of(value: &Value) -> Kinds {
    match value {
        Value::Number(_) => Kinds::NUMBER,
        Value::Array(_) | Value::Object(_) => Kinds::ARRAY | Kinds::OBJECT,
        value => Kinds::of(value),
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
        let numbers = Range { whole: !kinds.has(Kinds::NUMBER), least: None, greatest: None };
        Self {
            open: kinds.intersection(Kinds::NULL | Kinds::BOOLEAN | Kinds::STRING),
            numbers: kinds.has(Kinds::INTEGER).then_some(numbers),
            arrays: if kinds.has(Kinds::ARRAY) { vec![ArrayAlternative::default()] } else { Vec::new() },
            objects: if kinds.has(Kinds::OBJECT) { vec![ObjectAlternative::default()] } else { Vec::new() },
            listed: Vec::new(),
            listed_kinds: Kinds::NONE,
            overflowed: false,
        }
    }

    pub(super) fn of_values(values: &[Value]) -> Self {
        let mut all = Self::nothing();
        all.list(values);
        all
    }

    /// Lists these values in place of others, each once, unless they are of an open kind. Arrays and objects have a branch
    /// of their own.
    fn list(&mut self, values: &[Value]) {
        let values = distinct(values, ByValue);
        let has = |value: Value| values.contains(&value);
        for (kind, is_open) in
            [(Kinds::NULL, has(Value::Null)), (Kinds::BOOLEAN, has(true.into()) && has(false.into()))]
        {
            self.open = if is_open { self.open | kind } else { self.open };
        }
        (self.listed, self.listed_kinds) = (Vec::new(), Kinds::NONE);
        let open = self.open_kinds().without(Kinds::ARRAY | Kinds::OBJECT);
        for kinds in [Kinds::STRING, Kinds::NUMBER, Kinds::BOOLEAN, Kinds::ARRAY | Kinds::OBJECT] {
            for value in values.iter().filter(|value| kinds_of(value) == kinds) {
                if let Some(range) = self.numbers.filter(|_| kinds == Kinds::NUMBER) {
                    self.numbers = Some(range.union(Range::of(value)));
                } else if !open.intersects(Kinds::of(value)) {
                    self.listed.push(value.clone());
                    self.listed_kinds = self.listed_kinds | kinds;
                }
            }
        }
    }

    /// Creates the values of all of them.
    pub(super) fn union(all: &[Rc<Self>]) -> Self {
        let (mut union, mut listed) = (Self::nothing(), Vec::new());
        for one in all {
            union.open = union.open | one.open;
            union.numbers = match (union.numbers, one.numbers) {
                (Some(left), Some(right)) => Some(left.union(right)),
                (left, right) => left.or(right),
            };
            add_new(&mut union.arrays, &one.arrays);
            add_new(&mut union.objects, &one.objects);
            listed.extend_from_slice(&one.listed);
            union.overflowed |= one.overflowed;
            union.bound();
        }
        union.list(&listed);
        union
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        let (left, right) = (by_value(&self.listed), by_value(&other.listed));
        // If a side allows all arrays and objects, the ones that it also lists restrict nothing.
        let literals = Kinds::ARRAY | Kinds::OBJECT;
        let [own_are_idle, others_are_idle] = [&*self, other].map(|side| side.open_kinds().has(literals));
        let is_skipped = |is_idle: bool, value: &Value| is_idle && literals.intersects(Kinds::of(value));
        let skips_own = own_are_idle && !others_are_idle;
        let kept = self
            .listed
            .iter()
            .filter(|value| !is_skipped(skips_own, value) && (right.contains(&ByValue(value)) || other.admits(value)));
        let more = other.listed.iter().filter(|value| {
            let is_kept = left.contains(&ByValue(value)) && !is_skipped(skips_own, value);
            !is_skipped(others_are_idle, value) && !is_kept && self.admits(value)
        });
        let listed: Vec<Value> = kept.chain(more).cloned().collect();
        self.open = self.open.intersection(other.open);
        self.numbers = self.numbers.zip(other.numbers).map(|(left, right)| left.intersection(right));
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
        self.list(&listed);
    }

    /// Returns `true` if a value may be allowed without being listed.
    fn admits(&self, value: &Value) -> bool {
        match value {
            Value::Array(_) => !self.arrays.is_empty(),
            Value::Object(_) => !self.objects.is_empty(),
            Value::Number(number) => self.numbers.is_some_and(|range| !range.whole || is_integral(number)),
            value => self.open.has(Kinds::of(value)),
        }
    }

    /// Estimates the cost of comparing or copying.
    pub(super) fn weight(&self) -> usize {
        // Listed values are many, and quickly hashed.
        const VALUES: usize = 8;
        1 + self.listed.len() / VALUES
            + self.arrays.iter().map(ArrayAlternative::weight).sum::<usize>()
            + self.objects.iter().map(ObjectAlternative::weight).sum::<usize>()
    }

    /// Returns how many ways there are to be of one kind.
    pub(super) fn ways(&self) -> usize {
        self.arrays.len().max(self.objects.len())
    }

    /// Returns the kinds of which every value is allowed, leaving out `null`.
    fn open_kinds(&self) -> Kinds {
        let mut open = self.open.without(Kinds::NULL);
        for (kind, is_open) in [
            (Kinds::NUMBER, self.numbers.is_some_and(|range| !range.whole)),
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
        self.open = Kinds::NONE;
        self.numbers = self.numbers.filter(|range| range.whole);
        if open.has(Kinds::ARRAY) {
            self.arrays.clear();
        }
        if open.has(Kinds::OBJECT) {
            self.objects.clear();
        }
        open | Kinds::NULL
    }

    pub(super) fn is_anything(&self) -> bool {
        self.has_null() && (self.open_kinds() | Kinds::NULL) == Kinds::ALL
    }

    /// Returns `true` if an untyped branch of the union takes `null`.
    pub(super) fn takes_null(&self) -> bool {
        self.has_null() && self.open_kinds().names().len() >= MANY_KINDS
    }

    pub(super) fn has_null(&self) -> bool {
        self.open.has(Kinds::NULL)
    }

    pub(super) fn has_strings(&self) -> bool {
        (self.open | self.listed_kinds).has(Kinds::STRING)
    }

    pub(super) fn has_numbers(&self) -> bool {
        self.numbers.is_some() || self.listed_kinds.has(Kinds::NUMBER)
    }

    /// Returns `true` if arrays or objects are listed.
    pub(super) fn has_literals(&self) -> bool {
        self.listed_kinds.has(Kinds::OBJECT)
    }

    /// Returns how many ways there are, leaving out `null` and literals.
    pub(super) fn count(&self) -> usize {
        let has_booleans = (self.open | self.listed_kinds).has(Kinds::BOOLEAN);
        let scalars = [has_booleans, self.has_numbers(), self.has_strings()].map(usize::from);
        scalars.iter().sum::<usize>() + self.arrays.len() + self.objects.len()
    }

    /// Returns `true` if nothing is allowed, leaving out `null`.
    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0 && !self.has_literals()
    }

    /// Returns the values, if all are listed.
    fn values(&self) -> Option<&[Value]> {
        let has_more = self.open != Kinds::NONE || self.numbers.is_some() || self.ways() > 0;
        (!has_more).then_some(self.listed.as_slice())
    }

    /// Returns the value, if it is the only one.
    pub(super) fn only(&self) -> Option<Value> {
        if let Some([only]) = self.values() { Some(only.clone()) } else { None }
    }

    /// Returns the shape of listed values.
    pub(super) fn enumeration(&self) -> Option<Shape> {
        let values = self.values().filter(|values| !values.is_empty())?;
        if self.listed_kinds != Kinds::STRING {
            return Some(Shape::LiteralEnum(values.to_vec()));
        }
        Some(Shape::TextEnum(values.iter().filter_map(Value::as_str).map(str::to_owned).collect()))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(values: Value) -> Alternatives {
        Alternatives::of_values(values.as_array().expect("values"))
    }

    #[test]
    fn numbers_are_distinguished_by_value() {
        assert_eq!(listed(json!([5, 5.0, 1e30, 1e30])), listed(json!([5, 1e30])));
        assert_ne!(listed(json!([9007199254740993u64])), listed(json!([9007199254740992.0])));
    }

    #[test]
    fn union_range_covers_all_its_parts() {
        let from_zero = Range { whole: true, least: Some(0), greatest: None };
        let numbers = Rc::new(Alternatives { numbers: Some(from_zero), ..Alternatives::nothing() });
        let united = |other| Alternatives::union(&[Rc::clone(&numbers), Rc::new(other)]).numbers.unwrap();
        assert_eq!(united(listed(json!([-1]))), Range { least: Some(-1), ..from_zero });
        assert!(!united(listed(json!([0.5]))).whole);
        assert!(!united(Alternatives::of_kinds(Kinds::NUMBER)).whole);
    }

    #[test]
    fn listed_objects_are_kept_beside_all_objects() {
        let both = |kinds, listed| Alternatives::union(&[Rc::new(Alternatives::of_kinds(kinds)), Rc::new(listed)]);
        let (list, object) = (json!([1]), json!({ "all": true }));
        let open = both(Kinds::ARRAY | Kinds::OBJECT, listed(json!([list, object])));
        assert_eq!(open.listed, [list.clone(), object.clone()]);
        let mut objects = Alternatives::of_kinds(Kinds::OBJECT);
        objects.intersect(&both(Kinds::OBJECT, listed(json!([object]))));
        assert_eq!(objects.listed, std::slice::from_ref(&object));
        // Beside all arrays and all objects of another schema only those of the first schema are.
        let mut narrowed = Alternatives::anything();
        narrowed.intersect(&open);
        assert_eq!(narrowed.listed, Vec::<Value>::new());
        narrowed = open.clone();
        narrowed.intersect(&Alternatives::anything());
        assert_eq!(narrowed.listed, [list.clone(), object]);
        narrowed.intersect(&listed(json!([list])));
        assert_eq!(narrowed, listed(json!([list])));
    }

    #[test]
    fn listed_values_are_kept_where_another_schema_admits_them() {
        let mut integers = listed(json!(["a", 1, 0.5, true, false, null, [1], {}]));
        assert_eq!(integers.open, Kinds::NULL | Kinds::BOOLEAN);
        integers.intersect(&Alternatives::of_kinds(Kinds::INTEGER | Kinds::BOOLEAN | Kinds::OBJECT));
        assert_eq!((integers.open, integers.listed), (Kinds::BOOLEAN, vec![json!(1), json!({})]));
        let mut objects = Alternatives::of_kinds(Kinds::ALL);
        objects.intersect(&listed(json!(["a", 1, true, { "b": 1 }])));
        assert_eq!(objects, listed(json!(["a", 1, true, { "b": 1 }])));
    }
}
