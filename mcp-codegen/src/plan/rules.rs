//! The user's rules, held against the plan.

use super::ToolPlan;
use super::located::locate;
use crate::rules::{RuleFault, Rules};

/// The rules that cannot hold.
pub(super) fn faults(rules: &Rules, tools: &[ToolPlan<'_>], every: &[&str]) -> Vec<RuleFault> {
    let mut faults = Vec::new();
    for rule in &rules.rename {
        if let Err(nowhere) = locate(tools, every, &rule.key) {
            faults.push(rule.fault_of_key(format!("in `rename`: {}", nowhere.message), nowhere.help));
        }
    }
    for rule in &rules.shared {
        if let Err(nowhere) = locate(tools, every, &rule.value) {
            faults.push(rule.fault_of_value(format!("in `shared`: {}", nowhere.message), nowhere.help));
        }
    }
    faults
}
