//! Whole lists: the corpus against itself, and the longest list against a copy with one change.

use std::time::{Duration, Instant};

use mcp_samples::corpus::List;
use serde_json::{Value, json};

use crate::drift::called::{Class, differences};
use crate::drift::report::Report;

const AT_MOST: Duration = Duration::from_secs(1);

/// Against itself, nothing differs.
pub(crate) fn same(lists: &[List], report: &mut Report) {
    let started = Instant::now();
    let mut tools = 0;
    for list in lists {
        tools += list.snapshot.tools.len();
        for called in differences(&list.snapshot, &list.snapshot.clone()) {
            report.failure(format!("{} differs from itself: {}", list.name, called.text));
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    report.line(format!("{} lists with {tools} tools against themselves: {seconds:.2} s", lists.len()));
}

/// The longest list against a copy in which one tool has another required property.
pub(crate) fn one_change(lists: &[List], report: &mut Report) {
    let Some(list) = lists.iter().max_by_key(|list| list.snapshot.tools.len()) else { return };
    let mut new = list.snapshot.clone();
    let middle = new.tools.len() / 2;
    let schema = new.tools.get_mut(middle).and_then(|tool| tool.get_mut("inputSchema")).and_then(Value::as_object_mut);
    let Some(schema) = schema else { return report.failure(format!("{} has no schema to change", list.name)) };
    for (keyword, added) in
        [("required", json!(["added_here"])), ("properties", json!({ "added_here": { "type": "string" } }))]
    {
        match (schema.entry(keyword).or_insert_with(|| added.clone()), &added) {
            (Value::Array(names), Value::Array(added)) => names.extend(added.iter().cloned()),
            (Value::Object(named), Value::Object(added)) => named.extend(added.clone()),
            _ => {}
        }
    }
    let started = Instant::now();
    let found = differences(&list.snapshot, &new);
    let took = started.elapsed();
    let count = list.snapshot.tools.len();
    report.line(format!("{count} tools against a copy with one change: {:.3} s", took.as_secs_f64()));
    if took > AT_MOST {
        report.failure(format!("{count} tools took {:.3} s, at most 1 s", took.as_secs_f64()));
    }
    if !matches!(found.as_slice(), [called] if called.class == Class::Breaking) {
        report.failure(format!(
            "one new required property among {count} tools is {} differences: {found:?}",
            found.len()
        ));
    }
}
