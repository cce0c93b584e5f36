//! Rules about calls: `[[policy]]`.

use serde_json::{Map, Value};

use super::{Condition, ConfigPlace, ConfigPlaces, Rate};
use crate::config::key::Form;
use crate::config::read::{Node, Reader};
use crate::config::table::{ConfigValue, Table, table};
use crate::matching::matches_globs;
use crate::setters::{adders, setters};
use crate::words::words;
use crate::{ByName, FileError};

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
}
