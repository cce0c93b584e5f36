//! `serve`: servers of the configuration, served again as one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(unix)]

use crate::common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Project, Run};
use serde_json::{Value, json};

const CONFIG: &str = r#"
[servers.desk]
command = "SERVER"
tools = ["add", "create_ticket", "count_slowly"]
exclude = ["count_*"]
approve = ["create_*"]

[servers.hub]
command = "SERVER"
args = ["--github"]
prefix = "gh"
"#;

/// The program, served to this test. It goes with it.
pub(crate) struct Served {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Served {
    pub(crate) fn new(mut command: Command, arguments: &[&str]) -> Self {
        command.arg("serve").args(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout }
    }

    fn tell(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{message}").expect("it reads");
    }

    fn hear(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it writes");
        line
    }

    fn begin(&mut self, capabilities: &Value) {
        self.tell(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" } } }));
        assert_eq!(self.hear()["result"]["protocolVersion"], "2025-11-25");
        self.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    }

    /// The code with which it ends, and all that it said on stderr.
    pub(crate) fn ends(mut self) -> (Option<i32>, String) {
        let since = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it can be asked") {
                break status;
            }
            assert!(since.elapsed() < Duration::from_secs(20), "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut said = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        (status.code(), said)
    }

    /// Its child processes, without the guards beside them.
    pub(crate) fn children(&self) -> Vec<u32> {
        let id = self.child.id();
        let listed = ["-o", "pid=,args=", "--ppid", &id.to_string()];
        let listed = Command::new("ps").args(listed).output().expect("ps is there");
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let servers = listed.lines().filter(|line| !line.contains("read -r group"));
        servers.map(|line| line.split_whitespace().next().and_then(|id| id.parse().ok()).expect("an id")).collect()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_running(id: u32) -> bool {
    Command::new("kill")
        .args(["-0", &id.to_string()])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn call(id: u64, name: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

#[test]
fn serve_inside_itself_is_refused() {
    let again = "[servers.again]\ncommand = \"sh\"\nargs = [\"again.sh\"]\n";
    let project = Project::new(&format!("[servers.desk]\ncommand = \"SERVER\"\n{again}"));
    project.write("again.sh", &format!("echo >> starts\nexec '{}' serve\n", env!("CARGO_BIN_EXE_mcp-bindgen")));
    let sum = project.run(&["call", "again", "desk_add", "--a", "1", "--b", "2", "--format", "json"]).exits_with(0);
    assert_eq!(sum.json()["structuredContent"]["result"], 3);
    // The one that is called, and those that it starts and that end at once.
    let starts = project.read("starts").lines().count();
    assert!((1..=6).contains(&starts), "{starts}");

    let path = project.path("mcp.toml").canonicalize().unwrap();
    let inside = |outer: &[&str], arguments: &[&str]| {
        let outer = mcp_bindgen_model::digest(&json!([path.to_str().unwrap(), outer]));
        let mut command = project.command();
        command.arg("serve").args(arguments).env("MCP_BINDGEN_SERVING", format!("0:{outer}")).stdin(Stdio::null());
        Run::of(&command.output().unwrap())
    };
    let refused = inside(&[], &[]).exits_with(1).says("error: `serve` would start itself without end").stderr;
    assert!(refused.contains("\n --> mcp.toml\n  = help: remove that server"), "{refused}");
    inside(&["desk"], &["desk", "--http", "0"]).exits_with(1).says(" --> mcp.toml");
    // A command that serves other servers is not the same one.
    inside(&[], &["desk"]).exits_with(0);
}

#[test]
fn stdio_carries_only_the_protocol_and_applies_the_configuration() {
    let project = Project::new(CONFIG);
    let mut served = Served::new(project.command(), &[]);
    served.begin(&json!({ "elicitation": {} }));
    served.tell(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    let listed = served.hear();
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    // The list omits excluded tools; servers follow the order of the configuration, and tools are sorted by name.
    assert_eq!(names[..2], ["desk_add", "desk_create_ticket"], "{names:?}");
    assert!(names.len() > 2 && names[2..].iter().all(|name| name.starts_with("gh_")), "{names:?}");
    assert!(names[2..].is_sorted(), "{names:?}");

    served.tell(&call(2, "desk_add", json!({ "a": 1, "b": 41 })));
    assert_eq!(served.hear()["result"]["structuredContent"]["result"], 42);
    served.tell(&call(3, "desk_count_slowly", json!({ "steps": 1, "pause_ms": 0 })));
    let refused = served.hear();
    assert!(refused["error"].is_object() || refused["result"]["isError"] == true, "{refused}");

    // The proxy asks the client for approval.
    let ticket = json!({ "title": "Leak", "priority": "high" });
    for (id, approve) in [(4, true), (5, false)] {
        served.tell(&call(id, "desk_create_ticket", ticket.clone()));
        let asked = served.hear();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let answer = json!({ "action": "accept", "content": { "approve": approve } });
        served.tell(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer }));
        let answered = served.hear();
        let is_done = answered["result"].is_object() && answered["result"]["isError"] != true;
        assert_eq!(is_done, approve, "{answered}");
    }

    let children = served.children();
    assert_eq!(children.len(), 2, "a process for each server");
    served.stdin = None;
    let mut rest = String::new();
    served.stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "nothing else is printed");
    let (code, said) = served.ends();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Serving desk, hub on stdin and stdout"), "{said}");
    assert!(said.contains("Called add of desk, done"), "{said}");
    let denied = "Called create_ticket of desk, failed: denied: not approved: the user declined, in ";
    assert!(said.contains(denied), "{said}");
    assert!(!children.into_iter().any(is_running), "servers are ended with it");
}

#[test]
fn unreachable_server_is_reported_once() {
    let project =
        Project::new("[servers.dead]\ncommand = \"./no-such-program\"\n[servers.desk]\ncommand = \"SERVER\"\n");
    let mut served = Served::new(project.command(), &[]);
    served.begin(&json!({}));
    for id in 1..4 {
        served.tell(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
        let listed = served.hear();
        assert!(listed["result"]["tools"].as_array().unwrap().iter().all(|tool| tool["name"] != "dead"), "{listed}");
    }
    served.tell(&call(4, "desk_add", json!({ "a": 1, "b": 41 })));
    assert_eq!(served.hear()["result"]["structuredContent"]["result"], 42);
    served.stdin = None;
    let (code, said) = served.ends();
    let warning = "warning: server `dead` is not connected, and its tools are not served: failed to start `";
    assert_eq!((code, said.matches(warning).count()), (Some(0), 1), "{said}");
    assert!(said.contains("/no-such-program`: not found") && said.matches("`dead`").count() == 1, "{said}");
    assert!(said.contains("  = help: run `mcp-bindgen doctor --connect dead`"), "{said}");
}

#[test]
fn missing_variable_is_reported_once_at_start() {
    let project = Project::new(
        "[servers.dead]\ncommand = \"SERVER\"\nenv = { KEY = \"${SERVE_UNSET}\" }\n[servers.desk]\ncommand = \"SERVER\"\n",
    );
    let mut served = Served::new(project.command(), &[]);
    served.begin(&json!({}));
    for id in 1..3 {
        served.tell(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
        assert!(served.hear()["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    }
    served.stdin = None;
    let (code, said) = served.ends();
    assert_eq!((code, said.matches("SERVE_UNSET` is not set").count()), (Some(0), 1), "{said}");
    assert!(said.find("`SERVE_UNSET` is not set") < said.find("Serving"), "{said}");
    assert!(said.contains("  = help: set `SERVE_UNSET`"), "{said}");
    assert!(said.contains("Serving desk on"), "{said}");
    let run = project.run(&["serve", "dead"]).exits_with(1).says("error: no servers to serve");
    assert!(!run.stderr.contains("Serving"), "{}", run.stderr);
}

#[test]
fn warnings_of_other_servers_are_not_shown() {
    let project = Project::new(
        "[servers.desk]\ncommand = \"SERVER\"\n[servers.other]\nnpm = \"x\"\nenv = { API_KEY = \"hunter2-hunter2\" }\n",
    );
    for arguments in [&["serve", "desk"][..], &["doctor", "desk"]] {
        let run = project.run(arguments);
        assert!(!run.stderr.contains("API_KEY"), "{arguments:?}: {}", run.stderr);
    }
    project.run(&["doctor"]).says("API_KEY");
}

#[test]
fn signal_ends_serve_and_its_servers() {
    let project = Project::new(CONFIG);
    for (signal, expected) in [("TERM", 143), ("INT", 130)] {
        for http in [false, true] {
            let arguments: &[&str] = if http { &["desk", "--http", "0"] } else { &["desk"] };
            let mut served = Served::new(project.command(), arguments);
            if http {
                let answered = post(served.line().trim(), &[], &initialize_modern());
                assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
            } else {
                served.begin(&json!({}));
                served.tell(&call(1, "desk_add", json!({ "a": 1, "b": 1 })));
                served.hear();
            }
            let children = served.children();
            assert_eq!(children.len(), 1, "{signal}, over http: {http}");
            served.signal(signal);
            let (code, said) = served.ends();
            assert_eq!(code, Some(expected), "{said}");
            assert!(!children.into_iter().any(is_running), "{signal}, over http: {http}");
        }
    }
}

#[test]
fn servers_that_ignore_signals_are_killed_immediately() {
    let stubborn = "trap '' INT TERM HUP; SERVER; sleep 1000";
    let config = format!("[servers.desk]\ncommand = \"sh\"\nargs = [\"-c\", \"{stubborn}\"]\n");
    let project = Project::new(&config);
    let mut served = Served::new(project.command(), &[]);
    served.begin(&json!({}));
    served.tell(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    served.hear();
    let children = served.children();
    assert_eq!(children.len(), 1);
    let since = Instant::now();
    served.signal("TERM");
    let (code, said) = served.ends();
    assert_eq!(code, Some(143), "{said}");
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    assert!(!children.into_iter().any(is_running));
}

pub(crate) fn initialize_modern() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} } } })
}

pub(crate) fn post(url: &str, headers: &[(&str, &str)], body: &Value) -> String {
    let (address, path) =
        url.strip_prefix("http://").unwrap_or_else(|| panic!("no URL: {url}")).split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let is_modern = body.pointer("/params/_meta").is_some();
    let is_list = body["method"] == "tools/list";
    let era = if is_modern && is_list { "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n" } else { "" };
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let body = body.to_string();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\nContent-Type: \
         application/json\r\n{era}{headers}Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answered = String::new();
    stream.read_to_string(&mut answered).unwrap();
    answered
}

#[test]
fn http_serve_prints_its_url_and_requires_the_token() {
    let project = Project::new(CONFIG);
    let mut command = project.command();
    command.env("PROXY_TOKEN", "planted-token");
    let options =
        ["desk", "--http", "127.0.0.1:0", "--bearer-env", "PROXY_TOKEN", "--allow-origin", "https://app.example.com"];
    let mut served = Served::new(command, &options);
    let url = served.line().trim().to_owned();
    let bearer = ("Authorization", "Bearer planted-token");
    for (headers, status) in [
        (vec![], 401),
        (vec![("Authorization", "Bearer other")], 401),
        (vec![bearer], 200),
        (vec![bearer, ("Origin", "https://app.example.com")], 200),
        (vec![bearer, ("Origin", "https://evil.example")], 403),
    ] {
        let answered = post(&url, &headers, &initialize_modern());
        assert!(answered.starts_with(&format!("HTTP/1.1 {status}")), "{headers:?}: {answered}");
        assert_eq!(answered.contains("desk_add"), status == 200, "{answered}");
    }
    // The port is taken now.
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    project.run(&["serve", "--http", address]).exits_with(1).says("failed to listen on");
    served.signal("TERM");
    let (code, said) = served.ends();
    assert_eq!(code, Some(143));
    assert!(said.contains("Serving desk on http://") && !said.contains("planted"), "{said}");
}

#[test]
fn invalid_serve_options_are_refused_before_any_start() {
    let project = Project::new(CONFIG);
    let cases: [(&[&str], i32, &str); 11] = [
        (&["dsk"], 1, "desk"),
        (&["--http", "0.0.0.0:0"], 2, "--public"),
        (&["--http", "0.0.0.0:0", "--public"], 2, "--bearer-env"),
        (&["--http", "0", "--bearer-env", "NOT_SET_ANYWHERE"], 2, "NOT_SET_ANYWHERE"),
        (&["--http", "0", "--allow-origin", "app.example.com"], 2, "--allow-origin"),
        (&["--http", "0", "--allow-host", "a/b"], 2, "--allow-host"),
        (&["--http", "somewhere"], 2, "127.0.0.1:8080"),
        (&["--bearer-env", "HOME"], 2, "--http"),
        (&["--public"], 2, "--http"),
        (&["--http", "0", "--no-auth"], 2, "--public"),
        (&["--http", "0", "--public", "--no-auth", "--bearer-env", "HOME"], 2, "--bearer-env"),
    ];
    for (arguments, code, text) in cases {
        let run = project.run(&[&["serve"], arguments].concat()).exits_with(code).says(text);
        assert_eq!(run.stdout, "", "{arguments:?}");
    }
    let other = Project::new("[servers.desk]\ncommand = \"SERVER\"\n");
    let mut command = other.command();
    command.env("EMPTY", "two words");
    let (code, said) = Served::new(command, &["--http", "0", "--bearer-env", "EMPTY"]).ends();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--bearer-env") && !said.contains("two words"), "{said}");
}

#[test]
fn keyring_entry_does_not_hide_a_variable_that_is_not_set() {
    let config = "[servers.gh]\nurl = \"https://${CERTAINLY_NOT_SET}/mcp\"\nheaders = { Authorization = \"Bearer ${keyring:gh}\" }\n";
    let said = "server `gh` is not served: environment variable `CERTAINLY_NOT_SET` is not set";
    Project::new(config).run(&["serve"]).exits_with(1).says(said).says("no servers to serve");
    // A keyring is read when a connection is opened.
    for config in [config.replace("CERTAINLY_NOT_SET", "HOME"), format!("{config}secrets = [\"keyring\"]\n")] {
        let run = Project::new(&config).run(&["serve"]).exits_with(0);
        assert!(!run.stderr.contains("is not served"), "{}", run.stderr);
    }
}

#[test]
fn printed_host_configuration_starts_or_reaches_the_proxy() {
    let config = "[servers.desk]\ncommand = \"SERVER\"\ninherit_env = [\"LOCALE\"]\n\
                  env = { KEY = \"${DESK_KEY}\", LEVEL = \"${LEVEL:-info}\" }\n[servers.other]\ncommand = \"SERVER\"\n";
    let project = Project::new(config);
    let print = |arguments: &[&str]| -> Value {
        let run = project.run(&[&["serve", "--print-config"], arguments].concat()).exits_with(0);
        serde_json::from_str(&run.stdout).expect("JSON")
    };
    let claude = print(&["claude", "desk"])["mcpServers"]["mcp-bindgen"].clone();
    assert_eq!((&claude["type"], &claude["command"]), (&json!("stdio"), &json!("mcp-bindgen")));
    assert_eq!(claude["env"], json!({ "DESK_KEY": "${DESK_KEY}", "LOCALE": "${LOCALE}" }));
    let cursor = print(&["cursor"])["mcpServers"]["mcp-bindgen"].clone();
    assert_eq!(cursor["env"], json!({ "DESK_KEY": "${env:DESK_KEY}", "LOCALE": "${env:LOCALE}" }));
    let reached = print(&["vscode", "--http", "8080", "--bearer-env", "TOKEN_IS_NOT_SET"]);
    let headers = json!({ "Authorization": "Bearer ${env:TOKEN_IS_NOT_SET}" });
    let entry = json!({ "type": "http", "url": "http://127.0.0.1:8080/mcp", "headers": headers });
    assert_eq!(reached, json!({ "servers": { "mcp-bindgen": entry } }));
    for address in ["0", "0.0.0.0:8080"] {
        let run = project.run(&["serve", "--print-config", "claude", "--http", address]).exits_with(2);
        run.says("is not allowed in the configuration of a host");
    }

    let run = project.run(&["serve", "--print-config", "claude", "--http", "8080", "--public"]);
    run.exits_with(2).says("cannot be used with");
    let kept = format!(
        "{config}secrets = [\"dotenv:.env\"]\ninherit_env = [\"ZONE\"]\nenv = {{ KEY = \"${{OTHER_KEY}}\" }}\n"
    );
    let other = Project::new(&kept).run(&["serve", "--print-config", "claude", "other"]).exits_with(0);
    let other: Value = serde_json::from_str(&other.stdout).expect("JSON");
    assert_eq!(other["mcpServers"]["mcp-bindgen"]["env"], json!({ "ZONE": "${ZONE}" }));

    // The host starts it somewhere else.
    let arguments: Vec<&str> = claude["args"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let mut command = project.command();
    command.current_dir("/").env("DESK_KEY", "k");
    let mut served = Served::new(command, arguments.strip_prefix(&["serve"]).expect("the command"));
    served.begin(&json!({}));
    served.tell(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    let listed = served.hear();
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(
        !tools.is_empty() && tools.iter().all(|tool| tool["name"].as_str().unwrap().starts_with("desk_")),
        "{listed}"
    );
}
