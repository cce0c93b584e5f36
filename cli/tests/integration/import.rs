//! `import`: the servers of other programs, without their secrets and without losing anything silently.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use common::{Project, Run, assert_golden};
use serde_json::Value;

/// Everything secret that stands in the fixtures.
const PLANTED: [&str; 30] = [
    "ghp_plantedDesktop0123456789abcdefgh",
    "planted-linear-55aa",
    "plantedPg7f3",
    "planted-argument-99x",
    "planted-query-31c",
    "planted-helper-secret1",
    "planted-client-id",
    "planted-ws-key-1",
    "planted-account-token-1",
    "ntn_planted0123456789abcdef",
    "planted-elsewhere-1",
    "figd_planted0123456789abcdef",
    "planted-client-secret-2",
    "planted/vault-path",
    "planted-default-77",
    "planted-env-secret-8",
    "gho_planted0123456789abcdefghij",
    "plantedWs-41",
    "planted-flag-5e",
    "ctx7sk-planted0123456789",
    "planted-codex-env-1",
    "planted-codex-header-1",
    "plantedZed1",
    "planted-zed-arg-3",
    "planted-zed-env-4",
    "planted-zed-bearer-5",
    "planted-zed-oauth-6",
    "planted-gemini-db-1",
    "planted-gemini-bearer",
    "planted-gemini-oauth-2",
];

/// The path of each fixture in a home folder; `PROJECT` is the folder of a project.
const FILES: [(&str, &str, &str); 10] = [
    ("claude-desktop", "claude_desktop_config.json", ".config/Claude/claude_desktop_config.json"),
    ("claude-code", "mcp.json", "PROJECT/.mcp.json"),
    ("claude-code", "claude.json", ".claude.json"),
    ("claude-code", "settings.local.json", "PROJECT/.claude/settings.local.json"),
    ("cursor", "mcp.json", "PROJECT/.cursor/mcp.json"),
    ("vscode", "mcp.json", "PROJECT/.vscode/mcp.json"),
    ("windsurf", "mcp_config.json", ".codeium/windsurf/mcp_config.json"),
    ("codex", "config.toml", ".codex/config.toml"),
    ("zed", "settings.json", ".config/zed/settings.json"),
    ("gemini", "settings.json", ".gemini/settings.json"),
];
const HOSTS: [&str; 8] = ["claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "codex", "zed", "gemini"];

/// A home with a project in it.
struct Home {
    home: Project,
}

impl Home {
    fn empty() -> Self {
        let home = Project::empty();
        fs::create_dir_all(home.path("app/.git")).unwrap();
        Self { home }
    }

    fn with(hosts: &[&str]) -> Self {
        let home = Self::empty();
        // Which folder a project is, is asked of the system, and temporary folders are often behind a link.
        let project = fs::canonicalize(home.home.path("app")).unwrap();
        for (host, name, place) in FILES.iter().filter(|(host, ..)| hosts.contains(host)) {
            let text = fixture(host, name).replace("PROJECT", project.to_str().unwrap());
            home.home.write(&place.replace("PROJECT", "app"), &text);
        }
        home
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command();
        command.current_dir(fs::canonicalize(self.home.path("app")).unwrap()).arg("import").args(arguments);
        command.env("HOME", self.home.path("")).env("USERPROFILE", self.home.path("")).env("MY_REGION", "eu");
        for name in ["XDG_CONFIG_HOME", "CODEX_HOME", "COPILOT_HOME", "APPDATA", "LOCALAPPDATA", "GITHUB_ACTIONS"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.command(arguments).output().unwrap())
    }

    /// Returns the entries that are listed.
    fn found(&self) -> Value {
        self.run(&["--dry-run", "--format", "json"]).exits_with(0).json()["entries"].take()
    }

    fn config(&self) -> Option<String> {
        fs::read_to_string(self.home.path("app/mcp.toml")).ok()
    }
}

fn fixture(host: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(host).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// No secret, and no part of one that would help to find it.
#[track_caller]
fn tells_no_secret(text: &str) {
    for secret in PLANTED {
        let half = &secret[..secret.len() * 2 / 3];
        assert!(!text.contains(half), "{secret}\n{text}");
    }
}

#[test]
fn every_host_is_imported_without_its_secrets() {
    let all: String = FILES.iter().map(|(host, name, _)| fixture(host, name)).collect();
    assert!(PLANTED.iter().all(|secret| all.contains(secret)));
    let (mut searched, mut compared) = (0, 0);
    for host in HOSTS {
        let home = Home::with(&[host]);
        let listed = home.run(&["--from", host, "--dry-run"]).exits_with(0);
        let json = home.run(&["--from", host, "--dry-run", "--format", "json"]).exits_with(0);
        let dry = home.run(&["--from", host, "--all", "--dry-run"]).exits_with(0);
        assert_eq!(home.config(), None, "{host}");
        let done = home.run(&["--from", host, "--all"]).exits_with(0);
        let config = home.config().unwrap();
        assert_golden(&format!("../import/{host}.toml"), &config);
        assert_eq!(dry.stdout, config, "{host}");
        let refused = home.run(&["--from", host]).exits_with(2);
        let again = home.run(&["--from", host, "--all"]).exits_with(0).says("Kept");
        assert_eq!(home.config().unwrap(), config, "{host}");
        for run in [&listed, &json, &dry, &done, &refused, &again] {
            tells_no_secret(&run.stdout);
            tells_no_secret(&run.stderr);
            searched += 2;
        }
        tells_no_secret(&config);
        searched += 1;
        // The library reads the written configuration without a warning, so it contains no secret and no unknown key.
        let read = mcp_bindgen_model::Config::parse_toml(&config, "mcp.toml".as_ref()).unwrap();
        assert!(read.warnings.is_empty(), "{:?}", read.warnings);
        // The written configuration starts the servers that were found.
        let json = json.json();
        let taken = json["entries"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["status"] == "found" && entry["off"].is_null());
        for entry in taken {
            let server = read.server(entry["server"].as_str().unwrap()).unwrap();
            assert_eq!(server.to_json(), entry["config"], "{host}");
            compared += 1;
        }
    }
    println!("{} planted secrets, {searched} texts searched, 0 found; {compared} servers as they were", PLANTED.len());
}

/// Keys of hosts that have another name in `mcp.toml`.
const RENAMED: [(&str, &str); 25] = [
    // A bridge becomes what it leads to.
    ("command", "url"),
    ("name", "inherit_env"),
    ("tools", "approve"),
    ("args", "url"),
    ("env", "headers"),
    ("path", "command"),
    ("type", "command"),
    ("type", "url"),
    ("transport", "url"),
    ("httpUrl", "url"),
    ("serverUrl", "url"),
    ("http_headers", "headers"),
    ("env_http_headers", "headers"),
    ("bearer_token_env_var", "Authorization"),
    ("env_vars", "inherit_env"),
    ("enabled_tools", "tools"),
    ("includeTools", "tools"),
    ("excludeTools", "exclude"),
    ("disabledTools", "exclude"),
    ("disabled_tools", "exclude"),
    ("startup_timeout_sec", "connect_timeout"),
    ("tool_timeout_sec", "timeout"),
    ("approval_mode", "approve"),
    ("delete_file", "approve"),
    ("source", "command"),
];

#[test]
fn every_imported_key_is_carried_over_or_reported() {
    let (mut total, mut carried, mut told) = (0, 0, 0);
    for host in HOSTS {
        let home = Home::with(&[host]);
        let json = home.run(&["--from", host, "--dry-run", "--format", "json"]).exits_with(0).json();
        let (in_config, in_words) = accounted(host, &json);
        carried += in_config;
        told += in_words;
        total += in_config + in_words;
    }
    println!("{total} keys of servers: {carried} carried over, {told} told of, 0 lost");
    assert!(total > 150 && told > 40, "{total} {told}");
}

/// How many keys of a fixture's servers are in the configuration, and how many are in words.
fn accounted(host: &str, json: &Value) -> (usize, usize) {
    let (mut carried, mut told) = (0, 0);
    let entries = json["entries"].as_array().unwrap();
    let mut servers: Vec<(String, Value)> = Vec::new();
    for (_, name, _) in FILES.iter().filter(|(of, ..)| *of == host) {
        servers.extend(servers_of(name, &fixture(host, name)));
    }
    for (name, server) in servers {
        let entry = entries
            .iter()
            .find(|entry| entry["name"] == name.as_str())
            .unwrap_or_else(|| panic!("{host}: {name} is lost"));
        let mut known: BTreeSet<&str> = BTreeSet::new();
        keys(&entry["config"], &mut |key| {
            known.insert(key);
        });
        let words = [&entry["notes"], &entry["why"], &entry["off"]].map(Value::to_string).concat();
        // A server that cannot be taken over is named with the reason.
        let is_refused = entry["status"] == "refused";
        keys(&server, &mut |key| {
            let is_off = ["enabled", "disabled"].contains(&key);
            let is_kept = known.contains(key)
                || is_off
                || ["npm", "uvx"].contains(&key)
                || RENAMED.iter().any(|(old, new)| *old == key && known.contains(new));
            if is_kept {
                carried += 1;
            } else {
                let is_told = words.contains(&format!("`{key}`"))
                    || (is_refused && ["command", "args", "url", "type"].contains(&key));
                assert!(is_told, "{host}: `{key}` of {name} is lost:\n{entry:#}");
                told += 1;
            }
        });
    }
    (carried, told)
}

fn servers_of(name: &str, text: &str) -> Vec<(String, Value)> {
    let root: Value = match name {
        "config.toml" => {
            let table: toml_edit::DocumentMut = text.parse().unwrap();
            toml_value(table.as_item())
        }
        _ => json_value(jsonc_parser::parse_to_value(text, &jsonc_parser::ParseOptions::default()).unwrap().unwrap()),
    };
    let mut servers = Vec::new();
    let holders = ["mcpServers", "servers", "context_servers", "mcp_servers"];
    let own = root["projects"]["PROJECT"]["mcpServers"].as_object().into_iter().flatten();
    let all = holders.iter().filter_map(|key| root[*key].as_object()).flatten();
    for (name, server) in own.chain(all) {
        if !servers.iter().any(|(known, _)| known == name) {
            servers.push((name.clone(), server.clone()));
        }
    }
    servers
}

fn json_value(value: jsonc_parser::JsonValue<'_>) -> Value {
    match value {
        jsonc_parser::JsonValue::Object(object) => {
            Value::Object(object.into_iter().map(|(key, value)| (key.to_string(), json_value(value))).collect())
        }
        jsonc_parser::JsonValue::Array(array) => array.into_iter().map(json_value).collect(),
        // Keys are counted, not values.
        _ => Value::Null,
    }
}

fn toml_value(item: &toml_edit::Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return Value::Object(table.iter().map(|(key, item)| (key.to_owned(), toml_value(item))).collect());
    }
    match item.as_array() {
        Some(array) => array.iter().map(|value| toml_value(&toml_edit::Item::Value(value.clone()))).collect(),
        None => Value::Null,
    }
}

fn keys<'v>(value: &'v Value, see: &mut dyn FnMut(&'v str)) {
    match value {
        Value::Object(map) => {
            // A table without anything in it says nothing.
            for (key, value) in map.iter().filter(|(_, value)| value.as_object().is_none_or(|table| !table.is_empty()))
            {
                see(key);
                keys(value, see);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, see)),
        _ => {}
    }
}

#[test]
fn import_names_the_variables_and_the_omitted_keys() {
    let home = Home::with(&["vscode"]);
    home.run(&["perplexity", "localBuild"])
        .exits_with(0)
        .says("    Imported perplexity from ")
        .says("         Set PERPLEXITY_KEY for perplexity, input `perplexity-key`, \"Perplexity API Key\"")
        .says("Set PERPLEXITY_OTHER_SECRET for perplexity, the plain text in env `OTHER_SECRET`")
        .says("Set VAULT for localbuild, input `vault`, which comes from a command that is not run")
        .says("server `perplexity`: `envFile` was not imported: the file is not read")
        .says("server `localbuild`: `localBuild` is named `localbuild` here")
        .says("server `localbuild`: `dev` (with `watch`, `debug`, `type`) was not imported")
        .says("no server uses input `nobody`, \"Asked by nobody\"");
    let config = home.config().unwrap();
    assert!(config.contains("[servers.localbuild]\ncommand = \"./bin/server\"\n"), "{config}");
    assert!(!config.contains("githubcopilot"), "{config}");
    home.run(&["overSocket"]).exits_with(1).says("cannot import server `overSocket`: its URL begins with `unix`");
    home.run(&["perplexty"]).exits_with(2).says("did you mean `perplexity`?");
}

#[test]
fn import_without_a_terminal_lists_the_commands() {
    let home = Home::with(&["cursor", "codex"]);
    let run = home
        .run(&[])
        .exits_with(2)
        .says("mcp-bindgen import tracker\n")
        .says("mcp-bindgen import parked@codex\n")
        .says("mcp-bindgen import --all");
    assert!(run.stdout.contains("disabled: `disabled` is true"), "{}", run.stdout);
    assert_eq!(home.config(), None);
    home.run(&["parked"]).exits_with(2).says("specify one, `parked@cursor` or `parked@codex`");
    home.run(&["parked@cursor", "parked@codex"]).exits_with(1).says("2 servers would be named `parked`");
    assert_eq!(home.config(), None);
    home.run(&["parked@cursor=mine", "parked@codex"]).exits_with(0).says("server `mine` is disabled in its source");
    assert_eq!(
        home.config().unwrap(),
        "[servers.mine]\nuvx = \"parked-mcp==1.2\"\n\n[servers.parked]\ncommand = \"parked\"\n"
    );
    home.run(&["tracker=mine"]).exits_with(1).says("already has other servers with these names: `mine`");
    home.run(&["--from", "curser"]).exits_with(2).says("did you mean `cursor`?");
    let nothing = Home::empty();
    nothing.run(&[]).exits_with(1).says("no servers were found").says("app/.mcp.json").says(".codex/config.toml");
}

#[test]
fn comments_are_preserved_and_failures_write_nothing() {
    let home = Home::with(&["cursor"]);
    home.home.write("app/mcp.toml", "# ours\n[defaults]\n\n[servers.x] # why\nnpm = \"x\"\n# the end\n");
    home.run(&["tracker"]).exits_with(0);
    let config = home.config().unwrap();
    assert!(config.starts_with("# ours\n[defaults]\n\n[servers.x] # why\nnpm = \"x\"\n"), "{config}");
    assert!(config.contains("# the end") && config.contains("[servers.tracker]"), "{config}");
    home.home.write("app/mcp.toml", "[servers\n");
    home.run(&["tracker"]).exits_with(1).says("mcp.toml");
    assert_eq!(home.config().unwrap(), "[servers\n");
}

#[test]
fn malformed_host_file_does_not_affect_the_others() {
    let home = Home::with(&["cursor", "gemini"]);
    home.home.write(
        "app/.vscode/mcp.json",
        "{\n  \"servers\": {\n    \"x\": { \"env\": { \"API_KEY\": \"planted-x-1\" }\n    \"y\": {}\n",
    );
    let all = home.run(&["--all"]).exits_with(1).says("mcp.json:3:47").says("nothing was written");
    assert!(!all.stderr.contains("planted"), "{}", all.stderr);
    assert_eq!(home.config(), None);
    home.run(&["tracker"]).exits_with(0).says("mcp.json:3:47");
    home.run(&["--from", ".vscode/mcp.json"]).exits_with(1).says("not valid JSON");
    let listed = home.run(&["--dry-run", "--from", "cursor"]).exits_with(0);
    assert!(listed.stdout.contains("cannot be imported: it has neither `command` nor `url`"), "{}", listed.stdout);

    for (file, text, said) in [
        ("a.json", "[]", "the file is not a JSON object"),
        ("b.json", "{}", "expected servers under `mcpServers`"),
        ("c.yaml", "extensions: {}", "YAML files are not supported"),
        ("d.toml", "x = ghp_planted", "d.toml:1:5"),
    ] {
        home.home.write(&format!("app/{file}"), text);
        let run = home.run(&["--from", file]).exits_with(1).says(said);
        assert!(!run.stderr.contains("ghp_"), "{}", run.stderr);
    }
}

#[test]
fn host_files_are_parsed_in_the_format_of_their_program() {
    let home = Home::empty();
    home.home.write(
        "app/opencode.jsonc",
        r#"{ "mcp": { "a": { "type": "local", "command": ["npx", "-y", "pkg", "--x"], "environment": { "K": "{env:V}" }, "enabled": true },
             "b": { "type": "remote", "url": "https://b.example.com", "headers": { "X-Key": "{file:key}" } } } }"#,
    );
    home.home.write("app/other.json", r#"{ "mcpServers": { "c": { "command": "uvx", "args": ["c"], "env": { "K": "${env:V}", "N": 5, "L": null } } } }"#);
    home.run(&["--from", "opencode.jsonc", "--all"]).exits_with(0);
    home.run(&["--from", "other.json", "c"]).exits_with(0).says("`L` in `env` was not imported: it is not a string");
    assert_eq!(
        home.config().unwrap(),
        "[servers.a]\nnpm = \"pkg\"\nargs = [\"--x\"]\nenv = { K = \"${V:-}\" }\n\n\
         [servers.b]\nurl = \"https://b.example.com\"\nheaders = { X-Key = \"${B_X_KEY}\" }\n\n\
         [servers.c]\nuvx = \"c\"\nenv = { K = \"${V}\", N = \"5\" }\n"
    );
}

#[test]
fn files_of_unnamed_hosts_are_imported_or_refused() {
    let home = Home::empty();
    // Copilot's own file and OpenCode's second form.
    home.home.write(
        "app/mcp-config.json",
        r#"{ "mcpServers": { "a": { "type": "local", "command": "npx", "args": ["-y", "a"], "env": { "K": "${V}", "N": 5, "B": true }, "tools": ["*"] },
             "b": { "type": "http", "url": "https://b.example.com", "headers": { "Authorization": "Bearer ${T}" }, "tools": ["one", "two"] } } }"#,
    );
    home.home.write(
        "app/opencode.json",
        r#"{ "mcp": { "other": 1, "servers": {
               "c": { "type": "local", "command": ["uvx", "c"], "environment": { "K": "{env:V}" }, "disabled": true, "timeout": 5000 },
               "d": { "type": "remote", "url": "https://d.example.com", "oauth": false } } }, "tools": { "c*": false }, "theme": "x" }"#,
    );
    home.run(&["--from", "mcp-config.json", "--all"]).exits_with(0);
    home.run(&["--from", "opencode.json", "c", "d"])
        .exits_with(0)
        .says("server `c` is disabled in its source: `disabled` is true")
        .says("server `d`: `oauth` was not imported")
        .says("opencode.json: `tools` (with `c*`) was not imported")
        .says("opencode.json: `other` was not imported");
    assert_eq!(
        home.config().unwrap(),
        "[servers.a]\nnpm = \"a\"\nenv = { B = \"true\", K = \"${V}\", N = \"5\" }\n\n\
         [servers.b]\nurl = \"https://b.example.com\"\nheaders = { Authorization = \"Bearer ${T}\" }\ntools = [\"one\", \"two\"]\n\n\
         [servers.c]\nuvx = \"c\"\nenv = { K = \"${V:-}\" }\ntimeout = \"5s\"\n\n\
         [servers.d]\nurl = \"https://d.example.com\"\n"
    );
    // Goose's are YAML.
    home.home.write("app/config.yaml", "extensions:\n  x:\n    cmd: x\n");
    home.run(&["--from", "config.yaml"]).exits_with(1).says("YAML files are not supported").says("mcp-bindgen add");
}

#[test]
fn project_configuration_takes_precedence_over_user_configuration() {
    let home = Home::empty();
    let project = fs::canonicalize(home.home.path("app")).unwrap().display().to_string();
    let servers = |of: &str, names: &[&str]| {
        let all: Vec<String> = names.iter().map(|name| format!(r#""{name}": {{ "command": "{of}" }}"#)).collect();
        format!(r#""mcpServers": {{ {} }}"#, all.join(", "))
    };
    let local = servers("local", &["one"]);
    let user = servers("user", &["one", "two", "three"]);
    home.home.write(".claude.json", &format!(r#"{{ "projects": {{ "{project}": {{ {local} }} }}, {user} }}"#));
    home.home.write("app/.mcp.json", &format!("{{ {} }}", servers("project", &["one", "two"])));
    home.run(&["--from", "claude-code", "--all"])
        .exits_with(0)
        .says("server `one`: another server of this name, in")
        .says("server `two`: another server of this name, in");
    assert_eq!(
        home.config().unwrap(),
        "[servers.one]\ncommand = \"local\"\n\n[servers.two]\ncommand = \"project\"\n\n[servers.three]\ncommand = \"user\"\n"
    );
}

#[test]
fn equal_servers_of_two_programs_are_imported_once() {
    let home = Home::empty();
    let server =
        r#"{ "mcpServers": { "NAME": { "command": "npx", "args": ["-y", "pkg"], "env": { "API_KEY": "SECRET" } } } }"#;
    let write = |place: &str, name: &str, secret: &str| {
        home.home.write(place, &server.replace("NAME", name).replace("SECRET", secret));
    };
    write("app/.mcp.json", "one", "planted-same-1");
    write("app/.cursor/mcp.json", "other", "planted-same-1");
    write(".codeium/mcp_config.json", "one", "planted-other-2");
    let json = home.run(&["--dry-run", "--format", "json"]).exits_with(0).json();
    assert_eq!(json["entries"].as_array().unwrap().len(), 1, "{json:#}");
    let hosts: Vec<&str> = json["entries"][0]["origins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|origin| origin["host"].as_str().unwrap())
        .collect();
    assert_eq!(hosts, ["claude-code", "cursor", "windsurf"]);
    let notes = json["entries"][0]["notes"].to_string();
    assert!(notes.contains("has it as `other`") && notes.contains("has it with different secrets"), "{notes}");
    home.run(&["other"]).exits_with(0).says(".mcp.json is ignored");
    assert_eq!(home.config().unwrap(), "[servers.one]\nnpm = \"pkg\"\nenv = { API_KEY = \"${ONE_API_KEY}\" }\n");
}

#[test]
fn timeouts_do_not_separate_equal_servers() {
    let home = Home::empty();
    let server = |name: &str, more: &str| {
        format!(r#"{{ "mcpServers": {{ "{name}": {{ "command": "npx", "args": ["-y", "p"]{more} }} }} }}"#)
    };
    home.home.write("app/.cursor/mcp.json", &server("gh", ""));
    home.home.write(".gemini/settings.json", &server("github", r#", "timeout": 30000"#));
    let entries = home.found();
    assert_eq!(entries.as_array().unwrap().len(), 1, "{entries:#}");
    let notes = entries[0]["notes"].to_string();
    assert!(notes.contains("has it as `github`") && notes.contains("different secrets or timeouts"), "{notes}");
}

#[test]
fn unused_server_is_compared_with_the_one_that_its_program_uses() {
    let home = Home::empty();
    home.home.write(
        "app/.cursor/mcp.json",
        r#"{ "mcpServers": { "db": { "command": "db", "env": { "API_KEY": "planted-1" } } } }"#,
    );
    let codex = |key: &str| format!("[mcp_servers.db]\ncommand = \"db\"\nenv = {{ API_KEY = \"{key}\" }}\n");
    home.home.write("app/.codex/config.toml", &codex("planted-2"));
    for (key, is_noted) in [("planted-2", false), ("planted-1", true)] {
        home.home.write(".codex/config.toml", &codex(key));
        let entries = home.found();
        assert_eq!(entries.as_array().unwrap().len(), 1, "{entries:#}");
        let notes = entries[0]["notes"].to_string();
        assert_eq!(notes.contains("another server of this name"), is_noted, "{notes}");
    }
}

#[test]
fn servers_with_one_secret_in_different_places_are_imported_separately() {
    let home = Home::empty();
    let server = |one: &str, other: &str| {
        let env = format!(r#"{{ "A_TOKEN": "{one}", "B_TOKEN": "{other}" }}"#);
        format!(r#"{{ "mcpServers": {{ "x": {{ "command": "x", "env": {env} }} }} }}"#)
    };
    home.home.write("app/.mcp.json", &server("${SERVER_A_TOKEN}", "planted-1"));
    home.home.write("app/.cursor/mcp.json", &server("planted-1", "${SERVER_B_TOKEN}"));
    let entries = home.found();
    assert_eq!(entries.as_array().unwrap().len(), 2, "{entries:#}");
}

#[test]
fn settings_of_every_profile_are_read_as_those_of_vscode() {
    let home = Home::empty();
    let place = ".config/Code/User/profiles/x/settings.json";
    for (name, text) in [
        (
            "a",
            r#"{ "mcp": { "servers": { "a": { "type": "http", "url": "https://h", "headers": { "X": "${input:pat}" } } } } }"#,
        ),
        ("b", r#"{ "mcp.servers": { "b": { "command": "b", "env": { "X": "${input:pat}" } } } }"#),
    ] {
        home.home.write(place, text);
        home.run(&["--from", &format!("../{place}"), name]).exits_with(0);
    }
    assert_eq!(
        home.config().unwrap(),
        "[servers.a]\nurl = \"https://h\"\nheaders = { X = \"${PAT}\" }\n\n\
         [servers.b]\ncommand = \"b\"\nenv = { X = \"${PAT}\" }\n"
    );
}

#[test]
fn invalid_keys_of_servers_are_reported() {
    let home = Home::empty();
    home.home.write(
        "app/h.json",
        r#"{ "mcpServers": { "a": { "command": "x", "disabled": "true" }, "b": { "path": "/x" } } }"#,
    );
    home.home.write("app/config.toml", "[mcp_servers.c]\nurl = \"https://h\"\nbearer_token_env_var = \"a b\"\n");
    for (file, said) in [
        ("h.json", "`disabled` was not imported: it is not a boolean"),
        ("h.json", "cannot be imported: it has neither `command` nor `url`"),
        ("config.toml", "cannot be imported: `bearer_token_env_var` is not a variable name"),
    ] {
        let listed = home.run(&["--from", file, "--dry-run"]).exits_with(0).stdout;
        assert!(listed.contains(said), "{listed}");
    }
}

#[test]
fn server_names_cannot_contain_escape_sequences() {
    let home = Home::empty();
    home.home.write(
        "app/.mcp.json",
        "{\"mcpServers\":{\"::error::\\u001b[31m\\u202ex\":{\"command\":\"x\",\"\\u001b[2J\":1,\"args\":[\"\\u001b]0;t\\u0007\"]}}}",
    );
    for arguments in [&[][..], &["--dry-run"], &["--all", "--dry-run"]] {
        let run = home.run(arguments);
        let said = run.stderr + if arguments.len() == 2 { "" } else { &run.stdout };
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said}");
    }
}

#[test]
#[ignore = "half a minute in a debug build"]
fn ten_thousand_servers_in_ten_megabytes_are_imported() {
    let home = Home::empty();
    let filler = "x".repeat(900);
    let servers: Vec<String> = (0..10_000)
        .map(|n| format!("\"s{n}\":{{\"command\":\"npx\",\"args\":[\"-y\",\"p{n}\",\"{filler}\"],\"env\":{{\"API_KEY\":\"planted-{n}-key\"}}}}"))
        .collect();
    let text = format!("{{\"mcpServers\":{{{}}}}}", servers.join(","));
    home.home.write("app/.mcp.json", &text);
    let start = Instant::now();
    let run = home.run(&["--all", "-q"]).exits_with(0);
    println!("{} MB, 10,000 servers: {:?} (debug)", text.len() / 1_000_000, start.elapsed());
    assert!(run.stderr.is_empty(), "{}", &run.stderr[..500.min(run.stderr.len())]);
    let config = home.config().unwrap();
    assert_eq!(config.matches("[servers.").count(), 10_000);
    assert!(!config.contains("planted"));
}
