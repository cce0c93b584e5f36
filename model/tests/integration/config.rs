//! Configurations: what they say, and what is said of the faults in them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;
use std::time::Duration;

use mcp_bindgen_model::{Config, Drift, Isolation, Live, Pin, Prefix, ServerConfig, Transport, Types};
use serde_json::json;

fn toml(text: &str) -> Config {
    Config::parse_toml(text, Path::new("app/mcp.toml")).unwrap()
}

#[track_caller]
fn toml_error(text: &str, expected: &str) {
    let error = Config::parse_toml(text, Path::new("mcp.toml")).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

fn mcp_json(text: &str) -> Config {
    Config::parse_mcp_json(text, Path::new(".mcp.json")).unwrap()
}

#[track_caller]
fn json_error(text: &str, expected: &str) {
    let error = Config::parse_mcp_json(text, Path::new(".mcp.json")).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn every_key_of_mcp_toml_is_parsed() {
    let config = toml(
        r#"
        deny = ["MCP0001"]
        allow = ["MCP0002", "MCP0003"]

        [defaults]
        snapshots = "tools"
        timeout = "2m"
        drift = "deny"
        pin = "all"
        live = "never"

        [servers.child]
        command = "./server"
        args = ["--root", "${HOME}"]
        cwd = "/srv"
        env = { LEVEL = "debug" }
        inherit_env = ["HTTPS_PROXY"]
        tools = ["create_issue", "list_*"]
        exclude = ["list_secret_?"]
        approve = ["merge_*"]
        remote_use = ["list_*"]
        prefix = "gh"
        description = "words"
        timeout = "500ms"
        drift = "ignore"
        pin = "schema"
        connect_timeout = "2m"
        isolation = { home = "temp", network = "none", read = ["~/data"], write = ["out"] }

        [servers.from_npm]
        npm = "@scope/server"
        args = ["/data"]
        prefix = false

        [servers.from-pypi]
        uvx = "mcp-server-git"

        [servers.remote]
        url = "https://example.com/mcp"
        headers = { Authorization = "Bearer ${API_KEY:-none}" }
        hosted = true

        [servers.old]
        url = "https://example.com/sse"
        transport = "sse"
        "#,
    );
    assert_eq!(config.warnings, []);
    assert_eq!(config.diagnostics.deny, ["MCP0001"]);
    assert_eq!(config.diagnostics.allow, ["MCP0002", "MCP0003"]);
    assert_eq!(config.defaults.timeout, Duration::from_secs(120));
    assert_eq!(config.defaults.drift, Drift::Deny);
    assert_eq!(config.defaults.pin, Pin::All);
    assert_eq!(config.defaults.live, Live::Never);
    assert_eq!(config.snapshot_path("child"), Path::new("app/tools/child.json"));

    let child = ServerConfig::stdio("child", "./server")
        .args(["--root", "${HOME}"])
        .cwd("/srv")
        .env("LEVEL", "debug")
        .inherit_env(["HTTPS_PROXY"])
        .tools(["create_issue", "list_*"])
        .exclude(["list_secret_?"])
        .approve(["merge_*"])
        .remote_use(["list_*"])
        .prefix(Prefix::Named("gh".to_owned()))
        .description("words")
        .timeout(Duration::from_millis(500))
        .connect_timeout(Duration::from_secs(120))
        .isolation(Isolation::new().temp_home().no_network().read(["~/data"]).write(["out"]))
        .drift(Drift::Ignore)
        .pin(Pin::Schema);
    assert_eq!(config.servers["child"], child);
    assert!(child.selects("list_issues") && child.selects("create_issue"));
    assert!(!child.selects("list_secret_1") && !child.selects("merge_it"));

    let npm = ServerConfig::npm("from_npm", "@scope/server").args(["/data"]).prefix(Prefix::None);
    assert_eq!(config.servers["from_npm"], npm);
    let Transport::Stdio { command, args, .. } = &npm.transport else { unreachable!() };
    assert_eq!(
        (command.as_str(), args.as_slice()),
        ("npx", ["-y", "@scope/server", "/data"].map(String::from).as_slice())
    );
    assert_eq!(config.servers["from-pypi"], ServerConfig::uvx("from-pypi", "mcp-server-git"));
    let remote =
        ServerConfig::http("remote", "https://example.com/mcp").header("Authorization", "Bearer ${API_KEY:-none}");
    assert_ne!(config.servers["remote"], remote);
    assert_eq!(config.servers["remote"], remote.hosted());
    assert_eq!(config.servers["old"], ServerConfig::sse("old", "https://example.com/sse"));
}

#[test]
fn hosted_requires_a_url() {
    for reached in ["command = \"x\"", "npm = \"x\"", "uvx = \"x\""] {
        toml_error(
            &format!("[servers.a]\n{reached}\nhosted = true\n"),
            &format!(
                "server `a` has `hosted`, which has no effect beside `{}`\n --> mcp.toml:3:1\n  = help: `hosted` requires `url`: a model provider cannot start a child process",
                reached.split(' ').next().unwrap(),
            ),
        );
    }
    toml_error(
        "[servers.a]\nurl = \"https://x\"\nhosted = \"yes\"\n",
        "`hosted` of server `a` must be `true` or `false`, not a string\n --> mcp.toml:3:10",
    );
    // It is demanded in every kind of file.
    let config = Config::from_env_json(r#"{ "a": { "url": "https://x", "hosted": true } }"#).unwrap();
    assert!(config.servers["a"].hosted);
    assert!(Config::from_env_json(r#"{ "a": { "command": "x", "hosted": true } }"#).is_err());
    assert!(!toml("[servers.a]\nurl = \"https://x\"\nhosted = false\n").servers["a"].hosted);
}

#[test]
fn empty_file_yields_defaults() {
    let config = toml("");
    assert_eq!(config.defaults.timeout, Duration::from_secs(30));
    assert_eq!(config.defaults.drift, Drift::Warn);
    assert_eq!(config.defaults.pin, Pin::Schema);
    assert_eq!(config.defaults.live, Live::Ask);
    assert_eq!(config.snapshot_path("x"), Path::new("app/mcp/x.json"));
}

#[test]
fn errors_in_mcp_toml_include_their_position() {
    toml_error(
        "[servers.github]\ncomand = \"x\"\n",
        "unknown key `comand` in server `github`\n --> mcp.toml:2:1\n  = help: did you mean `command`?",
    );
    toml_error(
        "[default]\n",
        "unknown key `default` in the file\n --> mcp.toml:1:2\n  = help: did you mean `defaults`?",
    );
    toml_error(
        "[defaults]\nzzz = 1\n",
        "unknown key `zzz` in `defaults`\n --> mcp.toml:2:1\n  = help: known keys: `snapshots`, `timeout`, `drift`, `pin`, `live`, `isolation`, `secrets`",
    );
    toml_error(
        "[servers.github]\ncommand = 5\n",
        "`command` of server `github` must be a string, not a number\n --> mcp.toml:2:11",
    );
    toml_error(
        "[servers.github]\nnpm = \"x\"\nargs = [\"a\", true]\n",
        "every element of `args` of server `github` must be a string, not a boolean\n --> mcp.toml:3:14",
    );
    toml_error(
        "[servers.github]\nnpm = \"x\"\n\n[servers.github.env]\nPORT = 80\n",
        "`PORT` in `env` of server `github` must be a string, not a number\n --> mcp.toml:5:8",
    );
    toml_error("servers = 1\n", "`servers` must be a table, not a number\n --> mcp.toml:1:11");
    toml_error(
        "[servers.a]\ncommand = \"x\"\nenv = [\"A=b\"]\n",
        "`env` of server `a` must be a table of strings, not an array\n --> mcp.toml:3:7",
    );
    toml_error("[servers]\ngithub = \"npx\"\n", "server `github` must be a table, not a string\n --> mcp.toml:2:10");
    toml_error(
        "[servers.github]\nnpm = \"x\"\ntimeout = \"30\"\n",
        "`timeout` of server `github` is not a duration\n --> mcp.toml:3:11\n  = help: write a whole number above \
         zero with a unit: \"500ms\", \"30s\", \"2m\" or \"1h\"",
    );
    toml_error(
        "[servers.a]\nnpm = \"x\"\npin = \"al\"\n",
        "invalid value `al` for `pin` of server `a`\n --> mcp.toml:3:7\n  = help: did you mean `all`?",
    );
    toml_error(
        "[defaults]\ndrift = \"denny\"\n",
        "invalid value `denny` for `drift` in `defaults`\n --> mcp.toml:2:9\n  = help: did you mean `deny`?",
    );
    toml_error(
        "[defaults]\nlive = \"nevr\"\n",
        "invalid value `nevr` for `live` in `defaults`\n --> mcp.toml:2:8\n  = help: did you mean `never`?",
    );
    toml_error("[defaults]\nlive = false\n", "`live` in `defaults` must be a string, not a boolean\n --> mcp.toml:2:8");
    toml_error(
        "[servers.github]\nnpm = \"x\"\nprefix = true\n",
        "`prefix` of server `github` must be a string or `false`, not a boolean\n --> mcp.toml:3:10\n  = help: use a word as the prefix, or `prefix = false` for none",
    );
    toml_error(
        "deny = [\"MCP0001\", \"unknown\"]\n",
        "`deny` contains a value that is not a code\n --> mcp.toml:1:20\n  = help: expected a code such as `MCP0001`",
    );
}

#[test]
fn malformed_toml_is_an_error_with_its_position() {
    let error = Config::parse_toml("[servers.github]\ncommand = \"x\"\nargs = [\n", Path::new("mcp.toml")).unwrap_err();
    assert!(error.message.starts_with("not valid TOML: "), "{error}");
    assert_eq!(error.position, Some((3, 9)), "{error}");
    let twice = Config::parse_toml("[servers.a]\nnpm = \"x\"\nnpm = \"y\"\n", Path::new("mcp.toml")).unwrap_err();
    assert_eq!(twice.position, Some((3, 1)), "{twice}");
}

#[test]
fn server_has_exactly_one_transport() {
    toml_error(
        "[servers.github]\ndescription = \"x\"\n",
        "server `github` has no transport: `command`, `npm`, `uvx` or `url` is missing\n --> mcp.toml:1:10\n  = help: add `command`, `npm`, `uvx` or `url`",
    );
    toml_error(
        "[servers.github]\ntransport = \"sse\"\n",
        "server `github` has no transport: `url` is missing\n --> mcp.toml:1:10\n  = help: add `url`",
    );
    toml_error(
        "[servers.github]\ncommand = \"x\"\nurl = \"https://example.com\"\n",
        "server `github` has both `command` and `url`\n --> mcp.toml:3:1\n  = help: keep only the one that the server uses",
    );
    toml_error(
        "[servers.github]\nnpm = \"x\"\ncommand = \"x\"\n",
        "server `github` has both `npm` and `command`\n --> mcp.toml:3:1\n  = help: keep only the one that the server uses",
    );
    toml_error(
        "[servers.github]\nnpm = \"x\"\nheaders = {}\n",
        "server `github` has `headers`, which has no effect beside `npm`\n --> mcp.toml:3:1\n  = help: `headers` requires `url`",
    );
    toml_error(
        "[servers.github]\nurl = \"https://example.com\"\nargs = []\n",
        "server `github` has `args`, which has no effect beside `url`\n --> mcp.toml:3:1\n  = help: `args` requires `command`, `npm` or `uvx`",
    );
    toml_error(
        "[servers.github]\ncommand = \"x\"\ntransport = \"http\"\n",
        "server `github` has `command`, which cannot be combined with `transport`\n --> mcp.toml:3:1\n  = help: `transport` requires `url`",
    );
    toml_error("[servers.github]\ncommand = \" \"\n", "`command` of server `github` is empty\n --> mcp.toml:2:11");
    toml_error(
        "[servers.github]\nurl = \"example.com\"\n",
        "`url` of server `github` is not an http or https URL\n --> mcp.toml:2:7\n  = help: start it with `https://`",
    );
    toml_error(
        "[servers.github]\nurl = \"https://example.com\"\ntransport = \"htpp\"\n",
        "invalid value `htpp` for `transport` of server `github`\n --> mcp.toml:3:13\n  = help: did you mean `http`?",
    );
}

#[test]
fn types_selects_the_type_backend() {
    let config = toml("[servers.a]\nnpm = \"x\"\n\n[servers.b]\nnpm = \"x\"\ntypes = \"typify\"\n");
    assert_eq!(config.servers["a"].types, Types::Native);
    assert_eq!(config.servers["b"], ServerConfig::npm("b", "x").types(Types::Typify));
    assert_eq!(ServerConfig::from_json("b", &config.servers["b"].to_json()).unwrap(), config.servers["b"]);
    toml_error(
        "[servers.b]\nnpm = \"x\"\ntypes = \"serde\"\n",
        "invalid value `serde` for `types` of server `b`\n --> mcp.toml:3:9\n  = help: expected `native`, `typify`",
    );
}

#[test]
fn server_names_are_validated() {
    for name in ["a", "0", "git-hub_2", &"x".repeat(64)] {
        assert!(toml(&format!("[servers.{name}]\nnpm = \"x\"\n")).server(name).is_ok(), "{name}");
    }
    for name in ["", "A", "-a", "_a", "a b", "a.b", "é", "../a", "a\\u001b", &"x".repeat(65)] {
        let error =
            Config::parse_toml(&format!("[servers.\"{name}\"]\nnpm = \"x\"\n"), Path::new("mcp.toml")).unwrap_err();
        assert!(error.message.starts_with("invalid server name `"), "{error}");
        assert_eq!(error.position, Some((1, 10)), "{error}");
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

#[test]
fn unknown_server_error_suggests_similar_names() {
    let config = toml("[servers.github]\nnpm = \"x\"\n[servers.git]\nnpm = \"x\"\n");
    assert_eq!(
        config.server("githb").unwrap_err().to_string(),
        "unknown server `githb`\n --> app/mcp.toml\n  = help: did you mean `github`? known servers: `git`, `github`"
    );
    assert_eq!(
        config.server("zebra").unwrap_err().to_string(),
        "unknown server `zebra`\n --> app/mcp.toml\n  = help: known servers: `git`, `github`"
    );
    assert_eq!(
        toml("").server("x").unwrap_err().to_string(),
        "unknown server `x`\n --> app/mcp.toml\n  = help: no servers are configured"
    );
}

#[test]
fn plain_text_secrets_are_warnings_that_do_not_repeat_them() {
    let config = toml(
        "[servers.a]\nnpm = \"x\"\nenv = { GITHUB_TOKEN = \"hunter2\", LEVEL = \"debug\" }\nargs = [\"--api-key\", \"hunter2\"]\n\
         [servers.b]\nurl = \"https://example.com?token=hunter2\"\nheaders = { Authorization = \"Bearer hunter2\" }\n",
    );
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    let said = |key: &str, server: &str, place: &str, variable: &str| {
        format!(
            "`{key}` of server `{server}` looks like a secret in plain text\n --> app/mcp.toml:{place}\n  = help: replace it with `${{{variable}}}`, and set that variable in the environment"
        )
    };
    assert_eq!(
        warnings,
        [
            said("GITHUB_TOKEN", "a", "3:24", "GITHUB_TOKEN"),
            said("api-key", "a", "4:22", "A_API_KEY"),
            said("token", "b", "6:7", "B_TOKEN"),
            said("Authorization", "b", "7:29", "B_AUTHORIZATION"),
        ]
    );
    for server in config.servers.values() {
        let shown = format!("{server:?} {:?} {}", server.transport, server.to_json());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert_eq!(
        config.servers["b"].to_json(),
        json!({
            "url": "https://example.com?token=${MCP_SECRET_B_TOKEN}",
            "headers": { "Authorization": "Bearer ${MCP_SECRET_B_AUTHORIZATION}" },
        })
    );
}

#[test]
fn mcp_json_of_other_hosts_is_parsed() {
    let config = mcp_json(
        r#"{
          "$schema": "https://example.com/schema.json",
          "mcpServers": {
            "github": {
              "type": "stdio",
              "command": "npx",
              "args": ["-y", "@scope/server"],
              "env": { "GITHUB_TOKEN": "${env:GITHUB_TOKEN}" },
              "disabled": false, "alwaysAllow": ["x"], "autoApprove": [], "timeout": 60000, "cwd": null
            },
            "remote": { "type": "streamable-http", "url": "https://example.com/mcp", "headers": { "X-A": "b" }, "env": {} },
            "old": { "transport": "sse", "url": "http://localhost:1/sse" },
            "Not Ours": { "command": "x" }
          }
        }"#,
    );
    let github =
        ServerConfig::stdio("github", "npx").args(["-y", "@scope/server"]).env("GITHUB_TOKEN", "${env:GITHUB_TOKEN}");
    assert_eq!(config.servers["github"], github);
    assert_eq!(config.servers["remote"], ServerConfig::http("remote", "https://example.com/mcp").header("X-A", "b"));
    assert_eq!(config.servers["old"], ServerConfig::sse("old", "http://localhost:1/sse"));
    let rejected = "invalid server name `Not Ours`\n --> .mcp.json:13:13\n  = help: use 1 to 64 of a-z, 0-9, `_` and `-`, and begin with a letter or a digit";
    assert_eq!(config.server("Not Ours").unwrap_err().to_string(), rejected);
    assert_eq!(config.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [rejected]);
    assert_eq!(config.snapshot_path("github"), Path::new("mcp/github.json"));
}

#[test]
fn errors_in_mcp_json_include_their_position() {
    json_error("", "the file is empty\n --> .mcp.json:1:1");
    json_error("{\n  // no\n}", "not valid JSON: Comments are not allowed\n --> .mcp.json:2:3");
    json_error("{ \"mcpServers\": {", "not valid JSON: Unterminated object\n --> .mcp.json:1:17");
    json_error("[]", "the file must be a table, not an array\n --> .mcp.json:1:1");
    json_error(
        "{}",
        "the file has no `mcpServers`\n --> .mcp.json:1:1\n  = help: expected the servers in an object `mcpServers`",
    );
    json_error(
        "{ \"servers\": {} }",
        "the file has no `mcpServers`\n --> .mcp.json:1:3\n  = help: rename `servers` to `mcpServers`",
    );
    json_error(
        "{ \"mcpServers\": { \"a\": { \"command\": \"x\" },\n  \"a\": { \"command\": \"y\" } } }",
        "duplicate key `a`\n --> .mcp.json:2:3",
    );
}

#[test]
fn error_in_one_mcp_json_entry_does_not_affect_other_servers() {
    entry_error(
        "{ \"mcpServers\": {\n  \"a\": { \"comand\": \"x\" }\n} }",
        "server `a` has no transport: `command`, `npm`, `uvx` or `url` is missing\n --> .mcp.json:2:10\n  = help: did you mean `command` instead of `comand`?",
    );
    entry_error(
        "{ \"mcpServers\": {\n  \"a\": { \"command\": \"x\", \"args\": \"y\" }\n} }",
        "`args` of server `a` must be an array of strings, not a string\n --> .mcp.json:2:34",
    );
    entry_error(
        "{ \"mcpServers\": { \"a\": { \"type\": \"ws\", \"url\": \"http://x\" } } }",
        "invalid value `ws` for `type` of server `a`\n --> .mcp.json:1:34\n  = help: expected `stdio`, `http`, `sse`, `streamable-http`, `streamableHttp`",
    );
    entry_error(
        "{ \"mcpServers\": { \"a\": { \"command\": \"x\",\n \"command\": \"y\" } } }",
        "duplicate key `command`\n --> .mcp.json:2:2",
    );
    let config = mcp_json(
        r#"{ "inputs": { "id": 1, "id": 2 }, "mcpServers": {
          "sound": { "command": "x" },
          "null": null, "text": "npx", "list": [], "empty": {}, "socket": { "type": "ws", "url": "ws://x" },
          "both": { "command": "x", "url": "https://x" }, "number": { "command": 1 }, "env": { "command": "x", "env": [1] }
        } }"#,
    );
    assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["sound"]);
    assert_eq!(config.warnings.len(), 8, "{:?}", config.warnings);
    for warning in &config.warnings {
        let server = warning.server.as_deref().unwrap();
        assert_eq!(config.server(server).unwrap_err().to_string(), warning.to_string(), "asked for, it is an error");
    }
}

#[track_caller]
fn entry_error(text: &str, expected: &str) {
    let config = mcp_json(text);
    assert_eq!(config.server("a").unwrap_err().to_string(), expected);
    assert_eq!(config.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = format!("{{\"mcpServers\":{}", "[".repeat(100_000));
    assert!(Config::parse_mcp_json(&deep, Path::new(".mcp.json")).is_err());
    assert!(Config::parse_toml(&format!("servers = {}", "[".repeat(100_000)), Path::new("mcp.toml")).is_err());
    assert!(Config::parse_toml(&"a.".repeat(100_000), Path::new("mcp.toml")).is_err());
}

#[test]
fn servers_are_parsed_from_the_environment() {
    let expected = ServerConfig::stdio("a", "x").args(["y"]);
    for text in [r#"{"a":{"command":"x","args":["y"]}}"#, r#"{"mcpServers":{"a":{"command":"x","args":["y"]}}}"#] {
        assert_eq!(Config::from_env_json(text).unwrap().server("a").unwrap(), &expected);
    }
    assert_eq!(
        Config::from_env_json("{\"a\":{}}").unwrap_err().to_string(),
        "server `a` has no transport: `command`, `npm`, `uvx` or `url` is missing\n --> MCP_SERVERS:1:2\n  = help: add `command`, `npm`, `uvx` or `url`"
    );
}

#[test]
fn configuration_is_found_in_the_crate_or_its_workspace_root() {
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        mcp_bindgen_model::write_if_changed(&dir.path().join(path), text.as_bytes()).unwrap();
    };
    let find = |folder: &str| {
        let found = Config::find(dir.path().join(folder))?;
        Some(found.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned())
    };
    put("mcp.toml", "");
    put("root/Cargo.toml", "[workspace]\nmembers = [\"a/b\"]\n");
    put("root/a/mcp.toml", "");
    put("root/a/b/Cargo.toml", "[package]\nname = \"b\"\n");
    assert_eq!(find("root/a/b"), None, "neither a folder between nor one above the workspace serves");
    put("root/.mcp.json", "{}");
    assert_eq!(find("root/a/b").as_deref(), Some("root/.mcp.json"));
    put("root/mcp.toml", "");
    assert_eq!(find("root/a/b").as_deref(), Some("root/mcp.toml"));
    put("root/a/b/.mcp.json", "{}");
    assert_eq!(find("root/a/b").as_deref(), Some("root/a/b/.mcp.json"), "the crate's own comes first");
    assert_eq!(find("root").as_deref(), Some("root/mcp.toml"));
}

#[test]
fn packaged_crate_ignores_the_configuration_of_its_workspace() {
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        mcp_bindgen_model::write_if_changed(&dir.path().join(path), text.as_bytes()).unwrap();
    };
    put("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n");
    put("mcp.toml", "");
    put("a/Cargo.toml", "[package]\nname = \"a\"\n");
    assert_eq!(Config::find(dir.path().join("a")), Some(dir.path().join("mcp.toml")));
    // `cargo publish` verifies here, and elsewhere where the target folder has another name.
    for (package, mark) in [
        ("target/package/a-0.1.0", "README.md"),
        ("build/package/a-0.1.0", "Cargo.toml.orig"),
        ("vendor/a", ".cargo-checksum.json"),
    ] {
        put(&format!("{package}/Cargo.toml"), "[package]\nname = \"a\"\n");
        put(&format!("{package}/{mark}"), "");
        assert_eq!(Config::find(dir.path().join(package)), None, "{package}");
        put(&format!("{package}/.mcp.json"), "{}");
        assert_eq!(Config::find(dir.path().join(package)), Some(dir.path().join(package).join(".mcp.json")));
    }
}

#[test]
fn relative_paths_are_resolved_against_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"
        [servers.here]
        command = "./bin/server"
        cwd = "data"
        [servers.above]
        command = "../server"
        cwd = "${ROOT}/data"
        [servers.path]
        command = "server"
        args = ["./not-ours"]
        [servers.absolute]
        command = "/bin/server"
        cwd = "/srv"
        "#;
    mcp_bindgen_model::write_if_changed(&dir.path().join("app/mcp.toml"), text.as_bytes()).unwrap();
    let config = Config::load(dir.path().join("app/mcp.toml")).unwrap();
    let app = dir.path().join("app");
    let expect = |name: &str, root: &str, relative: bool, command: &Path, cwd: Option<&Path>| {
        let server = &config.servers[name];
        assert_eq!(server.has_relative_paths(), relative, "{name}");
        assert!(!server.to_json().to_string().contains(app.to_str().unwrap()), "{name}");
        let Transport::Stdio { command: found, cwd: folder, args } =
            server.expand(|_| Some(root.to_owned())).unwrap().transport
        else {
            unreachable!()
        };
        assert_eq!((Path::new(&found), folder.as_deref().map(Path::new)), (command, cwd), "{name}");
        assert!(args.iter().all(|argument| argument == "./not-ours"));
    };
    expect("here", "", true, &app.join("bin/server"), Some(&app.join("data")));
    expect("above", "/x", true, &app.join("../server"), Some(Path::new("/x/data")));
    expect("above", "x", true, &app.join("../server"), Some(&app.join("x/data")));
    expect("path", "", false, Path::new("server"), None);
    expect("absolute", "", false, Path::new("/bin/server"), Some(Path::new("/srv")));
}

#[test]
fn isolation_folders_are_resolved_against_the_file() {
    let server = ServerConfig::stdio("a", "x")
        .in_folder("/app")
        .isolation(Isolation::new().read(["data", "~", "~/x", "/srv", "${R}"]).write(["./out", "~x"]));
    assert!(server.has_relative_paths());
    let shown = |root: &str| server.expand(|_| Some(root.to_owned())).unwrap().isolation.unwrap();
    assert_eq!(shown("r").read.unwrap(), ["/app/data", "~", "~/x", "/srv", "/app/r"]);
    assert_eq!(shown("/r").read.unwrap()[4], "/r");
    assert_eq!(shown("").write.unwrap(), ["/app/out", "/app/~x"]);
    let absolute = ServerConfig::stdio("a", "x").isolation(Isolation::new().read(["~/x", "/srv"]));
    assert!(!absolute.has_relative_paths());
}

#[test]
fn isolation_is_parsed_and_invalid_isolation_is_an_error() {
    let isolation = |text: &str| {
        let text = format!("[servers.a]\nnpm = \"x\"\nisolation = {text}\n");
        Config::parse_toml(&text, Path::new("mcp.toml")).map(|config| config.servers["a"].isolation.clone())
    };
    let temp = Isolation::new().temp_home().no_network();
    assert_eq!(isolation("{ home = \"temp\", network = \"none\" }").unwrap(), Some(temp));
    assert_eq!(isolation("{ read = [] }").unwrap(), Some(Isolation::new().read::<String>([])));
    assert_eq!(isolation("{}").unwrap(), Some(Isolation::new()));
    let refused = |text: &str| isolation(text).unwrap_err().to_string();
    assert_eq!(
        refused("{ hom = \"temp\" }"),
        "unknown key `hom` in `isolation` of server `a`\n --> mcp.toml:3:15\n  = help: did you mean `home`?"
    );
    assert_eq!(
        refused("{ network = \"non\" }"),
        "invalid value `non` for `network` in `isolation` of server `a`\n --> mcp.toml:3:25\n  = help: did you mean `none`?"
    );
    assert!(refused("{ home = true }").starts_with("`home` in `isolation` of server `a` must be a string"));
    assert!(
        refused("{ read = \"/x\" }").starts_with("`read` in `isolation` of server `a` must be an array of strings")
    );
    assert!(refused("true").starts_with("`isolation` of server `a` must be a table, not a boolean"));
    // Of a server at a URL nothing can be enforced, whatever file it stands in.
    let text = "[servers.a]\nurl = \"https://x\"\nisolation = {}\n";
    let url = Config::parse_toml(text, Path::new("mcp.toml")).unwrap_err().to_string();
    assert_eq!(
        url,
        "server `a` has `isolation`, which has no effect beside `url`\n --> mcp.toml:3:1\n  = help: `isolation` requires `command`, `npm` or `uvx`"
    );
    let text = r#"{ "mcpServers": { "a": { "url": "https://x", "args": [], "isolation": {} },
        "b": { "command": "x", "isolation": { "home": "temp", "read": ["d"] } } } }"#;
    let config = Config::parse_mcp_json(text, Path::new(".mcp.json")).unwrap();
    let rejected = config.server("a").unwrap_err();
    assert!(rejected.message.contains("has `isolation`, which has no effect beside `url`"));
    assert_eq!(config.servers["b"].isolation, Some(Isolation::new().temp_home().read(["d"])));
}

#[test]
fn defaults_apply_where_a_server_has_no_value() {
    let config = toml(
        "[defaults]\ntimeout = \"2m\"\ndrift = \"deny\"\npin = \"all\"\n[servers.a]\nnpm = \"x\"\n\
         [servers.b]\nnpm = \"x\"\ntimeout = \"5s\"\ndrift = \"ignore\"\npin = \"schema\"\n",
    );
    let filled = |name: &str| config.server_with_defaults(name).unwrap();
    assert_eq!((filled("a").timeout, filled("a").drift), (Some(Duration::from_secs(120)), Some(Drift::Deny)));
    assert_eq!((filled("b").timeout, filled("b").drift), (Some(Duration::from_secs(5)), Some(Drift::Ignore)));
    assert_eq!((filled("a").pin, filled("b").pin), (Some(Pin::All), Some(Pin::Schema)));
    assert!(config.server_with_defaults("c").is_err());
    let config = toml("[servers.a]\nnpm = \"x\"\n");
    assert_eq!(&config.server_with_defaults("a").unwrap(), config.server("a").unwrap());
}

#[test]
fn unknown_codes_are_errors() {
    let config = toml("deny = [\"MCP0001\"]\nallow = [\"MCP0002\", \"MCP0302\"]\n");
    let check = |known: &[&str]| config.check_codes(known).map_err(|error| error.to_string());
    assert_eq!(check(&["MCP0001", "MCP0002", "MCP0302"]), Ok(()));
    assert_eq!(
        check(&["MCP0001", "MCP0002"]).unwrap_err(),
        "`allow` contains the unknown code `MCP0302`\n --> app/mcp.toml:2:21\n  = help: did you mean `MCP0002`?"
    );
}

#[test]
fn file_name_selects_the_format() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".mcp.json");
    let missing = Config::load(&path).unwrap_err();
    assert_eq!(missing.to_string(), format!("file not found\n --> {}", path.display()));
    mcp_bindgen_model::write_if_changed(&path, "\u{feff}{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}".as_bytes())
        .unwrap();
    let config = Config::load(&path).unwrap();
    assert_eq!(config.path.as_deref(), Some(path.as_path()));
    assert!(config.server("a").is_ok());
    mcp_bindgen_model::write_if_changed(&path, b"ab\n\xff").unwrap();
    assert_eq!(
        Config::load(&path).unwrap_err().to_string(),
        format!("the file is not UTF-8 text\n --> {}:2:1", path.display())
    );
}

#[test]
fn tool_of_two_joined_tools_is_refused() {
    let text = "[servers.eu]\ncommand = \"x\"\n[servers.us]\ncommand = \"x\"\n[tools.find]\nof = [\"eu/find\", \"us/find\"]\n\
                [tools.search]\nof = [\"eu/search\", \"us/find\"]\n";
    assert_eq!(
        Config::parse_toml(text, "mcp.toml".as_ref()).unwrap_err().to_string(),
        "`of` in tool `search` contains `us/find`, which is in tool `find` too\n --> mcp.toml:8:20\n  = help: keep it in one of them"
    );
}

#[test]
fn policy_fault_is_reported_at_its_key() {
    let server = "[servers.git]\ncommand = \"x\"\n[[policy]]\n";
    for (lines, expected) in [
        (
            "then = \"deny\"\ntools = [\n  \"git/a\",\n  \"gti/b\",\n]",
            "`tools` of a policy names the unknown server `gti`\n --> mcp.toml:7:3\n  = help: did you mean `git`?",
        ),
        (
            "then = \"deny\"\ntools = [\"git/a\", \"b\"]",
            "`tools` of a policy contains `b`, which names no tool of a server\n --> mcp.toml:5:19\n  = help: write each as \"server/tool\"",
        ),
        (
            "tools = [\"git/a\"]\nthen = \"deny\"\nrate = \"1/s\"",
            "an element of `policy` has both `then = \"deny\"` and `rate`\n --> mcp.toml:6:1\n  = help: remove `rate`: a denied call is never made",
        ),
        (
            "tools = [\"git/a\"]\nthen = \"deny\"\nfor = []",
            "`for` in an element of `policy` is empty\n --> mcp.toml:6:1\n  = help: name principals, or remove it for a rule about all callers",
        ),
        (
            "tools = [\"git/a\"]",
            "an element of `policy` has no `then`\n --> mcp.toml:3:1\n  = help: add `then = \"allow\"`, `\"approve\"` or `\"deny\"`",
        ),
        (
            "tools = [\"git/x\"]\nthen = \"deny\"\nwhen = { query = \"a\" }",
            "`query` in `when` in an element of `policy` must be a table, not a string\n --> mcp.toml:6:18\n  = help: write `query = { equals = \"a\" }`",
        ),
        (
            "tools = [\"git/x\"]\nthen = \"deny\"\nwhen = { \"/a/0\" = 1.5 }",
            "`/a/0` in `when` in an element of `policy` must be a table, not a number\n --> mcp.toml:6:19\n  = help: write `\"/a/0\" = { equals = 1.5 }`",
        ),
        (
            "tools = [\"git/x\"]\nthen = \"deny\"\nwhen = { api_key = \"8d0f2a4c6e80\" }",
            "`api_key` in `when` in an element of `policy` must be a table, not a string\n --> mcp.toml:6:20\n  = help: write `api_key = { equals = \"..\" }`",
        ),
    ] {
        toml_error(&format!("{server}{lines}"), expected);
    }
    let config =
        toml(&format!("{server}tools = [\"git/a\", \"!git/b\"]\nthen = \"deny\"\nwhen = {{ x = {{ min = 1 }} }}"));
    let rule = &config.servers["git"].policies[0];
    let line = |key: &str| rule.place(key).position;
    assert_eq!((line("tools/a"), line("tools/!b"), line("when/x")), (Some((4, 10)), Some((4, 19)), Some((6, 10))));
}
