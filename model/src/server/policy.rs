//! Rules about calls, `[[policy]]`, and their conditions on arguments.

use std::fmt;

use regex_lite::Regex;
use serde_json::{Map, Number, Value};

use super::{ConfigPlace, ConfigPlaces, Rate};
use crate::config::key::Form;
use crate::config::read::{Kind, Node, Reader};
use crate::config::table::{ConfigValue, Table, argument, table};
use crate::matching::matches_globs;
use crate::secrets::quoted;
use crate::setters::{adders, setters};
use crate::words::words;
use crate::{ByName, FileError, printable};

words! {
    /// The effect of a rule on the calls that it matches.
    pub enum PolicyEffect {
        /// They may be made, within the rate of the rule. It lifts nothing that another rule, `exclude` or `approve`
        /// demands.
        #[default]
        Allow = "allow",
        /// They need an approval.
        Approve = "approve",
        /// They are denied.
        Deny = "deny",
    }
}

table! {
    /// A rule about calls of a server: `[[policy]]`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct PolicyRule {
        /// Globs of the tools.
        pub tools: Vec<String> => "tools", "", "globs of tools";
        /// Conditions on arguments, by name or JSON pointer; all of them must hold.
        pub when: ByName<Condition> => "when", "{}",
            "conditions on arguments, by name or JSON pointer; all must hold";
        /// The effect.
        pub then: PolicyEffect => "then", "", "the effect on the calls";
        /// The reason to show to the caller.
        pub reason: Option<String> => "reason", "", "the reason, for whoever makes the call";
        /// The number of calls in a time; further calls are denied.
        pub rate: Option<Rate> => "rate", "", "calls of a principal in a time; further calls are denied";
        /// The principals, or entries of `[access]`, that the rule is for; all if empty.
        pub callers: Vec<String> => "for", "all",
            "principals, or names in `[access]`; calls without a known principal count too";
    }
    with {
        /// The positions of its keys in the configuration, such as `when/base`.
        pub(crate) places: ConfigPlaces = ConfigPlaces::default();
    }
}

impl PolicyRule {
    /// Creates a rule about the tools that the globs match. Without further changes it allows their calls.
    ///
    /// ```
    /// use mcp_bindgen_model::{Condition, PolicyEffect, PolicyRule, ServerConfig};
    ///
    /// let rule = PolicyRule::new(["merge_*"]).when("base", Condition::equals("main")).then(PolicyEffect::Deny);
    /// let server = ServerConfig::stdio("git", "git-server").policy(rule);
    /// assert_eq!(server.policies.len(), 1);
    /// ```
    pub fn new<S: Into<String>>(tools: impl IntoIterator<Item = S>) -> Self {
        Self { tools: tools.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Returns the position of one of its keys, such as `when/base`, or of the rule.
    #[must_use]
    pub fn place(&self, key: &str) -> ConfigPlace {
        self.places.of(key)
    }

    /// Returns `true` if the rule applies to a call. `names` are those of the caller's principal and entries of
    /// `[access]`; `None` if the principal is unknown.
    #[must_use]
    pub fn applies(&self, tool: &str, arguments: &Map<String, Value>, names: Option<&[&str]>) -> bool {
        let is_for = |names: &[&str]| self.callers.iter().any(|caller| names.contains(&caller.as_str()));
        matches_globs(&self.tools, tool)
            && (self.callers.is_empty() || names.is_none_or(is_for))
            && self.when.iter().all(|(argument, condition)| condition.holds(argument_at(arguments, argument)))
    }

    /// Returns `true` if the rule denies every call of a tool, for all arguments and callers.
    #[must_use]
    pub fn always_denies(&self, tool: &str) -> bool {
        self.then == PolicyEffect::Deny
            && self.when.is_empty()
            && self.callers.is_empty()
            && matches_globs(&self.tools, tool)
    }
}

impl ConfigValue for PolicyRule {
    const FORM: Form = Form::Table(Self::KEYS);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let rule = Self { places: reader.places(node), ..Self::default() }.filled(reader, node, what)?;
        let has = |key: &str| node.get(key).is_some();
        let (key, message, help) = if rule.callers.is_empty() && has("for") {
            let help = "name principals, or remove it for a rule about all callers";
            ("for", format!("`for` in {what} is empty"), help)
        } else if rule.tools.is_empty() {
            ("tools", format!("{what} has no `tools`"), "name the tools: `tools = [\"github/merge_*\"]`")
        } else if rule.rate.is_none() && !has("then") {
            ("then", format!("{what} has no `then`"), "add `then = \"allow\"`, `\"approve\"` or `\"deny\"`")
        } else if rule.then == PolicyEffect::Deny && rule.rate.is_some() {
            let help = "remove `rate`: a denied call is never made";
            ("rate", format!("{what} has both `then = \"deny\"` and `rate`"), help)
        } else {
            return Ok(rule);
        };
        Err(rule.place(key).error(message).with_help(help))
    }

    fn to_json(&self) -> Value {
        let mut members = self.members();
        // A rule without a rate needs `then`, whatever the default is.
        members.insert("then".to_owned(), self.then.to_json());
        members.into()
    }
}

adders! {
    PolicyRule {
        /// Restricts the rule to principals, or entries of `[access]`. It also applies to calls without a known principal.
        callers(names) => [callers];
    }
}

setters! {
    PolicyRule {
        /// Adds a condition on an argument, by its name or a JSON pointer.
        when(argument: impl Into<String>, condition: Condition) { when.insert(argument.into(), condition) }
        /// Sets the effect.
        then(effect: PolicyEffect) { then = effect }
        /// Sets the reason to show to the caller.
        reason(reason: impl Into<String>) { reason = Some(reason.into()) }
        /// Sets the number of calls in a time. Each principal has this number; calls without one share it.
        rate(rate: Rate) { rate = Some(rate) }
    }
}

/// Returns an argument by its name or JSON pointer.
fn argument_at<'a>(arguments: &'a Map<String, Value>, argument: &str) -> Option<&'a Value> {
    let Some(pointer) = argument.strip_prefix('/') else { return arguments.get(argument) };
    let (first, rest) = pointer.split_once('/').map_or((pointer, None), |(first, rest)| (first, Some(rest)));
    let value = arguments.get(&crate::pointer_key(first))?;
    match rest {
        Some(rest) => value.pointer(&format!("/{rest}")),
        None => Some(value),
    }
}

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
        if !matches!(node.kind, Kind::Table(_)) {
            // The value is shown if it is a text or a number that arguments may have.
            let value =
                argument(reader, node, what, &node.key).ok().filter(|value| !value.is_array() && !value.is_null());
            let value = value.map_or_else(|| "\"..\"".to_owned(), |value| printable(&value.to_string()));
            let is_bare = node.key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
            let key =
                if is_bare && !node.key.is_empty() { quoted(&node.key) } else { format!("{:?}", quoted(&node.key)) };
            let help = format!("write `{key} = {{ equals = {value} }}`");
            return Err(reader.wrong_type(node, what, "a table").with_help(help));
        }
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

    fn arguments(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn rule_for_callers_applies_to_unknown_callers() {
        let rule = PolicyRule::new(["merge"]).callers(["ci"]).when("/to/branch", Condition::equals("main"));
        let call = arguments(json!({ "to": { "branch": "main" } }));
        assert!(rule.applies("merge", &call, Some(&["ci"])));
        assert!(!rule.applies("merge", &call, Some(&["ann"])));
        assert!(!rule.applies("merge", &call, Some(&[])));
        assert!(rule.applies("merge", &call, None));
        assert!(!rule.applies("list", &call, None));
        assert!(!rule.applies("merge", &arguments(json!({ "to": "main" })), None));
    }

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
