//! Ranges that several branches cover together, and schemas that provably share no value with a part.

use serde_json::{Number, Value};

use super::super::failure::{Failure, Reason};
use super::super::types::Sent;
use super::super::validity::{is_valid, may_be_valid};
use super::super::version::{Conjunction, Version};
use super::{Inclusion, Part};
use crate::normalize::{Kinds, Limit, SchemaId};
use crate::number::{is_integral, order};

/// The search for schemas without a common value goes at most this deep.
const DEEPEST: usize = 12;
/// The limit on steps of this search, for each step that the comparison may take.
const STEPS_EACH: usize = 10;

/// Bounds from below and from above.
type Bounds = (Vec<Limit>, Vec<Limit>);
/// Points from the first to the last.
type Range = (i128, i128);

impl Inclusion<'_> {
    /// Returns `true` if branches of which each fails at its bounds alone take every value between them; with `once`,
    /// whether each value is taken by one of them alone.
    pub(super) fn covers(&mut self, part: &Part<'_>, tried: &[SchemaId], found: &[Vec<Failure>], once: bool) -> bool {
        let keywords: &[&str] = match part.kind {
            Kinds::INTEGER | Kinds::FRACTION => &["minimum", "maximum"],
            Kinds::STRING => &["minLength", "maxLength"],
            Kinds::ARRAY => &["minItems", "maxItems"],
            _ => return false,
        };
        let fails_at_bounds = |failure: &Failure| {
            failure.steps.is_empty()
                && matches!(failure.reason, Reason::Keyword(keyword) if keywords.contains(&keyword))
        };
        let mut together = Vec::new();
        for (branch, failures) in tried.iter().zip(found) {
            match all_bounds(self.right, *branch, part.kind).filter(|_| failures.iter().all(fails_at_bounds)) {
                Some(bounds) => together.push(bounds),
                None if once && !self.is_disjoint(part, *branch, 0) => return false,
                None => {}
            }
        }
        if together.len() < 2 {
            return false;
        }
        let own = bounds(self.left, &part.case.schemas, part.kind);
        let (own, ranges) = on_one_line(part.kind, &own, &together);
        let mut next = own.0;
        for (first, last) in ranges {
            if first > next || (once && first < next && first <= last && next > own.0) {
                return false;
            }
            next = next.max(last.saturating_add(1));
        }
        next > own.1
    }

    /// Returns `true` if surely no value of all the left schemas is one of the right schema.
    #[cfg(feature = "provider")]
    pub(crate) fn excludes(&mut self, left: &Conjunction, right: SchemaId) -> bool {
        self.places_apart(left, &Sent::anything(), right, 0)
    }

    /// Returns `true` if a part and a schema have surely no value in common; `depth` is that of the search.
    pub(super) fn is_disjoint(&mut self, part: &Part<'_>, right: SchemaId, depth: usize) -> bool {
        self.disjoint_steps += part.case.schemas.len().max(1);
        if depth > DEEPEST || self.disjoint_steps > STEPS_EACH * self.most_steps {
            return false;
        }
        let (node, asserted) = (self.right.node(right), self.right.assertions(right));
        if let Some(values) = &part.values {
            return values.iter().all(|value| is_valid(self.right, right, value) == Some(false));
        }
        let is_refused = |value: &Value| {
            !part.kind.intersects(Kinds::of(value)) || !may_be_valid(self.left, &part.case.schemas, value)
        };
        if node.never
            || node.kinds.is_some_and(|kinds| !kinds.has(part.kind))
            || node.allowed.as_ref().is_some_and(|allowed| allowed.iter().all(is_refused))
            || self.are_bounds_apart(part, right)
            || (part.kind == Kinds::OBJECT && self.are_objects_apart(part, right, depth))
        {
            return true;
        }
        // The negation of an assertion of all values excludes them all.
        let mut schemas = part.case.schemas.iter();
        asserted.not.is_some_and(|negated| schemas.any(|id| self.equal(*id, negated)))
            || node.parts.iter().any(|schema| self.is_disjoint(part, *schema, depth + 1))
            || node
                .choices
                .iter()
                .any(|choice| choice.branches.iter().all(|branch| self.is_disjoint(part, *branch, depth + 1)))
    }

    fn are_bounds_apart(&self, part: &Part<'_>, right: SchemaId) -> bool {
        let are_apart = |lows: &[Limit], highs: &[Limit]| {
            lows.iter().any(|low| {
                highs.iter().any(|high| {
                    let order = order(&low.value, &high.value);
                    order.is_gt() || (order.is_eq() && (low.exclusive || high.exclusive))
                })
            })
        };
        let (low, high) = bounds(self.left, &part.case.schemas, part.kind);
        let (least, most) = bounds(self.right, &[right], part.kind);
        are_apart(&low, &most) || are_apart(&least, &high)
    }

    fn are_objects_apart(&mut self, part: &Part<'_>, right: SchemaId, depth: usize) -> bool {
        let node = self.right.node(right);
        if node.required.iter().any(|key| self.property_of(part, Some(key)).is_none()) {
            return true;
        }
        // A key that the right does not constrain sets nothing apart.
        let is_open = self.right.additional(right).is_none() && self.right.assertions(right).patterns.is_empty();
        let mut keys: Vec<&str> = Vec::new();
        if is_open {
            keys.extend(node.properties.iter().map(|(key, _)| key.as_str()));
            keys.retain(|key| part.case.requires(self.left, key) || self.right.requires(right, key));
        } else {
            keys = part.case.required(self.left);
            keys.extend(node.required.iter().map(String::as_str));
        }
        self.disjoint_steps += keys.len();
        keys.into_iter().any(|key| {
            let Some((asked, sent)) = self.property_of(part, Some(key)) else {
                return part.case.property(self.left, key).is_none();
            };
            let keyed = self.right.keyed(right, key);
            keyed.iter().any(|(schema, is_sure)| *is_sure && self.places_apart(&asked, &sent, *schema, depth))
        })
    }

    fn places_apart(&mut self, asked: &Conjunction, sent: &Sent, right: SchemaId, depth: usize) -> bool {
        self.left.cases(asked).iter().all(|case| {
            case.kinds(self.left).each().all(|kind| {
                let part = Part { case, kind, sent, values: case.listed(self.left, kind) };
                self.is_disjoint(&part, right, depth + 1)
            })
        })
    }
}

/// Returns the bounds of everything that a branch requires, or `None` if they depend on a choice.
fn all_bounds(version: &Version<'_>, branch: SchemaId, kind: Kinds) -> Option<Bounds> {
    let schemas = version.document.schemas.holding(&[branch], usize::MAX);
    let has_choice =
        schemas.iter().any(|id| !version.node(*id).choices.is_empty() || version.assertions(*id).condition.is_some());
    (!has_choice).then(|| bounds(version, &schemas, kind))
}

/// Returns the bounds that schemas themselves have for values of a kind: numbers, or lengths.
fn bounds(version: &Version<'_>, schemas: &[SchemaId], kind: Kinds) -> Bounds {
    let mut all = Bounds::default();
    for id in schemas {
        let (node, asserted) = (version.node(*id), version.assertions(*id));
        let (least, most) = match kind {
            Kinds::INTEGER | Kinds::FRACTION => {
                all.0.extend_from_slice(&asserted.minimum);
                all.1.extend_from_slice(&asserted.maximum);
                continue;
            }
            Kinds::STRING => (asserted.min_length, asserted.max_length),
            Kinds::ARRAY => (Some(node.min_items), node.max_items),
            _ => continue,
        };
        let limit = |count: u64| Limit { value: count.into(), exclusive: false };
        all.0.extend(least.map(limit));
        all.1.extend(most.map(limit));
    }
    all
}

/// Converts bounds to ranges of points, in their order. Integers and lengths are points themselves. For other numbers,
/// each bound is a point, and so is each gap between two bounds.
fn on_one_line(kind: Kinds, own: &Bounds, together: &[Bounds]) -> (Range, Vec<Range>) {
    let has_gaps = kind == Kinds::FRACTION;
    let mut points: Vec<&Number> = Vec::new();
    let place = |points: &[&Number], limit: &Limit| points.partition_point(|known| order(known, &limit.value).is_lt());
    for (least, most) in together.iter().chain([own]) {
        for limit in least.iter().chain(most) {
            let place = place(&points, limit);
            if points.get(place).is_none_or(|known| order(known, &limit.value).is_ne()) {
                points.insert(place, &limit.value);
            }
        }
    }
    let point = |place: usize| 2 * place as i128;
    let place = |limit: &Limit| point(place(&points, limit));
    let first = |limit: &Limit| if has_gaps { place(limit) + i128::from(limit.exclusive) } else { limit.least() };
    let last = |limit: &Limit| if has_gaps { place(limit) - i128::from(limit.exclusive) } else { limit.greatest() };
    let range = |(least, most): &Bounds| {
        (least.iter().map(first).max().unwrap_or(i128::MIN), most.iter().map(last).min().unwrap_or(i128::MAX))
    };
    // Beyond 64 bits no integer is sent, and no text or array is as long.
    let (least, greatest) = match kind {
        Kinds::FRACTION => (-1, point(points.len())),
        Kinds::INTEGER => (i64::MIN.into(), u64::MAX.into()),
        _ => (0, u64::MAX.into()),
    };
    let own = range(own);
    let mut ranges: Vec<Range> = together.iter().map(range).collect();
    // Integers are of another kind than fractions.
    for (place, number) in points.iter().enumerate().filter(|_| has_gaps) {
        if is_integral(number) {
            ranges.push((point(place), point(place)));
        }
    }
    ranges.sort_unstable();
    ((own.0.max(least), own.1.min(greatest)), ranges)
}
