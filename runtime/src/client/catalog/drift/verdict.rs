//! The difference between a live tool and the bound one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_bindgen_model::{Acceptance, ChangeKind, Date, Hint, Pin, ServerConfig, Snapshot};
use mcp_bindgen_schema::drift::{self, Class};
use serde_json::{Map, Value};

use super::{name_of, refuses};
use crate::call::events::Observer;
use crate::ground::redact::{LONGEST_MESSAGE, Redactor};
use crate::ground::sync::lock;

/// The maximum number of differences in one error.
const MOST_NAMED: usize = 5;
/// The maximum number of differences reported for one tool.
const MOST_REPORTED: usize = 20;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The pointer, the description and the witness of the difference, without secrets.
    description: String,
    /// `true` if valid calls may now fail, or if `pin` requires an unchanged tool.
    is_breaking: bool,
    /// The entry of the configuration that accepts it.
    accepted: Option<Acceptance>,
}

impl Difference {
    /// Returns `true` for a breaking difference that the configuration does not accept on a day.
    fn breaks(&self, today: Date) -> bool {
        self.is_breaking && self.accepted.as_ref().is_none_or(|accepted| accepted.is_expired(today))
    }
}

/// All differences of one tool; empty if it matches its binding.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    differences: Vec<Difference>,
    is_reported: AtomicBool,
}

impl Verdict {
    /// Compares a bound tool with the live one; `None` means that it was removed. Takes the time from what is left.
    pub(super) fn of(
        bound: &Value,
        live: Option<&Value>,
        config: &ServerConfig,
        redactor: &Redactor,
        left: &mut Duration,
    ) -> Self {
        if left.is_zero() {
            let fault = "not compared: comparing the other tools of this list took too long; run `mcp-bindgen check`, or \
                         limit `tools` to the ones you call";
            return Self::breaking(fault.to_owned());
        }
        let start = Instant::now();
        let mut differences = differences(bound, live, config);
        *left = left.saturating_sub(start.elapsed());
        for found in &mut differences {
            found.description = redactor.shown_line(&found.description, LONGEST_MESSAGE);
        }
        Self { differences, ..Self::default() }
    }

    pub(super) fn breaking(description: String) -> Self {
        Self { differences: vec![Difference { description, is_breaking: true, accepted: None }], ..Self::default() }
    }

    /// Returns the reason against calling the tool.
    pub(super) fn refusal(&self) -> Option<String> {
        let today = Date::today();
        let breaking = || self.differences.iter().filter(|found| found.breaks(today));
        let named: Vec<&str> = breaking().take(MOST_NAMED).map(|found| &*found.description).collect();
        let more = match breaking().skip(MOST_NAMED).count() {
            0 => String::new(),
            more => format!(" · and {more} more"),
        };
        (!named.is_empty()).then(|| named.join(" · ") + &more)
    }
}

/// The differences that were reported of each tool of a server, over all its connections, so that each is reported once.
pub(crate) struct Reported {
    pub(super) config: Arc<ServerConfig>,
    observer: Arc<Observer>,
    /// The descriptions, as the keys of an object for each tool.
    descriptions: Mutex<Map<String, Value>>,
}

impl Reported {
    pub(crate) fn new(config: Arc<ServerConfig>, observer: Arc<Observer>) -> Self {
        Self { config, observer, descriptions: Mutex::default() }
    }

    /// Reports the differences of a tool, unless another caller that received the same verdict has.
    pub(super) fn report(&self, tool: &str, verdict: &Verdict) {
        if verdict.is_reported.swap(true, Ordering::Relaxed) {
            return;
        }
        // Without differences now, a later change is reported again.
        let now: Map<_, _> = verdict.differences.iter().map(|found| (found.description.clone(), Value::Null)).collect();
        let before = lock(&self.descriptions).insert(tool.to_owned(), now.into()).unwrap_or_default();
        let today = Date::today();
        let is_new = |found: &&Difference| before.get(&found.description).is_none();
        for found in verdict.differences.iter().filter(is_new).take(MOST_REPORTED) {
            let (change, is_breaking) = (&found.description, found.breaks(today));
            let is_refused = is_breaking && refuses(&self.config);
            let effect = match (is_breaking, is_refused) {
                (_, true) => "calls are refused",
                (true, false) => "calls may fail",
                (false, false) => "its bindings still work",
            };
            let server = &*self.config.name;
            tracing::warn!(server, tool, "the tool has changed since its bindings were generated; {effect}: {change}");
            self.observer.drift_detected(tool, change, is_breaking, is_refused);
        }
    }
}

/// Returns the parts of a tool that are compared: all of it that bindings know, or the parts that calls and results depend on.
fn compared(tool: &Value, pin: Pin) -> Value {
    let text = |pointer: &str| tool.pointer(pointer).filter(|value| pin == Pin::All && value.is_string());
    let mut kept = Map::new();
    for (key, value) in [
        ("name", tool.get("name")),
        ("inputSchema", tool.get("inputSchema")),
        ("outputSchema", tool.get("outputSchema")),
        ("title", text("/title").or_else(|| text("/annotations/title"))),
        ("description", text("/description")),
    ] {
        if let Some(value) = value {
            kept.insert(key.to_owned(), value.clone());
        }
    }
    kept.into()
}

/// Returns `true` if a live tool is the bound one. Members in another order are the same, as they are for digests.
pub(super) fn is_same(bound: &Value, live: &Value, config: &ServerConfig) -> bool {
    let pin = config.pin.unwrap_or_default();
    let has_same_hints = || Hint::ALL.iter().all(|key| hint(bound, *key) == hint(live, *key));
    compared(bound, pin) == compared(live, pin) && (pin == Pin::Schema || has_same_hints())
}

/// Returns a hint of a tool, as far as bindings know it.
fn hint(tool: &Value, hint: Hint) -> Option<bool> {
    tool.get("annotations")?.get(hint.wire())?.as_bool()
}

fn differences(bound: &Value, live: Option<&Value>, config: &ServerConfig) -> Vec<Difference> {
    let (pin, rules) = (config.pin.unwrap_or_default(), &config.drift_rules);
    let of = |tool: Option<&Value>| Snapshot {
        tools: tool.map(|tool| vec![compared(tool, pin)]).unwrap_or_default(),
        ..Snapshot::default()
    };
    let today = Date::today();
    let mut found: Vec<Difference> = Vec::new();
    for mut change in drift::diff(&of(Some(bound)), &of(live)) {
        let class = rules.class_of(change.kind).unwrap_or(change.class);
        change.accepted = rules.accepted(change.kind, &change.tool, &change.pointer, today).cloned();
        let is_breaking = pin == Pin::All || class == Class::Breaking;
        found.push(Difference { description: change.in_words(), is_breaking, accepted: change.accepted });
    }
    if let Some(live) = live.filter(|_| pin == Pin::All) {
        let name = name_of(bound).unwrap_or_default();
        for kind in &Hint::ALL {
            let (key, before, now) = (kind.wire(), hint(bound, *kind), hint(live, *kind));
            if before == now {
                continue;
            }
            let text = |hint: Option<bool>| hint.map_or_else(|| "not said".to_owned(), |hint| hint.to_string());
            let description = format!("/annotations/{key}: {} now, {} before", text(now), text(before));
            let accepted = rules.accepted(ChangeKind::Hints, name, &format!("/annotations/{key}"), today).cloned();
            found.push(Difference { description, is_breaking: true, accepted });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comparison_of_a_tool_list_stays_within_its_budget() {
        let config = ServerConfig::stdio("s", "x");
        let tool = |properties: Value| json!({ "name": "find", "inputSchema": { "type": "object", "properties": properties } });
        let (equal, wider) = (tool(json!({})), tool(json!({ "q": {} })));
        let of = |left: &mut Duration| Verdict::of(&equal, Some(&wider), &config, &Redactor::default(), left).refusal();
        let mut left = Duration::from_secs(30);
        assert_eq!(of(&mut left), None);
        assert!(left < Duration::from_secs(30));
        // Enough for the first of several.
        let mut left = Duration::from_nanos(1);
        assert_eq!(of(&mut left), None);
        for _ in 0..2 {
            assert!(of(&mut left).is_some_and(|refusal| refusal.starts_with("not compared: ")));
        }
        // Equal tools need no comparison.
        assert!(is_same(&equal, &equal, &config) && !is_same(&equal, &wider, &config));
    }
}
