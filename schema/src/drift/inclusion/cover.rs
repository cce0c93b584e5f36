//! Ranges that several branches cover together.

use super::super::failure::{Failure, Reason};
use super::super::version::Version;
use super::{Inclusion, Part};
use crate::normalize::{Kinds, Limit, SchemaId};
use crate::number::{is_integral, order};

/// Bounds from below and from above.
type Bounds = (Vec<Limit>, Vec<Limit>);
/// Points from the first to the last.
type Range = (i128, i128);

impl Inclusion<'_> {
    /// Returns `true` if branches of which each fails at its bounds alone take every value between them; with `once`,
    /// whether each value is taken by one of them alone.
    pub(super) fn covers(
        &mut self,
        part: &Part<'_>,
        branches: &[SchemaId],
        tried: &[Vec<Failure>],
        once: bool,
    ) -> bool {
        let mut together = Vec::new();
        for (branch, failures) in branches.iter().zip(tried) {
            let fails_at_bounds = |failure: &Failure| {
                let Reason::Keyword(keyword) = failure.reason else { return false };
                failure.steps.is_empty() && is_bound(part.kind, keyword)
            };
            match bounds_of(self.right, *branch, part.kind).filter(|_| failures.iter().all(fails_at_bounds)) {
                Some(bounds) => together.push(bounds),
                None if once && !self.disjoint(part, *branch) => return false,
                None => {}
            }
        }
        let own = part.case.schemas().iter().map(|id| own_bounds(self.left, *id, part.kind));
        let own = own.reduce(both).unwrap_or_default();
        if together.len() < 2 {
            return false;
        }
        let (own, mut ranges) = on_one_line(part.kind, &own, &together);
        ranges.sort_unstable();
        let mut next = own.0;
        for (first, last) in ranges {
            if first > next || (once && first < next && first <= last && next > own.0) {
                return false;
            }
            next = next.max(last.saturating_add(1));
        }
        next > own.1
    }
}

fn is_bound(kind: Kinds, keyword: &str) -> bool {
    let bounds: &[&str] = match kind {
        Kinds::INTEGER | Kinds::FRACTION => &["minimum", "maximum"],
        Kinds::STRING => &["minLength", "maxLength"],
        Kinds::ARRAY => &["minItems", "maxItems"],
        _ => &[],
    };
    bounds.contains(&keyword)
}

/// Returns the bounds of everything that a branch requires, or `None` if they depend on a choice.
fn bounds_of(version: &Version<'_>, branch: SchemaId, kind: Kinds) -> Option<Bounds> {
    let mut all = Bounds::default();
    for id in version.document.schemas.holding(&[branch], usize::MAX) {
        let node = version.node(id);
        if node.any_of.is_some() || node.one_of.is_some() || version.assertions(id).condition.is_some() {
            return None;
        }
        all = both(all, own_bounds(version, id, kind));
    }
    Some(all)
}

fn own_bounds(version: &Version<'_>, id: SchemaId, kind: Kinds) -> Bounds {
    let (node, asserted) = (version.node(id), version.assertions(id));
    let counts = |least: Option<u64>, most: Option<u64>| {
        let [least, most] = [least, most].map(|count| {
            let limit = count.map(|count| Limit { value: count.into(), exclusive: false });
            limit.into_iter().collect()
        });
        (least, most)
    };
    match kind {
        Kinds::INTEGER | Kinds::FRACTION => (asserted.minimum.clone(), asserted.maximum.clone()),
        Kinds::STRING => counts(asserted.min_length, asserted.max_length),
        _ => counts(Some(node.min_items), node.max_items),
    }
}

fn both(mut left: Bounds, mut right: Bounds) -> Bounds {
    left.0.append(&mut right.0);
    left.1.append(&mut right.1);
    left
}

/// Converts bounds to ranges of points. Integers are points themselves. For other numbers, each bound is a point, and
/// so is each gap between two bounds.
fn on_one_line(kind: Kinds, own: &Bounds, together: &[Bounds]) -> (Range, Vec<Range>) {
    let ends =
        |least: Option<i128>, greatest: Option<i128>| (least.unwrap_or(i128::MIN), greatest.unwrap_or(i128::MAX));
    if kind != Kinds::FRACTION {
        let range =
            |(least, most): &Bounds| ends(least.iter().map(Limit::least).max(), most.iter().map(Limit::greatest).min());
        // Beyond 64 bits no integer is sent, and no text or array is as long.
        let least = if kind == Kinds::INTEGER { i64::MIN.into() } else { 0 };
        let own = range(own);
        return ((own.0.max(least), own.1.min(u64::MAX.into())), together.iter().map(range).collect());
    }
    let all =
        || together.iter().chain([own]).flat_map(|(least, most)| least.iter().chain(most)).map(|limit| &limit.value);
    let mut points: Vec<_> = all().collect();
    points.sort_by(|left, right| order(left, right));
    points.dedup_by(|left, right| order(left, right).is_eq());
    let place = |limit: &Limit| {
        let place = points.partition_point(|point| order(point, &limit.value).is_lt());
        (i128::try_from(place).unwrap_or_default() * 2, i128::from(limit.exclusive))
    };
    let low = |limit: &Limit| {
        let (place, inside) = place(limit);
        place + inside
    };
    let high = |limit: &Limit| {
        let (place, inside) = place(limit);
        place - inside
    };
    let end = i128::try_from(points.len()).unwrap_or_default() * 2;
    let range = |(least, most): &Bounds| {
        (least.iter().map(low).max().unwrap_or(-1), most.iter().map(high).min().unwrap_or(end))
    };
    let mut ranges: Vec<Range> = together.iter().map(range).collect();
    // Integers are of another kind.
    let whole = points.iter().enumerate().filter(|(_, point)| is_integral(point));
    ranges.extend(whole.filter_map(|(place, _)| i128::try_from(place * 2).ok()).map(|place| (place, place)));
    (range(own), ranges)
}
