//! Finds patterns without effect, such as misspelled ones.

use std::fmt;
use std::path::Path;

use mcp_bindgen_model::{ConfigPlace, FileError, Snapshot, matches_glob, matches_globs, nearest, printable};
use serde_json::Value;

use crate::options::Options;

/// A pattern of the options without effect on the tools of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdlePattern {
    /// The key with the pattern: `tools`, `exclude`, `approve` or `remote_use`.
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

/// Returns the glob of a pattern, without the `!` that takes names away.
fn positive(pattern: &str) -> &str {
    pattern.strip_prefix('!').unwrap_or(pattern)
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
        let names = tool_names(snapshot);
        let keyed = |key, patterns| std::iter::repeat(key).zip::<&Vec<String>>(patterns);
        let tools = self.tools.iter().flatten().filter_map(|pattern| self.idle_among(pattern, &names));
        let others = keyed("exclude", &self.exclude)
            .chain(keyed("approve", &self.approve))
            .chain(keyed("remote_use", &self.remote_use));
        let others = others.filter_map(|(key, pattern)| {
            let unused = !names.iter().any(|name| matches_glob(positive(pattern), name));
            unused.then(|| self.idle(key, pattern, Idle::NoTool, &names))
        });
        let mut idle: Vec<IdlePattern> = tools.chain(others).collect();
        if idle.is_empty() && !names.is_empty() && !names.iter().any(|name| self.selects(name)) {
            let all = self.exclude.join("`, `");
            let first = self.exclude.first().map(|first| self.pattern_places.of("exclude", first));
            let all = self.idle("exclude", &all, Idle::Excluded, &names);
            idle.push(IdlePattern { place: first.unwrap_or_default(), ..all });
        }
        idle
    }

    /// Returns why an additional pattern of `tools` would bind nothing, if so.
    #[must_use]
    pub fn idle_pattern(&self, pattern: &str, snapshot: &Snapshot) -> Option<IdlePattern> {
        self.idle_among(pattern, &tool_names(snapshot))
    }

    /// Returns why an additional pattern of `exclude` would exclude nothing or everything, if so.
    #[must_use]
    pub fn idle_exclude(&self, pattern: &str, snapshot: &Snapshot) -> Option<IdlePattern> {
        let names = tool_names(snapshot);
        let unused = !names.iter().any(|name| matches_glob(positive(pattern), name));
        if unused {
            return Some(self.idle("exclude", pattern, Idle::NoTool, &names));
        }
        let mut exclude = self.exclude.clone();
        exclude.push(pattern.to_owned());
        let left = names.iter().any(|name| self.selects(name) && !matches_globs(&exclude, name));
        (!left).then(|| self.idle("exclude", pattern, Idle::Excluded, &names))
    }

    fn idle_among(&self, pattern: &str, names: &[&str]) -> Option<IdlePattern> {
        let matching: Vec<&str> = names.iter().copied().filter(|name| matches_glob(positive(pattern), name)).collect();
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
            Idle::NoTool => {
                let near: Vec<String> = nearest(pattern, names.iter().copied()).into_iter().map(printable).collect();
                if near.is_empty() {
                    "`mcp-bindgen list` shows the tools of a snapshot".to_owned()
                } else {
                    format!("did you mean `{}`?", near.join("`, `"))
                }
            }
            Idle::Excluded | Idle::NotListed => {
                format!("change `tools` or `exclude` of server `{}`", self.server)
            }
        };
        IdlePattern { key, pattern: pattern.to_owned(), place: self.pattern_places.of(key, pattern), reason, help }
    }
}

/// The names of all tools of a snapshot, bound or not.
pub(crate) fn tool_names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.tools.iter().filter_map(|tool| tool.get("name").and_then(Value::as_str)).collect()
}
