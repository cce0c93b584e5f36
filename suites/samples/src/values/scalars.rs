//! Values without parts: numbers at and around their bounds, strings of every length and form that matters.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::Hints;
use super::view::View;

pub(super) fn integers(view: &View<'_>, hints: &Hints) -> Vec<Value> {
    let mut found: Vec<i64> = vec![1, 0, -1, 7, 1000, i64::MIN, i64::MAX];
    for bound in bounds(view).into_iter().chain(hints.numbers.iter().copied()) {
        #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
        let whole = bound.floor() as i64;
        found.extend([whole.saturating_sub(1), whole, whole.saturating_add(1)]);
    }
    for step in view.numbers("multipleOf") {
        #[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
        let step = step as i64;
        found.extend([step, step.saturating_mul(2)]);
    }
    let fits = |value: &i64| {
        #[expect(clippy::cast_precision_loss, reason = "the validator has the last word")]
        fits(view, *value as f64)
    };
    let mut values = distinct(found.into_iter().filter(fits).map(Value::from));
    if fits_integer(view, u64::MAX) {
        values.push(json!(u64::MAX));
    }
    values
}

/// Integers beyond `i64` only where a bound asks for them: nobody else means them.
fn fits_integer(view: &View<'_>, value: u64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "the validator has the last word")]
    let value = value as f64;
    view.numbers("maximum").iter().any(|maximum| *maximum >= value)
        && view.numbers("minimum").iter().any(|min| *min >= 0.0)
}

pub(super) fn numbers(view: &View<'_>, hints: &Hints) -> Vec<Value> {
    let mut found = vec![1.5, 0.0, -1.0, 0.25, 1e6, -1e12];
    for bound in bounds(view).into_iter().chain(hints.numbers.iter().copied()) {
        found.extend([bound - 1.0, bound - 0.5, bound, bound + 0.5, bound + 1.0]);
    }
    found.extend(view.numbers("multipleOf").into_iter().flat_map(|step| [step, step * 3.0]));
    distinct(found.into_iter().filter(|value| fits(view, *value)).map(number))
}

/// Integral numbers the way that most servers write them.
fn number(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within the range of the type")]
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

fn bounds(view: &View<'_>) -> Vec<f64> {
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
        .into_iter()
        .flat_map(|key| view.numbers(key))
        .collect()
}

fn fits(view: &View<'_>, value: f64) -> bool {
    view.numbers("minimum").iter().all(|bound| value >= *bound)
        && view.numbers("maximum").iter().all(|bound| value <= *bound)
        && view.numbers("exclusiveMinimum").iter().all(|bound| value > *bound)
        && view.numbers("exclusiveMaximum").iter().all(|bound| value < *bound)
}

pub(super) fn strings(view: &View<'_>, hints: &Hints) -> Vec<Value> {
    let (least, most) = (view.count("minLength").unwrap_or(0), view.count("maxLength"));
    let formats = view.texts("format").into_iter().filter_map(of_format).map(str::to_owned);
    let patterns = view.texts("pattern").into_iter().flat_map(of_pattern);
    let mut found: Vec<String> = formats.chain(patterns).collect();
    found.extend(["text", "", "two words é", "7"].map(str::to_owned));
    found.extend(hints.strings.iter().cloned());
    let lengths = [Some(least), least.checked_add(1), most, most.and_then(|most| most.checked_sub(1))];
    let hinted = hints.numbers.iter().filter(|length| (0.0..=5_000.0).contains(*length));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in the range of lengths")]
    let hinted = hinted.flat_map(|length| [*length as usize, *length as usize + 1]);
    for length in lengths.into_iter().flatten().chain(hinted).chain([64]) {
        if length <= 5_000 {
            found.push("x".repeat(length));
        }
    }
    let fits = |text: &String| {
        let length = text.chars().count();
        length >= least && most.is_none_or(|most| length <= most)
    };
    distinct(found.into_iter().filter(fits).map(Value::from))
}

fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2024-02-29",
        "date-time" => "2024-02-29T12:30:00Z",
        "time" => "12:30:00Z",
        "duration" => "P1D",
        "uri" | "url" | "uri-reference" | "iri" => "https://example.com/a?b=c",
        "email" => "somebody@example.com",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "hostname" => "example.com",
        _ => return None,
    })
}

/// Strings that match, where the pattern is of a simple kind.
pub(super) fn of_pattern(pattern: &str) -> Vec<String> {
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let inner = inner.strip_suffix('$').filter(|inner| !inner.ends_with('\\')).unwrap_or(inner);
    // Classes of Unicode would give letters that many engines do not take for `\w` or `\d`.
    let inner = inner.replace("\\d", "[0-9]").replace("\\w", "[0-9A-Za-z_]");
    let Ok(strategy) = proptest::string::string_regex(&inner) else { return Vec::new() };
    let mut runner = TestRunner::deterministic();
    (0..3).filter_map(|_| Some(strategy.new_tree(&mut runner).ok()?.current())).collect()
}

fn distinct(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}
