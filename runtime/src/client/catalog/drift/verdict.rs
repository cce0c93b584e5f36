//! How a live tool differs from the one that was bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mcp_model::{Acceptance, ChangeKind, Date, Pin, Snapshot};
use mcp_schema::drift::{self, Class};
use serde_json::Value;

use super::Demand;
use super::bound::{compared, hints};
use crate::ground::redact::{LONGEST_MESSAGE, Redactor};

/// So many differences are named in an error.
const MOST_NAMED: usize = 5;
/// The time for comparing all tools of one list. Each comparison has a budget of its own; this one bounds hundreds of them.
const LONGEST_FOR_A_LIST: Duration = Duration::from_secs(30);

/// The time that comparing the tools of one list has taken so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent(Arc<AtomicU64>);

impl Spent {
    fn is_over(&self) -> bool {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)) >= LONGEST_FOR_A_LIST
    }

    fn add(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Where it is, what it is, and its proof; without secrets.
    pub(super) words: String,
    /// Whether calls that were fine may fail now, or `pin` wants it as it was.
    is_breaking: bool,
    /// The entry of the configuration that accepts it.
    accepted: Option<Acceptance>,
}

impl Difference {
    fn breaking(words: &str) -> Self {
        Self { words: words.to_owned(), is_breaking: true, accepted: None }
    }

    /// Returns `true` for a breaking difference that the configuration does not accept on a day.
    pub(super) fn breaks(&self, today: Date) -> bool {
        self.is_breaking && self.accepted.as_ref().is_none_or(|accepted| accepted.is_expired(today))
    }
}

/// All differences of one tool; none where it is what was bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict(pub(super) Vec<Difference>);

impl Verdict {
    /// Compares a tool with the one that the server has now; `None` where it is gone.
    pub(super) async fn of(
        bound: Value,
        live: Option<Value>,
        demand: &Demand,
        (redactor, spent): (&Redactor, &Spent),
    ) -> Self {
        let pin = demand.pin;
        // Members in another order are the same, as they are for digests.
        let is_same = |live: &Value| {
            compared(&bound, pin) == compared(live, pin) && (pin == Pin::Schema || hints(&bound).eq(hints(live)))
        };
        if live.as_ref().is_some_and(is_same) {
            return Self::default();
        }
        // What is compared comes from a stranger and may take a while.
        if spent.is_over() {
            let words = "not compared, because comparing the other tools of this list took too long";
            return Self(vec![Difference::breaking(words)]);
        }
        let (demand, spent) = (demand.clone(), spent.clone());
        let judged = tokio::task::spawn_blocking(move || {
            let start = Instant::now();
            let found = differences(&bound, live.as_ref(), &demand);
            spent.add(start.elapsed());
            found
        });
        let undecided = |_| vec![Difference::breaking("what it says of itself cannot be compared")];
        let mut found = judged.await.unwrap_or_else(undecided);
        found.iter_mut().for_each(|found| found.words = redactor.shown_line(&found.words, LONGEST_MESSAGE));
        Self(found)
    }

    /// That it cannot be known what was bound.
    pub(super) fn unknown(error: &serde_json::Error) -> Self {
        Self(vec![Difference::breaking(&format!("its bindings hold a schema that is not JSON: {error}"))])
    }

    /// What speaks against calling the tool.
    pub(super) fn refusal(&self) -> Option<String> {
        let today = Date::today();
        let breaking: Vec<&str> =
            self.0.iter().filter(|found| found.breaks(today)).map(|found| found.words.as_str()).collect();
        let named = breaking.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(" · ");
        let more = match breaking.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" · and {more} more"),
        };
        (!breaking.is_empty()).then(|| format!("{named}{more}"))
    }
}

fn differences(bound: &Value, live: Option<&Value>, demand: &Demand) -> Vec<Difference> {
    let Demand { pin, rules, .. } = demand;
    let of = |tool: Option<&Value>| Snapshot {
        tools: tool.map(|tool| compared(tool, *pin)).into_iter().collect(),
        ..Snapshot::default()
    };
    let today = Date::today();
    let mut changes = drift::diff(&of(Some(bound)), &of(live));
    let breaks = |kind, class| *pin == Pin::All || rules.class_of(kind).unwrap_or(class) == Class::Breaking;
    let breaking: Vec<bool> = changes.iter().map(|change| breaks(change.kind, change.class)).collect();
    drift::apply(rules, &mut changes, today);
    let mut found: Vec<Difference> = changes
        .into_iter()
        .zip(breaking)
        .map(|(change, is_breaking)| Difference { words: change.in_words(), is_breaking, accepted: change.accepted })
        .collect();
    if let Some(live) = live.filter(|_| *pin == Pin::All) {
        let name = bound.get("name").and_then(Value::as_str).unwrap_or_default();
        for ((key, before), (_, now)) in hints(bound).zip(hints(live)).filter(|((_, before), (_, now))| before != now) {
            let said = |hint: Option<bool>| hint.map_or_else(|| "not said".to_owned(), |hint| hint.to_string());
            let words = format!("/annotations/{key}: {} now, {} before", said(now), said(before));
            let accepted = rules.accepted(ChangeKind::Hints, name, &format!("/annotations/{key}"), today).cloned();
            found.push(Difference { accepted, ..Difference::breaking(&words) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use mcp_model::{Drift, DriftRules};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn tools_beyond_the_budget_of_a_list_are_refused() {
        let demand = Demand { drift: Drift::Deny, pin: Pin::Schema, rules: DriftRules::default() };
        let tool = |schema: Value| json!({ "name": "find", "inputSchema": schema });
        let (bound, wider) =
            (tool(json!({ "type": "object" })), tool(json!({ "type": "object", "properties": { "q": {} } })));
        let spent = Spent::default();
        let of = async |live: &Value| {
            Verdict::of(bound.clone(), Some(live.clone()), &demand, (&Redactor::default(), &spent)).await.refusal()
        };
        assert_eq!(of(&wider).await, None);
        assert!(spent.0.load(Ordering::Relaxed) > 0);
        spent.add(LONGEST_FOR_A_LIST);
        assert!(of(&wider).await.is_some_and(|words| words.starts_with("not compared, ")));
        // Equal tools need no comparison.
        assert_eq!(of(&bound).await, None);
    }
}
