//! The commands that talk to servers.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::fs;

use common::{Project, fixture_server};
use serde_json::{Value, json};

const FIXTURE: &str = "[servers.fixture]\ncommand = \"SERVER\"\n";

#[test]
fn check_is_clean_after_sync() {
    let project = Project::new(FIXTURE);
    project.run(&["check"]).exits_with(4).says("error: fixture has no snapshot\n --> mcp/fixture.json\n");
    project.run(&["sync"]).exits_with(0).says("     Created mcp/fixture.json (10 tools of fixture)\n");
    let written = fs::metadata(project.path("mcp/fixture.json")).unwrap().modified().unwrap();
    let again = project.run(&["sync", "fixture"]).exits_with(0).says("   Unchanged mcp/fixture.json");
    assert_eq!(again.stdout, "");
    assert_eq!(fs::metadata(project.path("mcp/fixture.json")).unwrap().modified().unwrap(), written);
    let clean = project.run(&["check"]).exits_with(0).says("  Up to date mcp/fixture.json\n");
    assert_eq!(clean.stdout, "");
}

#[test]
fn check_shows_the_changes_that_sync_writes() {
    let project = Project::new(FIXTURE);
    project.run(&["sync"]).exits_with(0);
    let synced = project.read("mcp/fixture.json");
    let mut old: Value = serde_json::from_str(&synced).unwrap();
    let tools = old["tools"].as_array_mut().unwrap();
    tools.retain(|tool| tool["name"] != "tree_depth");
    tools[0]["inputSchema"]["properties"]["a"]["type"] = "string".into();
    tools[0]["inputSchema"]["properties"]["gone\u{202e}"] = json!({});
    project.write("mcp/fixture.json", &format!("{old:#}\n"));

    let check = project
        .run(&["check", "fixture"])
        .exits_with(4)
        .says("error: fixture differs from its snapshot\n --> mcp/fixture.json\n")
        .says("breaking    add /inputSchema/properties/a: a string is no longer valid [MCPD0010]\n")
        .says("= may be sent, and is refused now: {\"b\":0,\"a\":\"a\"}\n")
        .says(r"source      add /inputSchema/properties/gone\u{202e}: the property was removed")
        .says("compatible  tree_depth: new tool [MCPD0001]\n")
        .says("review the changes and run `mcp-bindgen sync fixture`\n");
    assert!(check.stdout.starts_with("--- mcp/fixture.json (snapshot)\n+++ fixture (live)\n@@"), "{}", check.stdout);
    assert!(check.stdout.contains("+      \"name\": \"tree_depth\""), "{}", check.stdout);
    assert!(!check.stdout.contains('\u{202e}'));
    assert_eq!(project.read("mcp/fixture.json"), format!("{old:#}\n"), "a check writes nothing");

    let report = project.run(&["check", "--format", "json"]).exits_with(4).json();
    assert_eq!(report[0]["status"], "out-of-date");
    assert_eq!(
        report[0]["changes"][0],
        json!({
            "tool": "add",
            "rule": "MCPD0010",
            "kind": "retyped",
            "class": "breaking",
            "breaking": true,
            "pointer": "/inputSchema/properties/a",
            "detail": "a string is no longer valid",
            "witness": { "sent": { "a": "a", "b": 0 } },
        })
    );
    let report = project.run(&["sync", "--format", "json"]).exits_with(0).json();
    assert_eq!((&report[0]["status"], &report[0]["tools"]), (&json!("updated"), &json!(10)));
    assert_eq!(project.read("mcp/fixture.json"), synced);
}

#[test]
fn failing_server_does_not_stop_the_others() {
    let project = Project::new(
        r#"
        [servers.broken]
        command = "SERVER"
        args = ["--misbehave", "exit"]
        env = { FIXTURE_KEY = "${KEY:-hunter2-hunter2}" }

        [servers.fixture]
        command = "SERVER"

        [servers.missing]
        command = "./no-such-program"

        [servers.silent]
        command = "SERVER"
        args = ["--misbehave", "silent"]
        connect_timeout = "500ms"
        "#,
    );
    project.write("mcp/silent.json", "{\"tools\":[]}");
    let sync = project
        .run(&["sync"])
        .exits_with(5)
        .says("Created mcp/fixture.json")
        .says("error: missing: failed to start")
        .says("error: silent: no answer to `initialize` within 500ms")
        .says("error: broken: ");
    assert!(!sync.stderr.contains("hunter2"), "{}", sync.stderr);
    assert!(!project.path("mcp/missing.json").exists() && !project.path("mcp/broken.json").exists());
    assert_eq!(project.read("mcp/silent.json"), "{\"tools\":[]}", "a failed sync overwrites nothing");
    project.run(&["check"]).exits_with(5).says("Up to date mcp/fixture.json");
    let report = project.run(&["sync", "--format", "json"]).exits_with(5).json();
    let states: Vec<_> = report.as_array().unwrap().iter().map(|entry| (&entry["server"], &entry["status"])).collect();
    let expected = [("broken", "failed"), ("fixture", "unchanged"), ("missing", "failed"), ("silent", "failed")];
    let expected = expected.map(|(server, status)| (json!(server), json!(status)));
    assert!(
        states.iter().zip(&expected).all(|(found, wanted)| (found.0, found.1) == (&wanted.0, &wanted.1)),
        "{states:?}"
    );
}

#[cfg(unix)]
#[test]
fn timeout_error_names_the_key_of_the_time() {
    let project = Project::new(
        "[servers.lists]\ncommand = \"sh\"\nargs = [\"lists.sh\"]\ntimeout = \"300ms\"\n\
         [servers.begins]\ncommand = \"SERVER\"\nargs = [\"--misbehave\", \"silent\"]\nconnect_timeout = \"300ms\"\n",
    );
    let result = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "1" }
    });
    let id = r#"$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')"#;
    let script = format!(
        "read -r line\nid={id}\nprintf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}}\\n' \"$id\" '{result}'\n\
         while read -r line; do :; done\n"
    );
    project.write("lists.sh", &script);
    for (server, method, key) in [("lists", "tools/list", "timeout"), ("begins", "initialize", "connect_timeout")] {
        let help = format!("= help: increase `{key}` of server `{server}`\n");
        let run = project.run(&["sync", server]).exits_with(5).says(&help);
        run.says(&format!("error: {server}: no answer to `{method}` within 300ms"));
    }
}

#[test]
fn sync_replaces_a_malformed_snapshot_but_not_a_newer_format() {
    let project = Project::new(FIXTURE);
    project.write("mcp/fixture.json", "{\"tools\": [");
    project.run(&["sync"]).exits_with(0).says("Updated mcp/fixture.json");
    let newer = "{\"format\":7,\"tools\":[]}";
    project.write("mcp/fixture.json", newer);
    project.run(&["sync"]).exits_with(1).says("the snapshot has format 7").says("install mcp-bindgen 0.7 or later");
    assert_eq!(project.read("mcp/fixture.json"), newer);
}

#[test]
fn call_prints_the_result() {
    let project = Project::new(FIXTURE);
    let sum = project.run(&["call", "fixture", "add", "--args", r#"{"a":1,"b":2}"#]).exits_with(0);
    assert_eq!(sum.stderr, "");
    let result =
        project.run(&["--format", "json", "call", "fixture", "add", "--args", r#"{"a":1,"b":2}"#]).exits_with(0).json();
    assert_eq!(result["isError"], json!(false));
    assert_eq!(result["structuredContent"], json!({ "result": 3 }));
    assert_eq!(sum.stdout.trim(), result["content"][0]["text"].as_str().unwrap());

    project.write("arguments.json", r#"{"a":20,"b":3}"#);
    let from_file = project.run(&["call", "fixture", "add", "--args", "@arguments.json"]).exits_with(0);
    assert!(from_file.stdout.contains("23"), "{}", from_file.stdout);
    let from_stdin =
        project.run_with_input(&["call", "fixture", "add", "--args", "-"], r#"{"a":4,"b":-50}"#).exits_with(0);
    assert!(from_stdin.stdout.contains("-46"), "{}", from_stdin.stdout);
}

#[test]
fn call_exit_code_depends_on_the_failure() {
    let project = Project::new(
        "[servers.fixture]\ncommand = \"SERVER\"\nexclude = [\"tree_*\"]\napprove = [\"make_*\"]\n\
         [servers.missing]\ncommand = \"./no-such-program\"\n\
         [servers.unset]\ncommand = \"SERVER\"\nenv = { A = \"${CERTAINLY_NOT_SET}\" }\n",
    );
    let failed = project
        .run(&["call", "fixture", "always_fails", "--args", r#"{"reason":"too late"}"#])
        .exits_with(3)
        .says("tool `always_fails` of server `fixture` returned an error");
    assert!(failed.stdout.contains("too late"), "what the tool says is the result: {}", failed.stdout);
    project
        .run(&["call", "fixture", "ad"])
        .exits_with(1)
        .says("the server has no tool `ad`")
        .says("did you mean `add`?");
    project
        .run(&["call", "fixture", "tree_depth"])
        .exits_with(1)
        .says("denied: it is excluded by `exclude` of the server");
    project.run(&["call", "fixture", "make_report"]).exits_with(1).says("approve this call with `--yes`");
    project.run(&["call", "missing", "x"]).exits_with(5).says("missing: failed to start");
    project.run(&["call", "unset", "x"]).exits_with(1).says("`CERTAINLY_NOT_SET` is not set; server `unset`");
    project.run(&["call", "fixtur", "x"]).exits_with(1).says("did you mean `fixture`?");
    for (arguments, said) in [
        ("{", "`--args` is not JSON: EOF while parsing"),
        ("[1]", "expected a JSON object for the arguments"),
        ("@none.json", "`--args`: failed to read `none.json`: file not found"),
    ] {
        project.run(&["call", "fixture", "add", "--args", arguments]).exits_with(2).says(said);
    }
    let late = ["call", "fixture", "count_slowly", "--args", r#"{"steps":1000,"pause_ms":100}"#, "--timeout", "2s"];
    project.run(&late).exits_with(1).says("did not answer within 2s");
}

#[cfg(unix)]
#[test]
fn timeout_option_includes_connecting() {
    use std::time::{Duration, Instant};

    // Connecting would take a minute.
    let project = Project::new("[servers.mute]\ncommand = \"sleep\"\nargs = [\"600\"]\n");
    project.write("t.txt", "[[@mute_x]]\n");
    let within = |words: &[&str]| {
        let began = Instant::now();
        let run = project.run(words).exits_with(5);
        assert!(began.elapsed() < Duration::from_secs(30), "{words:?} took {:?}", began.elapsed());
        assert!(run.stderr.contains("within 300ms"), "{words:?}: {}", run.stderr);
    };
    within(&["call", "mute", "x", "--timeout", "300ms"]);
    within(&["prompt", "get", "mute", "x", "--timeout", "300ms"]);
    within(&["resource", "read", "mute", "x:y", "--timeout", "300ms"]);
    within(&["run", "t.txt", "--timeout", "300ms"]);
    let tool = r#"{"tools":[{"name":"x","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}"#;
    project.write("mcp/mute.json", tool);
    within(&["call", "mute", "x", "--timeout", "300ms"]);
    within(&["learn", "mute", "x", "--args", "{}", "--timeout", "300ms"]);
    within(&["run", "t.txt", "--timeout", "300ms"]);
}

#[cfg(unix)]
#[test]
fn quiet_and_verbose_work_before_and_after_the_tool() {
    let script =
        |options: &str| format!("command = \"sh\"\nargs = [\"-c\", \"echo grumble >&2; exec SERVER {options}\"]\n");
    let project = Project::new(&format!("[servers.s]\n{}[servers.o]\n{}", script(""), script("--offers")));
    let counting = ["call", "s", "count_slowly", "--steps", "2", "--pause_ms", "1"];
    let got = ["prompt", "get", "o", "greet", "--who", "a"];
    let quiet = project.run(&counting).exits_with(0).says("Progress");
    assert!(!quiet.stderr.contains("grumble"), "{}", quiet.stderr);
    for command in [&counting[..], &got] {
        assert_eq!(project.run(&[command, &["-q"]].concat()).exits_with(0).stderr, "");
        project.run(&[command, &["-v"]].concat()).exits_with(0).says("grumble");
    }
    for (before, behind) in [(&[][..], &["-q", "-v"][..]), (&["-q"], &["--verbose"]), (&["-v"], &["-q"])] {
        let run = project.run(&[before, &counting[..], behind].concat()).exits_with(2);
        assert!(run.stderr.contains("--quiet") && run.stderr.contains("--verbose"), "{}", run.stderr);
    }
}

#[test]
fn read_only_hint_does_not_replace_approval() {
    let project = Project::new("[servers.fixture]\ncommand = \"SERVER\"\napprove = [\"echo_*\"]\n");
    project.run(&["sync"]).exits_with(0);
    let listed = project.run(&["list", "--format", "json"]).exits_with(0).json();
    let echo = listed.as_array().unwrap().iter().find(|tool| tool["tool"] == "echo_arguments").unwrap();
    assert_eq!((&echo["annotations"]["readOnlyHint"], &echo["approve"]), (&json!(true), &json!(true)));
    let call = ["call", "fixture", "echo_arguments", "--text", "x", "--choice:=null"];
    project.run(&call).exits_with(1).says("not approved");
    project.run(&[&call[..], &["--yes"]].concat()).exits_with(0);
}

#[test]
fn http_servers_are_synced_and_called() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let mut server =
        Command::new(fixture_server()).args(["--http", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let project = Project::new(&format!("[servers.remote]\nurl = \"{}\"\n", url.trim()));
    let synced = project.run(&["sync"]);
    let checked = project.run(&["check"]);
    let called = project.run(&["call", "remote", "add", "--args", r#"{"a":1,"b":2}"#]);
    server.kill().unwrap();
    server.wait().unwrap();
    synced.exits_with(0).says("Created mcp/remote.json (10 tools of remote)");
    checked.exits_with(0);
    assert!(called.exits_with(0).stdout.contains('3'));
    project.run(&["check"]).exits_with(5).says("error: remote: ");
}

#[test]
fn servers_are_read_from_the_environment() {
    let project = Project::empty();
    let servers = json!({ "fixture": { "command": fixture_server() } }).to_string();
    let output = project
        .command()
        .args(["call", "fixture", "add", "--args", r#"{"a":1,"b":1}"#])
        .env("MCP_SERVERS", servers)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn signalled_command_leaves_no_process() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    // A server that answers neither the call, nor the end of its input, nor a signal.
    let script = "trap '' INT TERM HUP; exec SERVER --misbehave deaf";
    let project = Project::new(&format!("[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", \"{script}\"]\n"));
    let config = project.read("mcp.toml");
    let program = env!("CARGO_BIN_EXE_mcp-bindgen");
    // The last is started as by `nohup`: it stays when the terminal goes.
    for (signals, before, code) in [
        (&["INT"][..], "", 130),
        (&["TERM"][..], "", 143),
        (&["HUP"][..], "", 129),
        (&["HUP", "TERM"][..], "trap '' HUP; ", 143),
    ] {
        let mark = format!("told-{code}-{}-{}", signals.len(), std::process::id());
        let carriers = || {
            let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("environ"));
            processes
                .filter(|file| String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).contains(&mark))
                .count()
        };
        let wait_until = |done: &dyn Fn() -> bool| {
            let start = Instant::now();
            while !done() {
                assert!(start.elapsed() < Duration::from_secs(20), "{signals:?}: {} processes", carriers());
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        project.write("mcp.toml", &format!("{config}env = {{ MARK = \"{mark}\" }}\n"));
        // The parent process may ignore signals, so `env` resets them.
        let mut check = Command::new("env")
            .args(["--default-signal=HUP,INT,TERM", "sh"])
            .current_dir(project.path(""))
            .env_remove("MCP_SERVERS")
            .args(["-c", &format!("{before}exec '{program}' sync s")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(&|| carriers() > 0);
        std::thread::sleep(Duration::from_millis(300));
        for signal in signals {
            assert!(check.try_wait().unwrap().is_none(), "{signals:?}: ended before {signal}");
            let kill = Command::new("kill").args([&format!("-{signal}"), &check.id().to_string()]).status();
            assert!(kill.unwrap().success());
            if signals.len() > 1 {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        assert_eq!(check.wait().unwrap().code(), Some(code), "{signals:?}");
        wait_until(&|| carriers() == 0);
    }
}
