//! The key `drift` and the table `[servers.x.drift]`: the reaction to changes, and the accepted ones.

use std::fmt;

use serde_json::{Map, Value};

use super::ConfigPlace;
use crate::matching::matches_glob;
use crate::setters::setters;
use crate::words::words;
use crate::{ChangeKind, Class, Date, printable};

words! {
    /// The reaction of the runtime to a live server that differs from the bindings.
    pub enum Drift {
        /// Does nothing.
        Ignore = "ignore",
        /// Logs each change.
        #[default]
        Warn = "warn",
        /// Refuses calls of tools with breaking changes.
        Deny = "deny",
    }
}

/// The keys `accept` and `class` of `[servers.x.drift]`: accepted changes, and rules with another class.
///
/// ```
/// use mcp_bindgen_model::{Acceptance, ChangeKind, Class, Date, DriftRules};
///
/// let rules = DriftRules::default()
///     .accept(Acceptance::new(ChangeKind::NowRequired, "every caller sends it").tool("create_*"))
///     .class(ChangeKind::Hints, Class::Breaking);
/// let today = Date::today();
/// assert!(rules.accepted(ChangeKind::NowRequired, "create_issue", "/inputSchema/properties/title", today).is_some());
/// assert!(rules.accepted(ChangeKind::NowRequired, "find", "/inputSchema/properties/title", today).is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriftRules {
    /// The accepted changes.
    pub accept: Vec<Acceptance>,
    /// The rules whose class is overridden.
    pub class: Vec<(ChangeKind, Class)>,
    /// `true` if the bindings of tools have no `new` with positions, so that calls cannot mean another argument.
    pub named: bool,
}

/// Accepted changes, by rule and place. Equality ignores the line in the configuration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Acceptance {
    /// The kind of change.
    pub rule: ChangeKind,
    /// A glob of tools. `None` also covers changes of the server itself.
    pub tool: Option<String>,
    /// A JSON pointer into the tool: covers that place and every place below it.
    pub at: Option<String>,
    /// The last day, in UTC.
    pub until: Option<Date>,
    /// The reason, for reports.
    pub reason: String,
    /// The line in the configuration.
    pub place: ConfigPlace,
}

impl PartialEq for Acceptance {
    fn eq(&self, other: &Self) -> bool {
        (self.rule, &self.tool, &self.at, self.until, &self.reason)
            == (other.rule, &other.tool, &other.at, other.until, &other.reason)
    }
}

impl Eq for Acceptance {}

impl Acceptance {
    /// Accepts every change of a kind.
    #[must_use]
    pub fn new(rule: ChangeKind, reason: impl Into<String>) -> Self {
        Self { rule, tool: None, at: None, until: None, reason: reason.into(), place: ConfigPlace::default() }
    }

    /// Returns `true` if it covers a change, whatever the day. The tool is empty for a change of the server itself.
    #[must_use]
    pub fn covers(&self, kind: ChangeKind, tool: &str, pointer: &str) -> bool {
        let is_tool = |glob: &String| !tool.is_empty() && matches_glob(glob, tool);
        let is_place = |at: &String| {
            let below = pointer.strip_prefix(at.as_str());
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        self.rule == kind && self.tool.as_ref().is_none_or(is_tool) && self.at.as_ref().is_none_or(is_place)
    }

    /// Returns `true` after the last day.
    #[must_use]
    pub fn is_expired(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }
}

setters! {
    Acceptance {
        /// Restricts it to the tools that match a glob.
        tool(glob: impl Into<String>) => Some(glob.into());
        /// Restricts it to a place and the places below it, by a JSON pointer into the tool.
        at(pointer: impl Into<String>) => Some(pointer.into());
        /// Ends it after a day, in UTC.
        until(day: Date) => Some(day);
    }
}

/// `accepted until 2027-01-01: every caller sends it`.
impl fmt::Display for Acceptance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = self.until.map(|day| format!(" until {day}")).unwrap_or_default();
        write!(formatter, "accepted{until}: {}", printable(&self.reason))
    }
}

impl DriftRules {
    /// Adds an accepted change.
    #[must_use]
    pub fn accept(mut self, acceptance: Acceptance) -> Self {
        self.accept.push(acceptance);
        self
    }

    /// Sets the class of a rule.
    #[must_use]
    pub fn class(mut self, rule: ChangeKind, class: Class) -> Self {
        self.class.retain(|(known, _)| *known != rule);
        self.class.push((rule, class));
        self
    }

    /// Returns the class that is set for a rule.
    #[must_use]
    pub fn class_of(&self, rule: ChangeKind) -> Option<Class> {
        self.class.iter().find(|(known, _)| *known == rule).map(|(_, class)| *class)
    }

    /// Returns the acceptance that covers a change on a day.
    #[must_use]
    pub fn accepted(&self, kind: ChangeKind, tool: &str, pointer: &str, today: Date) -> Option<&Acceptance> {
        self.accept.iter().find(|accepted| !accepted.is_expired(today) && accepted.covers(kind, tool, pointer))
    }

    /// Returns `true` if there are no accepted changes and no changed classes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.accept.is_empty() && self.class.is_empty()
    }

    /// Returns the value of `drift` in a configuration: a word if there are no rules, else a table.
    pub(super) fn to_json(&self, mode: Option<Drift>) -> Option<Value> {
        let mode = mode.map(|mode| Value::from(mode.name()));
        if self.is_empty() {
            return mode;
        }
        let acceptance = |accepted: &Acceptance| -> Value {
            let texts = [
                ("rule", Some(accepted.rule.id().to_owned())),
                ("tool", accepted.tool.clone()),
                ("at", accepted.at.clone()),
                ("until", accepted.until.map(|day| day.to_string())),
                ("reason", Some(accepted.reason.clone())),
            ];
            texts.into_iter().filter_map(|(key, text)| Some((key, text?))).collect()
        };
        let mut table = Map::new();
        table.extend(mode.map(|mode| ("mode".to_owned(), mode)));
        if !self.accept.is_empty() {
            table.insert("accept".to_owned(), self.accept.iter().map(acceptance).collect());
        }
        if !self.class.is_empty() {
            let classes = self.class.iter().map(|(rule, class)| (rule.id(), Value::from(class.name())));
            table.insert("class".to_owned(), classes.collect());
        }
        Some(Value::Object(table))
    }

    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.accept.iter_mut().flat_map(|accepted| {
            let Acceptance { tool, at, reason, .. } = accepted;
            tool.iter_mut().chain(at.iter_mut()).chain([reason])
        })
    }
}
