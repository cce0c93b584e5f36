//! Conditions on the arguments of calls.

use std::fmt;

use regex_lite::Regex;
use serde_json::{Number, Value};

use crate::FileError;
use crate::config::key::Form;
use crate::config::read::{Node, Reader};
use crate::config::table::{ConfigValue, Table, argument, table};

table! {
    /// A condition on an argument. All of its parts must hold; none of them holds for an absent argument, except
    /// `present = false`.
    ///
    /// ```
    /// use mcp_bindgen_model::Condition;
    /// use serde_json::json;
    ///
    /// let condition = Condition::pattern("^release/[0-9]+$").expect("it is a regular expression");
    /// assert!(condition.holds(Some(&json!("release/7"))));
    /// assert!(!condition.holds(Some(&json!("main"))) && !condition.holds(None));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Condition {
        /// The value that the argument is equal to; `1` and `1.0` are equal.
        pub equals: Option<Value> => "equals", "", "the value";
        /// The beginning of a string.
        pub prefix: Option<String> => "prefix", "", "the beginning of a string";
        /// A regular expression that matches a part of a string.
        pub pattern: Option<Pattern> => "pattern", "", "a regular expression that matches a part of a string";
        /// The least value of a number.
        pub min: Option<Number> => "min", "", "the least number";
        /// The greatest value of a number.
        pub max: Option<Number> => "max", "", "the greatest number";
        /// The required presence of the argument.
        pub present: Option<bool> => "present", "", "whether the argument is there";
    }
}

impl Condition {
    /// Holds for this value.
    pub fn equals(value: impl Into<Value>) -> Self {
        Self { equals: Some(value.into()), ..Self::default() }
    }

    /// Holds for strings that begin so.
    pub fn prefix(text: impl Into<String>) -> Self {
        Self { prefix: Some(text.into()), ..Self::default() }
    }

    /// Holds for strings with a part that matches a regular expression; `None` if it is not one.
    #[must_use]
    pub fn pattern(text: &str) -> Option<Self> {
        Some(Self { pattern: Some(Pattern::parse(text).ok()?), ..Self::default() })
    }

    /// Holds for numbers that are at least this.
    pub fn min(number: impl Into<Number>) -> Self {
        Self { min: Some(number.into()), ..Self::default() }
    }

    /// Holds for numbers that are at most this.
    pub fn max(number: impl Into<Number>) -> Self {
        Self { max: Some(number.into()), ..Self::default() }
    }

    /// Holds if the argument is there, or if it is not.
    #[must_use]
    pub fn present(is_present: bool) -> Self {
        Self { present: Some(is_present), ..Self::default() }
    }

    /// Holds if both hold. Parts that both have are those of the other condition.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            equals: other.equals.or(self.equals),
            prefix: other.prefix.or(self.prefix),
            pattern: other.pattern.or(self.pattern),
            min: other.min.or(self.min),
            max: other.max.or(self.max),
            present: other.present.or(self.present),
        }
    }

    /// Returns `true` if the condition holds for an argument, or its absence.
    #[must_use]
    pub fn holds(&self, argument: Option<&Value>) -> bool {
        let Some(value) = argument else { return *self == Self::present(false) };
        let is_text = |test: &dyn Fn(&str) -> bool| value.as_str().is_some_and(test);
        let is_number = |test: &dyn Fn(f64) -> bool| value.as_f64().is_some_and(test);
        self.present != Some(false)
            && self.equals.as_ref().is_none_or(|equal| are_equal(equal, value))
            && self.prefix.as_ref().is_none_or(|prefix| is_text(&|text| text.starts_with(prefix)))
            && self.pattern.as_ref().is_none_or(|pattern| is_text(&|text| pattern.regex.is_match(text)))
            && self.min.as_ref().and_then(Number::as_f64).is_none_or(|min| is_number(&|number| number >= min))
            && self.max.as_ref().and_then(Number::as_f64).is_none_or(|max| is_number(&|number| number <= max))
    }
}

impl ConfigValue for Condition {
    const FORM: Form = Form::Table(Self::KEYS);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let condition = Self::default().filled(reader, node, what)?;
        if condition == Self::default() {
            let error = reader.error(node.at, format!("{what} is empty"));
            return Err(error.with_help("add a condition: `{ equals = \"main\" }`"));
        }
        // The name of the argument may say that the value is a secret.
        if let Some(equals) = node.get("equals") {
            argument(reader, equals, &format!("`equals` in {what}"), &node.key)?;
        }
        Ok(condition)
    }

    fn to_json(&self) -> Value {
        self.members().into()
    }
}

fn are_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| are_equal(value, other)))
        }
        _ => one == other,
    }
}

/// A regular expression in the syntax of the crate [`regex_lite`], which takes linear time.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Parses a regular expression.
    ///
    /// # Errors
    /// Returns the reason why it is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let regex = Regex::new(text).map_err(|error| error.to_string())?;
        Ok(Self { text: text.to_owned(), regex })
    }
}

impl ConfigValue for Pattern {
    const FORM: Form = Form::TEXT;

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let error = |why| reader.error(node.at, format!("{what} is not a regular expression: {why}"));
        Self::parse(reader.text(node, what)?).map_err(error)
    }

    fn to_json(&self) -> Value {
        self.text.as_str().into()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn condition_holds_for_values_but_not_for_missing_ones() {
        let pattern = Condition::pattern("^v[0-9]+").unwrap();
        let range = Condition::min(2).and(Condition::max(4));
        let present = Condition::present;
        for (condition, value, expected) in [
            (Condition::equals(1), json!(1.0), true),
            (Condition::equals(json!({ "a": [1] })), json!({ "a": [1.0] }), true),
            (Condition::equals("main"), json!("Main"), false),
            (Condition::prefix("/etc"), json!("/etc/passwd"), true),
            (Condition::prefix("/etc"), json!(["/etc"]), false),
            (pattern.clone(), json!("v12"), true),
            (pattern, json!("12"), false),
            (range.clone(), json!(2), true),
            (range.clone(), json!(4.5), false),
            (range, json!("3"), false),
            (present(true), json!(null), true),
            (present(false), json!(null), false),
        ] {
            assert_eq!(condition.holds(Some(&value)), expected, "{condition:?} {value}");
            assert_eq!(condition.holds(None), condition == present(false), "{condition:?}");
        }
        assert!(present(false).holds(None));
    }
}
