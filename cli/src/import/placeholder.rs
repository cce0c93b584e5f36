//! The placeholders of each host, as `mcp.toml` writes them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::host::{Host, Platform};
use super::variable::{Variable, in_capitals, shown, variable};

/// The values that VS Code asks for when a server is started.
#[derive(Default)]
pub(super) struct Inputs(BTreeMap<String, Input>);

struct Input {
    variable: String,
    why: String,
    default: Option<String>,
    is_used: bool,
}

impl Inputs {
    /// Reads `inputs`; malformed parts are noted.
    pub(super) fn read(list: Value, notes: &mut Vec<String>) -> Self {
        let mut inputs = BTreeMap::new();
        let Value::Array(list) = list else {
            notes.push("`inputs` is not an array".to_owned());
            return Self::default();
        };
        let mut variables = BTreeSet::new();
        for input in list {
            let Value::Object(mut input) = input else { continue };
            let mut text = |key: &str| input.remove(key).and_then(|value| value.as_str().map(str::to_owned));
            let Some(id) = text("id") else {
                notes.push("ignoring an input without `id`".to_owned());
                continue;
            };
            let (kind, description, default) = (text("type"), text("description"), text("default"));
            let is_password = input.remove("password").is_some_and(|value| value == true);
            let mut name = in_capitals(&id);
            if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
                name.insert(0, '_');
            }
            while !variables.insert(name.clone()) {
                name.push('_');
            }
            let mut why = format!("input `{}`", shown(&id));
            if let Some(description) = description {
                why.push_str(&format!(", \"{}\"", shown(&description)));
            }
            if kind.as_deref() == Some("command") {
                why.push_str(", which comes from a command that is not run");
            }
            if let Some(Value::Array(options)) = input.remove("options") {
                why.push_str(&format!(", one of {} options", options.len()));
            }
            let default = default.filter(|default| {
                let is_plain = !is_password && !default.contains(['}', '$']);
                if !is_plain {
                    notes.push(format!("the `default` of input `{}` was not imported", shown(&id)));
                }
                is_plain
            });
            for key in input.keys() {
                notes.push(format!("`{}` of input `{}` was not imported", shown(key), shown(&id)));
            }
            inputs.insert(id, Input { variable: name, why, default, is_used: false });
        }
        Self(inputs)
    }

    /// Returns notes for the inputs that no server uses.
    pub(super) fn unused(&self) -> Vec<String> {
        let unused = self.0.iter().filter(|(_, input)| !input.is_used);
        unused.map(|(_, input)| format!("no server uses {}", input.why)).collect()
    }
}

/// Translates the texts of one server.
pub(super) struct Translation<'a> {
    pub(super) host: Host,
    pub(super) platform: Platform,
    pub(super) inputs: &'a mut Inputs,
    /// The name of the project's folder.
    pub(super) workspace_name: Option<String>,
    pub(super) server: &'a str,
    pub(super) notes: Vec<String>,
    pub(super) variables: Vec<Variable>,
    pub(super) uses_workspace: bool,
    /// The texts that are plain for the host, and would be placeholders here.
    pub(super) plain: BTreeSet<String>,
}

/// The position of a text.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The label in messages.
    pub(super) label: &'a str,
    /// The base of the variable's name.
    pub(super) key: &'a str,
    /// The folder of the project, seen from there.
    pub(super) workspace: &'a str,
    pub(super) is_env: bool,
}

enum Meaning {
    /// This, as `mcp.toml` writes it.
    Is(String),
    /// The value cannot be written, and a variable is set to it.
    Elsewhere,
    /// Nothing: it is plain text.
    Text,
}

impl Translation<'_> {
    pub(super) fn translate(&mut self, place: Place<'_>, text: &str) -> String {
        if !text.contains(['$', '{', '%']) {
            return text.to_owned();
        }
        let mut translated = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{', '%']) {
            translated.push_str(rest.get(..at).unwrap_or_default());
            rest = rest.get(at..).unwrap_or_default();
            let Some((whole, inside)) = self.token(rest, place) else {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                translated.push_str(rest.get(..first).unwrap_or_default());
                rest = rest.get(first..).unwrap_or_default();
                continue;
            };
            match self.meaning(inside, place) {
                Meaning::Is(ours) => translated.push_str(&ours),
                Meaning::Elsewhere => {
                    let name = variable(self.server, place.key);
                    let why = format!("the value of `{}` in {}, which is not resolved", shown(whole), place.label);
                    translated.push_str(&format!("${{{name}}}"));
                    self.need(name, why);
                }
                Meaning::Text => {
                    if reads_as_ours(whole, inside) {
                        self.plain.insert(whole.to_owned());
                    }
                    translated.push_str(whole);
                }
            }
            rest = rest.get(whole.len()..).unwrap_or_default();
        }
        translated.push_str(rest);
        translated
    }

    fn need(&mut self, name: String, why: String) {
        if !self.variables.iter().any(|known| known.name == name) {
            self.variables.push(Variable { name, why });
        }
    }

    /// Returns the placeholder at the start of the text, in the host's form or this program's: the whole of it, and its
    /// name.
    fn token<'t>(&self, text: &'t str, place: Place<'_>) -> Option<(&'t str, &'t str)> {
        let enclosed = |start: &str, end: char| {
            let inside = text.strip_prefix(start)?;
            let inside = inside.get(..inside.find(end)?)?;
            Some((text.get(..start.len() + inside.len() + end.len_utf8())?, inside))
        };
        if text.starts_with("${") {
            return enclosed("${", '}');
        }
        match self.host {
            Host::Opencode if text.starts_with('{') => enclosed("{", '}').filter(|(_, inside)| inside.contains(':')),
            Host::Gemini if text.starts_with('$') => {
                let name = text.get(1..)?;
                let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
                let name = name.get(..end).filter(|name| is_variable(name))?;
                Some((text.get(..=end)?, name))
            }
            Host::Gemini if text.starts_with('%') && place.is_env && self.platform == Platform::Windows => {
                enclosed("%", '%').filter(|(_, inside)| is_variable(inside))
            }
            _ => None,
        }
    }

    fn meaning(&mut self, inside: &str, place: Place<'_>) -> Meaning {
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let variable = |name: &str| Meaning::Is(format!("${{{name}}}"));
        match self.host {
            Host::ClaudeDesktop | Host::Codex | Host::Zed => Meaning::Text,
            Host::ClaudeCode if is_variable(name) => variable(inside),
            // There an unset variable is nothing.
            Host::Gemini if is_variable(name) && default.is_none() && place.is_env => variable(&format!("{name}:-")),
            Host::Gemini if is_variable(name) => variable(inside),
            Host::ClaudeCode | Host::Gemini => Meaning::Text,
            Host::Opencode => match inside.split_once(':') {
                Some(("env", name)) if is_variable(name) => variable(&format!("{name}:-")),
                Some(("file", _)) => Meaning::Elsewhere,
                _ => Meaning::Text,
            },
            Host::Cursor | Host::Vscode | Host::Windsurf | Host::File => self.of_editor(inside, place),
        }
    }

    fn of_editor(&mut self, inside: &str, place: Place<'_>) -> Meaning {
        let variable = |name: &str| Meaning::Is(format!("${{{name}}}"));
        let is_windows = self.platform == Platform::Windows;
        match (inside, inside.split_once(':')) {
            ("workspaceFolder" | "workspaceRoot", _) => {
                self.uses_workspace = true;
                Meaning::Is(place.workspace.to_owned())
            }
            ("workspaceFolderBasename" | "workspaceRootFolderName", _) => {
                self.workspace_name.clone().map_or(Meaning::Elsewhere, Meaning::Is)
            }
            ("userHome", _) => variable(if is_windows { "USERPROFILE" } else { "HOME" }),
            ("pathSeparator" | "/", _) => Meaning::Is(if is_windows { "\\" } else { "/" }.to_owned()),
            (_, Some(("env", name))) if is_variable(name.split(":-").next().unwrap_or_default()) => variable(name),
            (_, Some(("input", id))) => Meaning::Is(self.input(id, place)),
            // This is not a default, because it begins with `-`.
            (_, Some((name, default))) if default.starts_with('-') && is_variable(name) => variable(inside),
            (_, Some(_)) => Meaning::Elsewhere,
            (_, None) if is_variable(inside) => variable(inside),
            (_, None) => Meaning::Text,
        }
    }

    fn input(&mut self, id: &str, place: Place<'_>) -> String {
        if let Some(input) = self.inputs.0.get_mut(id) {
            input.is_used = true;
            let (name, why) = (input.variable.clone(), input.why.clone());
            let default = input.default.as_ref().map(|default| format!(":-{default}")).unwrap_or_default();
            let placeholder = format!("${{{name}{default}}}");
            self.need(name, why);
            return placeholder;
        }
        self.notes.push(format!("input `{}` in {} is not defined", shown(id), place.label));
        let name = in_capitals(id);
        let name = if is_variable(&name) { name } else { format!("_{name}") };
        self.need(name.clone(), format!("input `{}`", shown(id)));
        format!("${{{name}}}")
    }
}

/// Returns `true` if `mcp.toml` would replace it.
fn reads_as_ours(whole: &str, inside: &str) -> bool {
    let name = inside.strip_prefix("env:").unwrap_or(inside);
    let name = name.split(":-").next().unwrap_or_default();
    whole.starts_with("${") && (is_variable(name) || inside.starts_with("keyring:"))
}

pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn translated(host: Host, is_env: bool, text: &str) -> (String, Vec<String>) {
        let mut notes = Vec::new();
        let mut inputs = Inputs::read(
            json!([
                {"type": "promptString", "id": "api-key", "description": "the key", "password": true},
                {"type": "pickString", "id": "level", "default": "info", "options": ["info", "debug"]},
            ]),
            &mut notes,
        );
        let mut translation = Translation {
            host,
            platform: Platform::Windows,
            inputs: &mut inputs,
            workspace_name: Some("app".to_owned()),
            server: "x",
            notes,
            variables: Vec::new(),
            uses_workspace: false,
            plain: BTreeSet::new(),
        };
        let place = Place { label: "`args`", key: "key", workspace: ".", is_env };
        let text = translation.translate(place, text);
        (text, translation.variables.into_iter().map(|variable| variable.name).collect())
    }

    #[test]
    fn placeholders_of_every_host_are_translated() {
        for (host, text, expected) in [
            (Host::ClaudeDesktop, "${A} $A", "${A} $A"),
            (Host::ClaudeCode, "${A} ${B:-c} $A {env:A} 100%", "${A} ${B:-c} $A {env:A} 100%"),
            (Host::Cursor, "${env:A}/${userHome}", "${A}/${USERPROFILE}"),
            (Host::Cursor, "${workspaceFolder}${/}x", ".\\x"),
            (Host::Cursor, "${workspaceFolderBasename}${pathSeparator}", "app\\"),
            (Host::Vscode, "Bearer ${input:api-key}", "Bearer ${API_KEY}"),
            (Host::Vscode, "${input:level}", "${LEVEL:-info}"),
            (Host::Vscode, "${input:who}", "${WHO}"),
            (Host::Vscode, "${command:x.y} ${", "${X_KEY} ${"),
            (Host::Windsurf, "${file:/run/key}", "${X_KEY}"),
            (Host::Gemini, "$A-${B}-${C:-d} $ $1", "${A}-${B}-${C:-d} $ $1"),
            (Host::Opencode, "{env:A} {file:x} {\"a\": 1}", "${A:-} ${X_KEY} {\"a\": 1}"),
        ] {
            assert_eq!(translated(host, false, text).0, expected, "{host:?}");
        }
        assert_eq!(translated(Host::Gemini, true, "$A ${B} ${C:-d} %D%").0, "${A:-} ${B:-} ${C:-d} ${D:-}");
        assert_eq!(translated(Host::Vscode, false, "${input:api-key}${input:level}").1, ["API_KEY", "LEVEL"]);
    }
}
