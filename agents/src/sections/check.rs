//! Checks of sections that do not depend on parameters: their positions and their content.

use std::collections::BTreeMap;

use mcp_bindgen_model::{is_server_name, printable};
use minijinja::Environment;

use super::error::PromptError;
use super::inventory::VARIABLES;
use super::names::tool_name_problem;
use super::params::Names;
use super::section::{AnySection, Parts};
use super::template;

/// The maximum depth of nested sections.
const DEEPEST: usize = 16;

/// A section in its place.
pub(super) struct Placed {
    /// Its place among all sections.
    pub(super) index: usize,
    pub(super) parts: Parts,
    /// `a.b`
    pub(super) path: String,
    /// `1.2`
    pub(super) number: String,
    /// 0 for those of the prompt itself.
    pub(super) depth: usize,
    pub(super) parent: Option<usize>,
    /// The index after the section and its children.
    pub(super) end: usize,
}

/// Puts sections into their places, or says all that is wrong with them.
pub(super) fn placed(
    sections: Vec<AnySection>,
    environment: &Environment<'_>,
    reserved: &[String],
) -> Result<Vec<Placed>, PromptError> {
    let mut check = Check { environment, reserved, nodes: Vec::new(), problems: Vec::new(), tools: BTreeMap::new() };
    check.siblings(sections, None);
    if check.problems.is_empty() { Ok(check.nodes) } else { Err(PromptError::new(check.problems)) }
}

struct Check<'c> {
    environment: &'c Environment<'c>,
    reserved: &'c [String],
    nodes: Vec<Placed>,
    problems: Vec<String>,
    /// Which section has the tool of a name.
    tools: BTreeMap<String, String>,
}

impl Check<'_> {
    fn siblings(&mut self, sections: Vec<AnySection>, parent: Option<usize>) {
        let above = parent.and_then(|index| self.nodes.get(index));
        let (prefix, numbers, depth) = match above {
            Some(node) => (format!("{}.", node.path), format!("{}.", node.number), node.depth + 1),
            None => (String::new(), String::new(), 0),
        };
        if depth >= DEEPEST && !sections.is_empty() {
            self.problems.push(format!("section `{prefix}..` is nested more than {DEEPEST} levels deep"));
            return;
        }
        let mut keys: Vec<String> = Vec::new();
        for (position, AnySection { mut parts }) in sections.into_iter().enumerate() {
            let path = format!("{prefix}{}", printable(&parts.key));
            if keys.contains(&parts.key) {
                self.say(&path, "has the same key as a sibling; use different keys");
            }
            if prefix.split('.').any(|above| above == parts.key) {
                let message = "is inside a section with the same key; use different keys";
                self.say(&path, message);
            }
            keys.push(parts.key.clone());
            self.section(&parts, &path);
            let (index, number) = (self.nodes.len(), format!("{numbers}{}", position + 1));
            let children = std::mem::take(&mut parts.children);
            self.nodes.push(Placed { index, parts, path, number, depth, parent, end: 0 });
            self.siblings(children, Some(index));
            let end = self.nodes.len();
            if let Some(node) = self.nodes.get_mut(index) {
                node.end = end;
            }
        }
    }

    fn say(&mut self, path: &str, problem: impl AsRef<str>) {
        self.problems.push(format!("section `{path}` {}", problem.as_ref()));
    }

    fn section(&mut self, parts: &Parts, path: &str) {
        if !is_server_name(&parts.key) {
            self.say(path, "has an invalid key: expected `^[a-z0-9][a-z0-9_-]{0,63}$`");
        }
        if parts.title.trim().is_empty() || parts.title.chars().any(char::is_control) {
            self.say(path, "has no single-line title");
        }
        let of_inventory = parts.inventory.as_ref().map(|_| Names::these(VARIABLES));
        let names = of_inventory.as_ref().unwrap_or(&parts.names);
        for problem in template::problems(self.environment, parts.template.as_deref().unwrap_or_default(), names) {
            self.say(path, format!("has a template that {problem}"));
        }
        self.summary(parts, path);
        self.tools(parts, path);
        self.servers(parts, path);
    }

    fn summary(&mut self, parts: &Parts, path: &str) {
        let summary = parts.summary.as_deref();
        for problem in summary.map(|text| template::problems(self.environment, text, &parts.names)).unwrap_or_default()
        {
            self.say(path, format!("has a summary that {problem}"));
        }
        match summary.map(str::trim) {
            Some("") => self.say(path, "has a summary without text"),
            None if parts.shown.is_some() => {
                self.say(path, "may be shown as a summary, but has none; add one with `Section::summary`");
            }
            _ => {}
        }
    }

    fn tools(&mut self, parts: &Parts, path: &str) {
        for tool in &parts.tools {
            let name = printable(tool.name());
            if let Some(problem) = tool_name_problem(tool.name(), self.reserved) {
                self.say(path, format!("has a tool `{name}`, {problem}"));
            }
            if let Some(fault) = tool.fault() {
                self.say(path, format!("has a tool `{name}`, whose parameters are {fault} instead of an object"));
            }
            if let Some(other) = self.tools.insert(tool.name().to_owned(), path.to_owned()) {
                self.say(path, format!("has a tool `{name}`, which section `{other}` also has; rename one of them"));
            }
        }
    }

    fn servers(&mut self, parts: &Parts, path: &str) {
        let mut names: Vec<&str> = Vec::new();
        for server in parts.fixed() {
            if let Some(problem) = server.handle().problem(self.reserved) {
                self.say(path, format!("has an invalid server: {problem}"));
            }
            if names.contains(&server.name()) {
                self.say(path, format!("declares server `{}` twice", printable(server.name())));
            }
            names.push(server.name());
        }
        if parts.servers.is_empty() && parts.tools.is_empty() && !parts.layers.is_empty() {
            self.say(path, "has policies or layers, but no servers or functions");
        }
    }
}
