//! The user's rules, held against the plan.

use std::borrow::Cow;

use mcp_model::{Types, printable};

use super::ToolPlan;
use super::located::locate;
use crate::rules::{RuleFault, Rules};

/// The rules without those that are about the generator's own types, where another backend makes the types.
pub(super) fn that_hold_for<'r>(types: Types, rules: &'r Rules, faults: &mut Vec<RuleFault>) -> Cow<'r, Rules> {
    if types == Types::Native || (rules.extern_types.is_empty() && rules.shared.is_empty()) {
        return Cow::Borrowed(rules);
    }
    for (key, refused) in [("extern", &rules.extern_types), ("shared", &rules.shared)] {
        faults.extend(refused.iter().map(|rule| {
            let message = format!("in `{key}`: `{}` needs the generator's own types", printable(&rule.key));
            rule.fault_of_key(message, format!("leave out `types = \"{}\"`, or `{key}`", types.name()))
        }));
    }
    Cow::Owned(Rules { extern_types: Vec::new(), shared: Vec::new(), ..rules.clone() })
}

/// The rules that cannot hold.
pub(super) fn faults(rules: &Rules, tools: &[ToolPlan<'_>], every: &[&str]) -> Vec<RuleFault> {
    let mut faults = Vec::new();
    for rule in &rules.rename {
        if let Err(nowhere) = locate(tools, every, &rule.key) {
            faults.push(rule.fault_of_key(format!("in `rename`: {}", nowhere.message), nowhere.help));
        }
    }
    faults
}
