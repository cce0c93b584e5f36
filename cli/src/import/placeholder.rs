//! The placeholders of each host, as `mcp.toml` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_bindgen_model::ConfigField;
use serde_json::Value;

use super::fields::Fields;
use super::host::{Host, Source};
use super::variable::{Variable, in_capitals, shown, unused, variable};

/// The values that VS Code asks for when a server is started, by their ids.
pub(super) type Inputs = BTreeMap<String, Input>;

/// One of these values.
pub(super) struct Input {
    variable: Variable,
    /// The default of a placeholder, with its `:-`, or nothing.
    default: String,
    is_used: bool,
}

/// Reads `inputs`; malformed parts are noted.
pub(super) fn inputs(list: Option<Value>, notes: &mut Vec<String>) -> Inputs {
    let (mut inputs, mut taken) = (Inputs::new(), BTreeMap::new());
    if !matches!(list, None | Some(Value::Null | Value::Array(_))) {
        notes.push("`inputs` is not an array".to_owned());
    }
    for input in list.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let Some(mut input) = input.as_object().cloned() else { continue };
        let mut text = |key: &str| input.remove(key).and_then(|value| value.as_str().map(str::to_owned));
        let Some(id) = text("id") else {
            notes.push("ignoring an input without `id`".to_owned());
            continue;
        };
        let (kind, description, default) = (text("type"), text("description"), text("default"));
        let is_password = input.remove("password").is_some_and(|value| value == true);
        let label = format!("input `{}`", shown(&id));
        let description = description.map(|text| format!(", \"{}\"", shown(&text))).unwrap_or_default();
        let origin = match kind.as_deref() {
            Some("command") => ", which comes from a command that is not run",
            _ => "",
        };
        let is_plain = |default: &String| !is_password && !default.contains(['}', '$']);
        if default.as_ref().is_some_and(|default| !is_plain(default)) {
            notes.push(format!("the `default` of {label} was not imported"));
        }
        let default = default.filter(is_plain).map(|default| format!(":-{default}")).unwrap_or_default();
        notes.extend(input.keys().map(|key| format!("`{}` of {label} was not imported", shown(key))));
        let variable =
            Variable { name: unused(&variable_of(&id), &mut taken), why: format!("{label}{description}{origin}") };
        inputs.insert(id, Input { variable, default, is_used: false });
    }
    inputs
}

/// Returns notes for the inputs that no server uses.
pub(super) fn unused_inputs(inputs: &Inputs) -> impl Iterator<Item = String> {
    inputs.values().filter(|input| !input.is_used).map(|input| format!("no server uses {}", input.variable.why))
}

/// Returns the name of a variable for an input.
fn variable_of(id: &str) -> String {
    let name = in_capitals(id);
    if is_variable(&name) { name } else { format!("_{name}") }
}

/// A server of a host, while it is converted.
pub(super) struct Conversion<'a> {
    pub(super) source: Source<'a>,
    pub(super) inputs: &'a mut Inputs,
    /// The server's name in `mcp.toml`.
    pub(super) name: String,
    pub(super) fields: Fields,
    /// The folder of the project, seen from the folder that the next text is relative to.
    pub(super) workspace: String,
    /// `true` if a text contained the folder of the project.
    pub(super) uses_workspace: bool,
    /// The known variables of placeholders.
    pub(super) variables: Vec<Variable>,
    /// The texts that are plain for the host, and may be placeholders here.
    pub(super) plain: BTreeSet<String>,
}

impl Conversion<'_> {
    /// Translates the placeholders of a text.
    pub(super) fn translate(&mut self, field: ConfigField<'_>, text: &str) -> String {
        let mut translated = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{', '%']) {
            let (before, from) = rest.split_at(at);
            let (whole, inside) = self.token(from, field).unwrap_or((from.split_at(1).0, ""));
            translated.push_str(before);
            match self.meaning(whole, inside, field) {
                Some(ours) => translated.push_str(&ours),
                None => {
                    if whole.starts_with("${") {
                        self.plain.insert(whole.to_owned());
                    }
                    translated.push_str(whole);
                }
            }
            rest = from.split_at(whole.len()).1;
        }
        translated + rest
    }

    /// Returns the placeholder at the start of the text, in the host's form or this program's: the whole of it, and its
    /// name.
    fn token<'t>(&self, text: &'t str, field: ConfigField<'_>) -> Option<(&'t str, &'t str)> {
        let enclosed = |start: &str, end: char| {
            let (inside, _) = text.strip_prefix(start)?.split_once(end)?;
            Some((text.get(..start.len() + inside.len() + end.len_utf8())?, inside))
        };
        let is_of_cmd = self.source.folders.os == "windows" && matches!(field, ConfigField::Env(_));
        match self.source.host {
            _ if text.starts_with("${") => enclosed("${", '}'),
            Host::Opencode => enclosed("{", '}').filter(|(_, inside)| inside.contains(':')),
            Host::Gemini if is_of_cmd && text.starts_with('%') => {
                enclosed("%", '%').filter(|(_, inside)| is_variable(inside))
            }
            Host::Gemini => {
                let after = text.strip_prefix('$')?;
                let name = after.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next()?;
                is_variable(name).then_some((text.get(..=name.len())?, name))
            }
            _ => None,
        }
    }

    /// Returns a placeholder as `mcp.toml` writes it; `None` if it is plain text for the host.
    fn meaning(&mut self, whole: &str, inside: &str, field: ConfigField<'_>) -> Option<String> {
        // There an unset variable is nothing.
        const OR_NOTHING: &str = ":-";
        match self.source.host {
            Host::ClaudeDesktop | Host::Codex | Host::Zed => None,
            Host::ClaudeCode => placeholder(inside, ""),
            Host::Gemini => placeholder(inside, if matches!(field, ConfigField::Env(_)) { OR_NOTHING } else { "" }),
            Host::Opencode => match inside.split_once(':')? {
                ("env", name) => placeholder(name, OR_NOTHING),
                ("file", _) => Some(self.elsewhere(whole, field)),
                _ => None,
            },
            Host::Cursor | Host::Vscode | Host::Windsurf | Host::File => self.of_editor(whole, inside, field),
        }
    }

    fn of_editor(&mut self, whole: &str, inside: &str, field: ConfigField<'_>) -> Option<String> {
        let is_windows = self.source.folders.os == "windows";
        match inside {
            "workspaceFolder" | "workspaceRoot" => {
                self.uses_workspace = true;
                Some(self.workspace.clone())
            }
            "workspaceFolderBasename" | "workspaceRootFolderName" => {
                let project = self.source.folders.workspace(self.source.path).and_then(Path::file_name);
                Some(project.map_or_else(|| self.elsewhere(whole, field), |name| name.to_string_lossy().into_owned()))
            }
            "userHome" => placeholder(if is_windows { "USERPROFILE" } else { "HOME" }, ""),
            "pathSeparator" | "/" => Some(if is_windows { "\\" } else { "/" }.to_owned()),
            _ => placeholder(inside.strip_prefix("env:").unwrap_or(inside), "").or_else(|| {
                match inside.split_once(':')? {
                    ("input", id) => Some(self.input(id, field)),
                    _ => Some(self.elsewhere(whole, field)),
                }
            }),
        }
    }

    /// Returns the placeholder of a variable for a value that is not read.
    fn elsewhere(&mut self, whole: &str, field: ConfigField<'_>) -> String {
        let key = match field {
            ConfigField::Env(key) | ConfigField::Header(key) => key,
            ConfigField::Command => "command",
            ConfigField::Folder => "cwd",
            ConfigField::Url => "url",
            _ => "argument",
        };
        let why = format!("the value of `{}` in {}, which is not resolved", shown(whole), field.label());
        self.need(Variable { name: variable(&self.name, key), why }, "")
    }

    fn input(&mut self, id: &str, field: ConfigField<'_>) -> String {
        if let Some(input) = self.inputs.get_mut(id) {
            input.is_used = true;
            let (variable, default) = (input.variable.clone(), input.default.clone());
            return self.need(variable, &default);
        }
        let label = format!("input `{}`", shown(id));
        self.fields.notes.push(format!("{label} in {} is not defined", field.label()));
        self.need(Variable { name: variable_of(id), why: label }, "")
    }

    /// Returns the placeholder of a variable that the server needs.
    fn need(&mut self, variable: Variable, default: &str) -> String {
        let placeholder = format!("${{{}{default}}}", variable.name);
        if !self.variables.iter().any(|known| known.name == variable.name) {
            self.variables.push(variable);
        }
        placeholder
    }
}

/// Returns the placeholder of `NAME` or `NAME:-default`, or `None` for another text. `or` is the default of one without.
fn placeholder(inside: &str, or: &str) -> Option<String> {
    let (name, default) = inside.split_at(inside.find(":-").unwrap_or(inside.len()));
    let default = if default.is_empty() { or } else { default };
    is_variable(name).then(|| format!("${{{name}{default}}}"))
}

pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::host::Folders;
    use super::*;

    fn translated(host: Host, is_env: bool, text: &str) -> (String, Vec<String>) {
        let mut inputs = inputs(
            Some(json!([
                {"type": "promptString", "id": "api-key", "description": "the key", "password": true},
                {"type": "pickString", "id": "level", "default": "info", "options": ["info", "debug"]},
            ])),
            &mut Vec::new(),
        );
        let folders = Folders {
            os: "windows",
            projects: vec!["/app".into()],
            home: None,
            named: Default::default(),
            target: "/app".into(),
        };
        let mut conversion = Conversion {
            source: Source { host, path: "x.json".as_ref(), folders: &folders },
            inputs: &mut inputs,
            name: "x".to_owned(),
            fields: Fields::of(json!({})),
            workspace: ".".to_owned(),
            uses_workspace: false,
            variables: Vec::new(),
            plain: BTreeSet::new(),
        };
        let field = if is_env { ConfigField::Env("key") } else { ConfigField::Header("key") };
        let text = conversion.translate(field, text);
        (text, conversion.variables.into_iter().map(|variable| variable.name).collect())
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
