//! Finds patterns without effect, such as misspelled ones.

use std::fmt;
use std::path::Path;

use mcp_bindgen_model::{
    ConfigPlace, FileError, PolicyRule, Snapshot, matches_glob, matches_globs, nearest, printable,
};
use serde_json::Value;

use crate::conditions::{Arguments, Unmet};
use crate::options::Options;

/// A pattern of the options without effect on the tools of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdlePattern {
    /// The key with the pattern: `tools`, `exclude`, `approve`, `remote_use`, `prompts` or `policy`.
    pub key: &'static str,
    /// The pattern.
    pub pattern: String,
    /// Its position in the configuration; empty if it is elsewhere.
    pub place: ConfigPlace,
    /// The reason.
    pub reason: Idle,
    /// The next step.
    pub help: String,
}

/// The reasons why a pattern has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// No tool has such a name.
    NoTool,
    /// No prompt has such a name.
    NoPrompt,
    /// No tool of the policy has such an argument.
    NoArgument,
    /// No value of the argument meets this operator of a condition.
    NoValue(&'static str),
    /// `exclude` takes away every tool that it matches.
    Excluded,
    /// Another list of `tools` has none of the tools that it matches.
    NotListed,
}

impl fmt::Display for IdlePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = printable(&self.pattern);
        match self.reason {
            Idle::NoTool => write!(formatter, "no tool matches `{pattern}`"),
            Idle::NoPrompt => write!(formatter, "no prompt matches `{pattern}`"),
            Idle::NoArgument => write!(formatter, "no tool of the policy has an argument `{pattern}`"),
            Idle::NoValue(operator) => {
                write!(formatter, "`{operator}` matches no value of the argument `{pattern}`")
            }
            Idle::Excluded if self.key == "exclude" => {
                write!(formatter, "no tools to bind: `{pattern}` excludes every tool")
            }
            Idle::Excluded => {
                write!(formatter, "no tools to bind: `exclude` removes every tool that `{pattern}` matches")
            }
            Idle::NotListed => {
                let so = "the configuration's `tools` has none of the tools that";
                write!(formatter, "no tools to bind: {so} `{pattern}` matches")
            }
        }
    }
}

impl IdlePattern {
    /// Returns the error for it, at its position in the configuration, or else in the snapshot.
    #[must_use]
    pub fn error(&self, message: impl Into<String>, snapshot: &Path) -> FileError {
        let error = self.place.error(message).with_help(&self.help);
        if self.place.path.is_some() { error } else { error.in_file(snapshot) }
    }
}

/// Returns `true` if a pattern matches a name, or takes it away with `!`.
fn names_any(pattern: &str, names: &[&str]) -> bool {
    let glob = pattern.strip_prefix('!').unwrap_or(pattern);
    names.iter().any(|name| matches_glob(glob, name))
}

impl Options {
    /// Returns the patterns without effect on the tools of a snapshot, such as misspelled ones.
    ///
    /// ```
    /// use mcp_bindgen_codegen::{Idle, Options};
    /// use mcp_bindgen_model::{ServerConfig, Snapshot};
    ///
    /// let snapshot = Snapshot::parse(r#"{"tools": [{"name": "list_issues"}, {"name": "delete_repo"}]}"#)?;
    /// let server = ServerConfig::npm("github", "x").tools(["delete_*"]).exclude(["delete_*", "lst_*"]);
    /// let idle = Options::for_server(&server).idle_patterns(&snapshot);
    /// assert_eq!((idle[0].key, idle[0].reason), ("tools", Idle::Excluded));
    /// assert_eq!(idle[1].to_string(), "no tool matches `lst_*`");
    /// assert_eq!(idle.len(), 2);
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    #[must_use]
    pub fn idle_patterns(&self, snapshot: &Snapshot) -> Vec<IdlePattern> {
        let (server, names) = (&self.server, tool_names(snapshot));
        let mut idle: Vec<IdlePattern> =
            self.tools.iter().flatten().filter_map(|pattern| self.idle_among(pattern, &names)).collect();
        idle.extend(self.unmatched("exclude", &self.exclude, &names));
        idle.extend(self.unmatched("approve", &server.approve, &names));
        idle.extend(self.unmatched("remote_use", &server.remote_use, &names));
        let prompts: Vec<&str> = snapshot.prompts.iter().filter_map(name_of).collect();
        idle.extend(self.unmatched("prompts", server.prompts.as_deref().unwrap_or_default(), &prompts));
        server.policies.iter().for_each(|rule| idle.append(&mut self.idle_in(rule, snapshot)));
        if idle.is_empty() && !names.is_empty() && !names.iter().any(|name| self.selects(name)) {
            let all = self.exclude.join("`, `");
            let first = self.exclude.first().map(|first| server.places.of(&format!("exclude/{first}")));
            let all = self.idle("exclude", &all, Idle::Excluded, &names);
            idle.push(IdlePattern { place: first.unwrap_or_default(), ..all });
        }
        idle
    }

    /// Returns why an additional pattern of `tools` would bind nothing, if so.
    pub(crate) fn idle_pattern(&self, pattern: &str, snapshot: &Snapshot) -> Option<IdlePattern> {
        self.idle_among(pattern, &tool_names(snapshot))
    }

    /// Returns why an additional pattern of `exclude` would exclude nothing or everything, if so.
    pub(crate) fn idle_exclude(&self, pattern: &str, snapshot: &Snapshot) -> Option<IdlePattern> {
        let names = tool_names(snapshot);
        if !names_any(pattern, &names) {
            return Some(self.idle("exclude", pattern, Idle::NoTool, &names));
        }
        let mut exclude = self.exclude.clone();
        exclude.push(pattern.to_owned());
        let left = names.iter().any(|name| self.selects(name) && !matches_globs(&exclude, name));
        (!left).then(|| self.idle("exclude", pattern, Idle::Excluded, &names))
    }

    /// Returns those patterns that match no name.
    fn unmatched(&self, key: &'static str, patterns: &[String], names: &[&str]) -> Vec<IdlePattern> {
        let reason = if key == "prompts" { Idle::NoPrompt } else { Idle::NoTool };
        let unmatched = patterns.iter().filter(|pattern| !names_any(pattern, names));
        unmatched.map(|pattern| self.idle(key, pattern, reason, names)).collect()
    }

    /// Returns the tools of a policy that are not there, and its conditions that no arguments meet.
    fn idle_in(&self, rule: &PolicyRule, snapshot: &Snapshot) -> Vec<IdlePattern> {
        let tools = self.unmatched("policy", &rule.tools, &tool_names(snapshot));
        let mut unmet: Vec<_> = rule.when.iter().map(|(name, condition)| (name, condition, Unmet::default())).collect();
        for tool in &snapshot.tools {
            if unmet.is_empty() {
                break;
            }
            if let Some(name) = name_of(tool).filter(|name| matches_globs(&rule.tools, name)) {
                // Rules see the arguments that are sent, with those that a view fixes.
                let tool = snapshot.viewed.get(name).map_or(tool, |viewed| &viewed.before);
                let arguments = Arguments::new(tool.get("inputSchema").unwrap_or(&Value::Bool(true)));
                unmet.retain_mut(|(name, condition, why)| {
                    arguments.unmet(name, condition).is_some_and(|more| {
                        why.add(more);
                        true
                    })
                });
            }
        }
        let arguments = unmet.into_iter().map(|(name, _, why)| {
            let reason = why.operator.map_or(Idle::NoArgument, Idle::NoValue);
            (format!("when/{name}"), IdlePattern { help: why.help(name), ..self.idle("policy", name, reason, &[]) })
        });
        let tools = tools.into_iter().map(|idle| (format!("tools/{}", idle.pattern), idle));
        tools.chain(arguments).map(|(key, idle)| IdlePattern { place: rule.place(&key), ..idle }).collect()
    }

    fn idle_among(&self, pattern: &str, names: &[&str]) -> Option<IdlePattern> {
        let matching: Vec<&str> = names.iter().copied().filter(|name| names_any(pattern, &[*name])).collect();
        let takes_away = pattern.starts_with('!') && !matching.is_empty();
        if takes_away || matching.iter().any(|name| self.selects(name)) {
            return None;
        }
        let reason = match matching.iter().any(|name| self.lists(name)) {
            _ if matching.is_empty() => Idle::NoTool,
            true => Idle::Excluded,
            false => Idle::NotListed,
        };
        Some(self.idle("tools", pattern, reason, names))
    }

    fn idle(&self, key: &'static str, pattern: &str, reason: Idle, names: &[&str]) -> IdlePattern {
        let help = match reason {
            Idle::NoTool | Idle::NoPrompt | Idle::NoArgument | Idle::NoValue(_) => {
                let near: Vec<String> = nearest(pattern, names.iter().copied()).into_iter().map(printable).collect();
                if near.is_empty() {
                    "`mcp-bindgen list` shows the tools of a snapshot".to_owned()
                } else {
                    format!("did you mean `{}`?", near.join("`, `"))
                }
            }
            Idle::Excluded | Idle::NotListed => {
                format!("change `tools` or `exclude` of server `{}`", self.server.name)
            }
        };
        IdlePattern {
            key,
            pattern: pattern.to_owned(),
            place: self.server.places.of(&format!("{key}/{pattern}")),
            reason,
            help,
        }
    }
}

/// Returns the names of all tools of a snapshot, bound or not.
pub(crate) fn tool_names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.tools.iter().filter_map(name_of).collect()
}

fn name_of(item: &Value) -> Option<&str> {
    item.get("name").and_then(Value::as_str)
}
