//! The key `drift` and the table `[servers.x.drift]`: the reaction to changes, and the accepted ones.

use std::fmt;

use serde_json::Value;

use super::ConfigPlace;
use crate::config::key::{Form, Key, key};
use crate::config::read::{Kind, Node, Reader, suggestion};
use crate::config::table::{Change, ConfigValue, Field};
use crate::json_text::object;
use crate::matching::matches_glob;
use crate::secrets::{ConfigField, quoted};
use crate::setters::setters;
use crate::words::words;
use crate::{ChangeKind, Class, Date, FileError, printable};

pub(crate) const DRIFT: &[Key] = &[
    key("mode", Drift::FORM, "of `[defaults]`", "as `drift` without a table"),
    key("class", Form::Map(&Form::Words(Class::NAMES)), "{}", "the class of a rule, by its id"),
    key("accept", <Vec<Acceptance>>::FORM, "[]", "accepted changes; `rule` and `reason` are required")
        .page("drift.md#accept-a-change"),
];

const ACCEPTANCE: &[Key] = &[
    key("rule", Form::Words(ChangeKind::IDS), "", "the id of the rule"),
    key("tool", Form::TEXT, "all", "a glob of tools; without it, changes of the server itself are covered too"),
    key("at", Form::TEXT, "all", "a JSON pointer into the tool: covers that place and every place below it"),
    key("until", DATE, "", "the last day, in UTC"),
    key("reason", Form::TEXT, "", "the reason, for reviewers"),
];

const DATE: Form = Form::Plain(r#"{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}"#);

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
        tool(glob: impl Into<String>) { tool = Some(glob.into()) }
        /// Restricts it to a place and the places below it, by a JSON pointer into the tool.
        at(pointer: impl Into<String>) { at = Some(pointer.into()) }
        /// Ends it after a day, in UTC.
        until(day: Date) { until = Some(day) }
    }
}

setters! {
    DriftRules {
        /// Adds an accepted change.
        accept(acceptance: Acceptance) { accept.push(acceptance) }
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
        let mode = mode.map(|mode| mode.to_json());
        if self.is_empty() {
            return mode;
        }
        let classes = self.class.iter().map(|(rule, class)| (rule.id(), Some(class.name().into())));
        let class = (!self.class.is_empty()).then(|| object(classes.collect()).into());
        Some(object(vec![("mode", mode), ("accept", self.accept.member()), ("class", class)]).into())
    }

    /// Reads the value of `drift`: a word, or a table.
    pub(crate) fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<(Option<Drift>, Self), FileError> {
        let (mut mode, mut rules) = (None, Self::default());
        if !matches!(node.kind, Kind::Table(_)) {
            return Ok((Option::read(reader, node, what)?, rules));
        }
        for node in reader.known(node, what, DRIFT)? {
            let what = format!("`{}` in {what}", node.key);
            match node.key.as_str() {
                "mode" => mode = Option::read(reader, node, &what)?,
                "accept" => rules.accept = Vec::read(reader, node, &what)?,
                _ => {
                    for node in reader.table(node, &what)? {
                        let rule = kind(reader, node.key_at, &node.key)?;
                        let word = reader.word(node, &format!("`{}` in {what}", rule.id()), Class::NAMES)?;
                        for class in Class::ALL.iter().filter(|class| class.name() == word) {
                            rules = rules.class(rule, *class);
                        }
                    }
                }
            }
        }
        Ok((mode, rules))
    }
}

impl ConfigValue for Acceptance {
    const FORM: Form = Form::Table(ACCEPTANCE);

    fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
        let members = reader.known(node, what, ACCEPTANCE)?;
        // `null` does not count as absent: the change would then be accepted everywhere, or forever.
        let get = |key: &str| {
            let value = members.iter().find(|member| member.key == key);
            value.map(|value| (value, format!("`{key}` in {what}")))
        };
        let text = |key: &str| get(key).map(|(value, what)| String::read(reader, value, &what)).transpose();
        let missing = |key: &str, help: &str| reader.error(node.at, format!("{what} has no `{key}`")).with_help(help);
        let Some((rule, rule_name)) = get("rule") else {
            return Err(missing("rule", "add the id that `check` prints: `rule = \"MCPD0012\"`"));
        };
        let Some(reason) = text("reason")?.filter(|reason| !reason.trim().is_empty()) else {
            return Err(missing("reason", "add the reason for reviewers: `reason = \"..\"`"));
        };
        let date = |(value, what): (&Node, String)| {
            let no_date = || reader.error(value.at, format!("{what} is not a date"));
            let date = reader.text(value, &what).and_then(|text| Date::parse(text).ok_or_else(no_date));
            date.map_err(|error| error.with_help("write it as `\"2027-01-31\"`"))
        };
        Ok(Self {
            rule: kind(reader, rule.at, reader.text(rule, &rule_name)?)?,
            tool: text("tool")?,
            at: get("at").map(|(value, what)| pointer(reader, value, &what)).transpose()?,
            until: get("until").map(date).transpose()?,
            reason,
            place: reader.place(node.at),
        })
    }

    fn to_json(&self) -> Value {
        let text = |text: &Option<String>| text.as_ref().map(String::to_json);
        object(vec![
            ("rule", Some(self.rule.id().into())),
            ("tool", text(&self.tool)),
            ("at", text(&self.at)),
            ("until", self.until.map(|day| day.to_string().into())),
            ("reason", Some(self.reason.to_json())),
        ])
        .into()
    }

    fn change_texts(&mut self, field: ConfigField<'static>, change: &mut Change<'_>) {
        self.tool.change_texts(field, change);
        self.at.change_texts(field, change);
        self.reason.change_texts(field, change);
    }
}

fn kind(reader: &Reader<'_>, at: usize, id: &str) -> Result<ChangeKind, FileError> {
    ChangeKind::by_id(id).ok_or_else(|| {
        let help = match suggestion(id, ChangeKind::IDS, "") {
            near if near.starts_with("did") => near,
            _ => "expected an id such as `MCPD0012`; `check` prints them, and the book lists them".to_owned(),
        };
        reader.error(at, format!("unknown rule `{}`", quoted(id))).with_help(help)
    })
}

fn pointer(reader: &Reader<'_>, node: &Node, what: &str) -> Result<String, FileError> {
    let text = reader.text(node, what)?;
    let is_escaped = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if is_escaped && (text.is_empty() || text.starts_with('/')) {
        return Ok(text.to_owned());
    }
    let help = if is_escaped {
        "start it with `/`, as `check` prints it"
    } else {
        "write `~` as `~0`, and `/` in a name as `~1`"
    };
    Err(reader.error(node.at, format!("{what} is not a JSON pointer")).with_help(help))
}
