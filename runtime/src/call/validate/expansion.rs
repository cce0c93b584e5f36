//! Counts how often a schema is applied to one place of a value. Every `allOf` of two references doubles the count, so
//! that a small hostile schema would keep a validator busy for years.

use std::collections::HashMap;

use super::UnusableSchema;
use super::links::Links;

const MOST_APPLICATIONS: u64 = 10_000;
const LONGEST_CHAIN: usize = 1_000;
/// The maximum number of repeated counts of schemas that lead back to themselves.
const MOST_RECOUNTS: usize = 20_000;
/// The number of times that a validator may apply a recursive schema before it notices the recursion.
const MOST_PASSES: u32 = 2;

/// Refuses a schema that is applied to one place too often, or through too many references.
pub(super) fn check(links: &Links<'_>) -> Result<(), UnusableSchema> {
    let left = links.schemas.len().saturating_add(MOST_RECOUNTS);
    let mut counter = Counter { links, counted: HashMap::new(), open: HashMap::new(), left };
    if !(0..links.schemas.len()).all(|schema| counter.count(schema, 0).is_some()) {
        let message = format!("the schema applies to one value more than {MOST_APPLICATIONS} times");
        return Err(UnusableSchema::new("", message));
    }
    Ok(())
}

/// The counts from one schema on.
#[derive(Clone, Copy, Default)]
struct Count {
    applied: u64,
    /// The extra cost of finding the properties or items that were evaluated.
    traced: u64,
    /// The length of the longest chain of schemas for one place.
    chain: usize,
    /// The outermost of the schemas being counted that this one leads back to.
    leads_to: Option<usize>,
}

struct Counter<'l> {
    links: &'l Links<'l>,
    counted: HashMap<usize, Count>,
    /// The schemas being counted: the depth of each, and how often it is.
    open: HashMap<usize, (usize, u32)>,
    left: usize,
}

impl Counter<'_> {
    /// Counts a schema; returns `None` beyond the limit.
    fn count(&mut self, index: usize, depth: usize) -> Option<Count> {
        if let Some(count) = self.counted.get(&index) {
            return Some(*count);
        }
        self.left = self.left.checked_sub(1)?;
        let (first, passes) = self.open.get(&index).copied().unwrap_or((depth, 0));
        if passes == MOST_PASSES {
            return Some(Count { leads_to: Some(first), ..Count::default() });
        }
        if depth > LONGEST_CHAIN {
            return None;
        }
        self.open.insert(index, (first, passes + 1));
        let schema = self.links.schemas.get(index)?;
        let mut count = Count { leads_to: (passes > 0).then_some(first), ..Count::default() };
        for inner in &schema.beside {
            let inner = self.count(*inner, depth + 1)?;
            count.applied = count.applied.saturating_add(1).saturating_add(inner.applied);
            count.traced = count.traced.saturating_add(inner.applied).saturating_add(inner.traced);
            count.chain = count.chain.max(inner.chain + 1);
            count.leads_to = count.leads_to.into_iter().chain(inner.leads_to).min();
        }
        if ["unevaluatedProperties", "unevaluatedItems"].iter().any(|keyword| schema.value.get(keyword).is_some()) {
            count.applied = count.applied.saturating_add(count.traced);
        }
        if passes == 0 {
            self.open.remove(&index);
        } else {
            self.open.insert(index, (first, passes));
        }
        if count.leads_to.is_none_or(|outermost| outermost >= depth) {
            count.leads_to = None;
            self.counted.insert(index, count);
        }
        (count.applied <= MOST_APPLICATIONS && count.chain <= LONGEST_CHAIN).then_some(count)
    }
}
