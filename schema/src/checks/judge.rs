//! Values held against checks.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::bundle::Draft;
use crate::drift::pattern::{Automaton, compile};
use crate::normalize::Scalars;
use crate::number::is_multiple;

/// How much of a pattern a message shows.
const LONGEST_PATTERN: usize = 120;

/// Compiled assertions about a string, a number or a list, from the schemas of
/// [`Document::checks`](crate::Document::checks).
#[derive(Debug, Default)]
pub struct Checks(Vec<Checked>);

/// The keywords of one schema, and its pattern compiled.
#[derive(Debug)]
struct Checked {
    said: Scalars,
    min_items: Option<u64>,
    max_items: Option<u64>,
    automaton: Option<Automaton>,
}

impl Checks {
    /// Parses a schema. An invalid one checks nothing.
    ///
    /// ```
    /// use mcp_bindgen_schema::Checks;
    ///
    /// let checks = Checks::parse(r#"{"minLength": 2, "pattern": "^[a-z]+$"}"#);
    /// assert!(checks.text("ab").is_ok());
    /// assert_eq!(checks.text("a").unwrap_err(), "expected at least 2 characters, found 1");
    /// ```
    #[must_use]
    pub fn parse(json: &str) -> Self {
        let schema: Value = serde_json::from_str(json).unwrap_or_default();
        let all = schema.get("allOf").and_then(Value::as_array).map_or(std::slice::from_ref(&schema), Vec::as_slice);
        Self(all.iter().filter_map(Value::as_object).map(Checked::new).collect())
    }

    /// Checks a string.
    ///
    /// # Errors
    /// The demand that the string does not meet: never the string itself, which may be a secret.
    pub fn text(&self, text: &str) -> Result<(), String> {
        let length = text.chars().count() as u64;
        for checked in &self.0 {
            within(length, checked.said.min_length, checked.said.max_length, "character")?;
            if let (Some(pattern), Some(automaton)) = (&checked.said.pattern, &checked.automaton)
                && !automaton.is_match(text)
            {
                let shown: String = pattern.escape_debug().to_string().chars().take(LONGEST_PATTERN).collect();
                let found = counted(length, "character");
                return Err(format!("expected a string that matches `{shown}`, found another of {found}"));
            }
        }
        Ok(())
    }

    /// Checks the length of a list.
    ///
    /// # Errors
    /// How many it must have, and how many it has.
    pub fn length(&self, length: usize) -> Result<(), String> {
        self.0.iter().try_for_each(|checked| within(length as u64, checked.min_items, checked.max_items, "item"))
    }

    /// Checks a number.
    ///
    /// # Errors
    /// The demand, and the number.
    pub fn number(&self, number: &Number) -> Result<(), String> {
        let refused = |what: &str, limit: &Number| Err(format!("expected {what} {limit}, found {number}"));
        for checked in &self.0 {
            for (limits, side, inclusive, exclusive) in [
                (&checked.said.minimum, Ordering::Less, "at least", "more than"),
                (&checked.said.maximum, Ordering::Greater, "at most", "less than"),
            ] {
                if let Some(limit) = limits.iter().find(|limit| limit.refuses(number, side)) {
                    return refused(if limit.exclusive { exclusive } else { inclusive }, &limit.value);
                }
            }
            let step = checked.said.multiple_of.as_ref();
            if let Some(step) = step.filter(|step| is_multiple(number, step) == Some(false)) {
                return refused("a multiple of", step);
            }
        }
        Ok(())
    }
}

fn within(length: u64, least: Option<u64>, most: Option<u64>, noun: &str) -> Result<(), String> {
    match (least, most) {
        (Some(least), _) if length < least => {
            Err(format!("expected at least {}, found {length}", counted(least, noun)))
        }
        (_, Some(most)) if length > most => Err(format!("expected at most {}, found {length}", counted(most, noun))),
        _ => Ok(()),
    }
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl Checked {
    fn new(schema: &Map<String, Value>) -> Self {
        let said = Scalars::of(schema, Draft::Unsaid);
        let automaton = said.pattern.as_deref().and_then(compile);
        let count = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        Self { said, min_items: count("minItems"), max_items: count("maxItems"), automaton }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let checks = Checks::parse(r#"{"exclusiveMinimum": 0, "maximum": 0.3, "multipleOf": 0.1}"#);
        let said = |json: &str| checks.number(&serde_json::from_str(json).unwrap()).err().unwrap_or_default();
        for fits in ["0.1", "0.3", "0.30", "3e-1"] {
            assert_eq!(said(fits), "", "{fits}");
        }
        assert_eq!(said("0"), "expected more than 0, found 0");
        assert_eq!(said("0.4"), "expected at most 0.3, found 0.4");
        assert_eq!(said("0.15"), "expected a multiple of 0.1, found 0.15");
        let wide =
            Checks::parse(r#"{"allOf": [{"minimum": 9007199254740993}, {"exclusiveMaximum": 9007199254740995}]}"#);
        assert!(wide.number(&9_007_199_254_740_993_u64.into()).is_ok());
        assert!(wide.number(&9_007_199_254_740_992_u64.into()).is_err());
        assert!(wide.number(&9_007_199_254_740_995_u64.into()).is_err());
    }

    #[test]
    fn lengths_count_characters() {
        let checks = Checks::parse(r#"{"minLength": 2, "maxLength": 3}"#);
        assert!(checks.text("\u{1f600}\u{1f600}").is_ok());
        assert_eq!(checks.text("abcd").unwrap_err(), "expected at most 3 characters, found 4");
    }

    #[test]
    fn check_error_does_not_contain_the_value() {
        let said = Checks::parse(r#"{"pattern": "^\\d$"}"#).text("hunter2").unwrap_err();
        assert_eq!(said, r"expected a string that matches `^\\d$`, found another of 7 characters");
    }

    #[test]
    fn whitespace_and_line_classes_match_ecmascript() {
        for (pattern, text, fits) in [
            ("^\\s$", "\u{feff}", true),
            ("^\\s$", "\u{85}", false),
            ("^\\S$", "\u{85}", true),
            ("^[^\\s]$", "\u{2029}", false),
            ("^.$", "\r", false),
            ("^.$", "\u{2028}", false),
            ("^[.]$", ".", true),
            ("^a$", "a\n", false),
        ] {
            let checks = Checks::parse(&serde_json::json!({ "pattern": pattern }).to_string());
            assert_eq!(checks.text(text).is_ok(), fits, "{pattern} {text:?}");
        }
    }
}
