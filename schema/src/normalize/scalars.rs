//! The assertions of a schema about a string or a number, beyond its type.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{SchemaId, Schemas};
use crate::bundle::{Draft, lookup};
use crate::number::{floor, is_integral, order};

/// The keywords of one schema.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Scalars {
    pub(crate) minimum: Vec<Limit>,
    pub(crate) maximum: Vec<Limit>,
    pub(crate) multiple_of: Option<Number>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<String>,
}

/// A bound of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(crate) value: Number,
    pub(crate) exclusive: bool,
}

impl Limit {
    /// Returns the least integer that this bound from below allows.
    pub(crate) fn least(&self) -> i128 {
        let floor = floor(&self.value);
        if is_integral(&self.value) && !self.exclusive { floor } else { floor.saturating_add(1) }
    }

    /// Returns the greatest integer that this bound from above allows.
    pub(crate) fn greatest(&self) -> i128 {
        let floor = floor(&self.value);
        if is_integral(&self.value) && self.exclusive { floor.saturating_sub(1) } else { floor }
    }

    /// Returns `true` if a number is beyond the bound, on the side that it keeps out.
    pub(crate) fn refuses(&self, number: &Number, side: Ordering) -> bool {
        let order = order(number, &self.value);
        order == side || (self.exclusive && order.is_eq())
    }
}

impl Scalars {
    pub(crate) fn of(map: &Map<String, Value>, draft: Draft) -> Self {
        let number = |keyword: &str| lookup(map, keyword).and_then(Value::as_number).cloned();
        Self {
            minimum: limits(map, "minimum", "exclusiveMinimum", draft, &mut |keyword| number(keyword)),
            maximum: limits(map, "maximum", "exclusiveMaximum", draft, &mut |keyword| number(keyword)),
            multiple_of: number("multipleOf"),
            min_length: lookup(map, "minLength").and_then(whole),
            max_length: lookup(map, "maxLength").and_then(whole),
            pattern: lookup(map, "pattern").and_then(Value::as_str).map(str::to_owned),
        }
    }

    /// Returns the keywords that restrict strings, as 2020-12 has them.
    pub(crate) fn of_texts(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let least = self.min_length.filter(|least| *least > 0).map(Value::from);
        let (most, pattern) = (self.max_length.map(Value::from), self.pattern.as_deref().map(Value::from));
        let said = [("minLength", least), ("maxLength", most), ("pattern", pattern)];
        said.into_iter().filter_map(|(keyword, value)| Some((keyword, value?)))
    }

    /// Returns the keywords that restrict numbers, as 2020-12 has them.
    pub(crate) fn of_numbers(&self) -> Vec<(&'static str, Value)> {
        let mut said = Vec::new();
        for (limits, inclusive, exclusive) in
            [(&self.minimum, "minimum", "exclusiveMinimum"), (&self.maximum, "maximum", "exclusiveMaximum")]
        {
            let keyword = |limit: &Limit| if limit.exclusive { exclusive } else { inclusive };
            limits.iter().for_each(|limit| said.push((keyword(limit), Value::Number(limit.value.clone()))));
        }
        said.extend(self.multiple_of.clone().map(|step| ("multipleOf", Value::Number(step))));
        said
    }
}

impl Schemas<'_> {
    /// Returns the schema's own assertions for strings and numbers; empty if a reference hides its siblings.
    pub(crate) fn scalars(&self, id: SchemaId) -> Scalars {
        let draft = self.bundle.draft;
        let map = self.source(id).filter(|map| !draft.hides_siblings(map));
        map.map(|map| Scalars::of(map, draft)).unwrap_or_default()
    }
}

/// Returns the bound of a keyword and its strict twin, of the numbers that the keywords have; draft 4 says
/// `exclusiveMinimum: true` beside `minimum`.
pub(super) fn limits(
    map: &Map<String, Value>,
    keyword: &str,
    exclusive: &str,
    draft: Draft,
    number: &mut dyn FnMut(&str) -> Option<Number>,
) -> Vec<Limit> {
    let flag = lookup(map, exclusive).and_then(Value::as_bool);
    let is_exclusive = flag == Some(true) && matches!(draft, Draft::D4 | Draft::Unsaid);
    let plain = number(keyword).map(|value| Limit { value, exclusive: is_exclusive });
    let strict = if flag.is_none() && draft >= Draft::D6 { number(exclusive) } else { None };
    plain.into_iter().chain(strict.map(|value| Limit { value, exclusive: true })).collect()
}

/// Returns a count: `2.0` is one too.
pub(super) fn whole(value: &Value) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // guarded: integral and not negative
    let integral = |value: f64| (value.fract() == 0.0 && value >= 0.0).then_some(value as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(integral))
}
