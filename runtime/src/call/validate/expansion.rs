//! How often a schema is applied to one place of a value. Every `allOf` of two references doubles it, so that a small
//! hostile schema would keep a validator busy for years.

use std::collections::HashMap;
use std::ptr;

use serde_json::Value;

use super::UnusableSchema;
use super::links::{Links, subschemas};

const MOST_APPLICATIONS: u64 = 10_000;
/// The limit on paths if references depend on the path that reaches them. A validator compiles their targets for each
/// path through schemas with their own base.
const MOST_WAYS: u64 = 1_000;
const LONGEST_CHAIN: usize = 1_000;
/// How often schemas are counted again that lead back to themselves.
const MOST_RECOUNTS: usize = 20_000;
/// The number of times that a validator may apply a recursive schema before it notices the recursion.
const MOST_PASSES: u32 = 2;

/// Refuses a schema that is applied to one place too often, or through too many references.
pub(super) fn check(links: &Links<'_>) -> Result<(), UnusableSchema> {
    if !Counter::new(links, beside, MOST_APPLICATIONS).fits() {
        let message = format!("the schema applies to one value more than {MOST_APPLICATIONS} times");
        return Err(UnusableSchema::new("", message));
    }
    if links.has_resources && !links.are_fixed && !Counter::new(links, anywhere, MOST_WAYS).fits() {
        let message = format!("the references of the schema form more than {MOST_WAYS} paths");
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
    /// How many schemas are below one another.
    chain: usize,
    /// The outermost of the schemas being counted that this one leads back to.
    leads_to: Option<usize>,
}

/// A next schema to count, and the count of the step itself.
type Step<'a> = (&'a Value, u64);

struct Counter<'a, 'l> {
    links: &'l Links<'a>,
    steps: fn(&Links<'a>, &'a Value) -> Vec<Step<'a>>,
    most: u64,
    counted: HashMap<*const Value, Count>,
    /// The schemas being counted: the depth of each, and how often it is.
    open: HashMap<*const Value, (usize, u32)>,
    left: usize,
}

impl<'a, 'l> Counter<'a, 'l> {
    fn new(links: &'l Links<'a>, steps: fn(&Links<'a>, &'a Value) -> Vec<Step<'a>>, most: u64) -> Self {
        let left = links.schemas.len().saturating_add(MOST_RECOUNTS);
        Self { links, steps, most, counted: HashMap::new(), open: HashMap::new(), left }
    }

    fn fits(&mut self) -> bool {
        self.links.schemas.iter().all(|schema| self.count(schema, 0).is_some())
    }

    /// Counts a schema; returns `None` beyond the limit.
    fn count(&mut self, schema: &'a Value, depth: usize) -> Option<Count> {
        let place = ptr::from_ref(schema);
        if let Some(count) = self.counted.get(&place) {
            return Some(*count);
        }
        self.left = self.left.checked_sub(1)?;
        let (first, passes) = self.open.get(&place).copied().unwrap_or((depth, 0));
        if passes == MOST_PASSES {
            return Some(Count { leads_to: Some(first), ..Count::default() });
        }
        if depth > LONGEST_CHAIN {
            return None;
        }
        self.open.insert(place, (first, passes + 1));
        let mut count = Count { leads_to: (passes > 0).then_some(first), ..Count::default() };
        for (inner, weight) in (self.steps)(self.links, schema) {
            let inner = self.count(inner, depth + 1)?;
            count.applied = count.applied.saturating_add(weight).saturating_add(inner.applied);
            count.traced = count.traced.saturating_add(inner.applied).saturating_add(inner.traced);
            count.chain = count.chain.max(inner.chain + 1);
            count.leads_to = count.leads_to.into_iter().chain(inner.leads_to).min();
        }
        if schema.get("unevaluatedProperties").or_else(|| schema.get("unevaluatedItems")).is_some() {
            count.applied = count.applied.saturating_add(count.traced);
        }
        if passes == 0 {
            self.open.remove(&place);
        } else {
            self.open.insert(place, (first, passes));
        }
        if count.leads_to.is_none_or(|outermost| outermost >= depth) {
            count.leads_to = None;
            self.counted.insert(place, count);
        }
        (count.applied <= self.most && count.chain <= LONGEST_CHAIN).then_some(count)
    }
}

/// Returns the schemas that are applied to the same value.
fn beside<'a>(links: &Links<'a>, schema: &'a Value) -> Vec<Step<'a>> {
    let mut beside = links.targets.get(&ptr::from_ref(schema)).cloned().unwrap_or_default();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match (keyword.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => beside.extend(branches),
            ("not" | "if" | "then" | "else", branch) => beside.push(branch),
            ("dependentSchemas" | "dependencies", Value::Object(branches)) => beside.extend(branches.values()),
            _ => {}
        }
    }
    beside.into_iter().map(|schema| (schema, 1)).collect()
}

/// Returns every schema that a validator compiles for this one. Each reference counts as a step.
fn anywhere<'a>(links: &Links<'a>, schema: &'a Value) -> Vec<Step<'a>> {
    let targets = links.targets.get(&ptr::from_ref(schema)).into_iter().flatten();
    targets.map(|target| (*target, 1)).chain(subschemas(schema).map(|inner| (inner, 0))).collect()
}
