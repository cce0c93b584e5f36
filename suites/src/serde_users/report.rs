//! Renders the report as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use mcp_samples::{Difference, Fallible, differences, role_named, schema_of};
use serde_json::{Number, Value};

use crate::serde_users::bindings::Bound;
use crate::serde_users::program::Numbers;

const MOST_SHOWN: usize = 20;

/// Why bindings and the types by hand differ: what serde's derives cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// `5` prints as `5.0` where it is a double.
    NumberForm,
    /// `null` reads as absent.
    NullIsAbsent,
    /// The first branch of a union that fits is taken, whatever it drops.
    FirstBranch,
    /// `5.0` is no integer.
    IntegralDouble,
    /// One of several sets of keys has to be there.
    SetsOfKeys,
    /// An integer that a double rounds.
    Rounded,
    /// Numbers that are kept as text come as maps, which no double is read from.
    NumbersAsMaps,
    /// serde's derives read a struct from a list of its fields.
    ListAsObject,
    /// None of these.
    Unknown,
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Self::NumberForm => "a double that is a whole number prints a fraction by hand",
            Self::NullIsAbsent => "`null` was not imported by hand",
            Self::FirstBranch => "the first branch of a union that fits is taken by hand, whatever it drops",
            Self::IntegralDouble => "`5.0` is no integer by hand",
            Self::SetsOfKeys => "by hand none of several sets of keys has to be there",
            Self::Rounded => "an integer that a double cannot hold is rounded by hand",
            Self::NumbersAsMaps => "a number below a tag, in a union or beside a flattened field is not read by hand",
            Self::ListAsObject => "by hand a list of fields is an object",
            Self::Unknown => "no known reason",
        }
    }
}

pub(crate) struct Report {
    numbers: Numbers,
    counts: BTreeMap<String, u64>,
    reasons: BTreeMap<Reason, usize>,
    schemas: usize,
    unknown: Vec<String>,
}

impl Report {
    pub(crate) fn new(numbers: Numbers) -> Self {
        Self { numbers, counts: BTreeMap::new(), reasons: BTreeMap::new(), schemas: 0, unknown: Vec::new() }
    }

    /// Counts what the program says of the values of one schema.
    pub(crate) fn judge(&mut self, bound: &[Bound], answer: &Value) -> Fallible<()> {
        let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
        let items = |key: &str| answer.get(key).and_then(Value::as_array).into_iter().flatten();
        let (server, side) = (text("server"), text("side"));
        let index = answer.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        let list = bound.iter().find(|bound| bound.list.name == server).ok_or("an answer about no list")?;
        let tool = list.list.snapshot.tools.get(index.ok_or("an answer without a tool")?).unwrap_or(&Value::Null);
        let role = role_named(side).ok_or("an answer about no schema")?;
        let schema = schema_of(tool, role).unwrap_or(&Value::Null);
        self.schemas += 1;
        for (who, count) in answer.get("counts").and_then(Value::as_object).into_iter().flatten() {
            *self.counts.entry(who.clone()).or_default() += count.as_u64().unwrap_or_default();
        }
        let name = tool.get("name").unwrap_or(&Value::Null);
        for different in items("different") {
            for reason in reasons(self.numbers, schema, different) {
                *self.reasons.entry(reason).or_default() += 1;
                if reason == Reason::Unknown {
                    self.unknown.push(format!("{server} {name} {side}: {different}"));
                }
            }
        }
        self.unknown.extend(items("faults").map(|fault| format!("{server} {name} {side}: {fault}")));
        Ok(())
    }

    /// Returns `true` if values were compared in each format, and every difference has a known reason.
    pub(crate) fn is_clean(&self) -> bool {
        let ways = ["both", "toml", "yaml", "messagepack", "compact messagepack"];
        self.unknown.is_empty() && ways.iter().all(|way| self.count(way) > 0)
    }

    fn count(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or_default()
    }

    /// How many values came out as they should, in each way, and how many did not.
    pub(crate) fn passed_and_failed(&self) -> (u64, usize) {
        let ways = ["both", "neither", "toml", "yaml", "messagepack", "compact messagepack"];
        (ways.iter().map(|way| self.count(way)).sum(), self.unknown.len())
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        let [both, ours, by_hand, neither] = ["both", "ours", "by_hand", "neither"].map(|who| self.count(who));
        let _ = writeln!(
            text,
            "schemas: {}\nvalues: {both} accepted by both, {ours} by the bindings alone, {by_hand} by hand alone, {neither} by neither",
            self.schemas
        );
        let formats = ["toml", "yaml", "messagepack", "compact messagepack"];
        let held: Vec<_> = formats.map(|format| format!("{} {format}", self.count(format))).into();
        let _ = writeln!(text, "values that survive: {}", held.join(", "));
        let _ = writeln!(text, "differences on purpose:");
        for (reason, values) in self.reasons.iter().filter(|(reason, _)| **reason != Reason::Unknown) {
            let _ = writeln!(text, "  {values:6}  {}", reason.text());
        }
        for unknown in self.unknown.iter().take(MOST_SHOWN) {
            let _ = writeln!(text, "no known reason: {}", unknown.chars().take(700).collect::<String>());
        }
        text
    }
}

fn reasons(numbers: Numbers, schema: &Value, different: &Value) -> Vec<Reason> {
    let json = |key: &str| different.get(key).and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
    let error = different.get("error").and_then(Value::as_str).unwrap_or_default();
    let given: Value = json("given").unwrap_or_default();
    let mut found = match (json("ours"), json("by_hand")) {
        (Some(ours), Some(by_hand)) => differences(schema, &ours, &by_hand).iter().map(reason).collect(),
        (Some(_), None) if holds(&given, &is_integral_double) => vec![Reason::IntegralDouble],
        (Some(_), None) if numbers == Numbers::ArbitraryPrecision && holds(&given, &|_| true) => {
            vec![Reason::NumbersAsMaps]
        }
        (None, Some(_)) if error.contains("missing one of") => vec![Reason::SetsOfKeys],
        (None, Some(_)) if error.contains("64 bits hold exactly") => vec![Reason::Rounded],
        // An untagged union by hand takes a number for an object.
        (None, Some(by_hand)) if by_hand.to_string().contains("$serde_json::private::Number") => {
            vec![Reason::NumbersAsMaps]
        }
        (None, Some(_)) if error.contains("expected an object, found an array") => vec![Reason::ListAsObject],
        _ => vec![Reason::Unknown],
    };
    found.sort();
    found.dedup();
    found
}

fn reason(found: &Difference<'_>) -> Reason {
    match (&found.left, &found.right) {
        (Some(Value::Number(_)), Some(Value::Number(_))) if found.is_licensed() => Reason::NumberForm,
        (Some(Value::Null), None) => Reason::NullIsAbsent,
        (Some(_), None) if found.within.as_ref().is_some_and(|(object, _)| object.is_union()) => Reason::FirstBranch,
        _ => Reason::Unknown,
    }
}

fn is_integral_double(number: &Number) -> bool {
    number.is_f64() && number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

fn holds(value: &Value, what: &impl Fn(&Number) -> bool) -> bool {
    match value {
        Value::Number(number) => what(number),
        Value::Array(items) => items.iter().any(|item| holds(item, what)),
        Value::Object(map) => map.values().any(|value| holds(value, what)),
        _ => false,
    }
}
