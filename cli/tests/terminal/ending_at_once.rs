//! Signals while a command computes, or waits for what never comes: it ends within a second, and its servers with it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::common::Project;
use crate::ending::{carriers, wait_until};

const LIMIT: Duration = Duration::from_secs(1);
const SIGNALS: [(&str, i32); 2] = [("INT", 130), ("TERM", 143)];

/// A list that takes many seconds to compare with one whose tools require something more: dozens of tools with thousands
/// of properties.
fn large(required: &[&str]) -> String {
    let mut properties: Map<String, Value> =
        (0..1_500).map(|at| (format!("p{at}"), json!({ "type": "string" }))).collect();
    properties.insert("b".to_owned(), json!({ "type": "string" }));
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let tools: Vec<Value> = (0..40).map(|at| json!({ "name": format!("t{at}"), "inputSchema": schema })).collect();
    json!({ "tools": tools }).to_string()
}

fn begin(project: &Project, arguments: &[&str]) -> Child {
    let mut command = Command::new("env");
    // The parent of the tests may have set signals to be ignored.
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_mcp-bindgen")]).args(arguments);
    command.current_dir(project.path("")).env_remove("MCP_SERVERS").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until a process has computed for longer than it takes to start.
fn computes(child: &Child) {
    let file = format!("/proc/{}/stat", child.id());
    wait_until(|| {
        let stat = fs::read_to_string(&file).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        let ticks = after_name.split_whitespace().nth(11).and_then(|ticks| ticks.parse::<u64>().ok());
        ticks.is_some_and(|ticks| ticks > 20)
    });
}

/// Sends a signal, and returns the exit code as shells report it, and how long the end took, of the servers too.
fn ended_by(mut child: Child, signals: &[&str], mark: &str) -> (i32, Duration) {
    let begun = Instant::now();
    for signal in signals {
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
    let status = child.wait().unwrap();
    wait_until(|| carriers(mark) == 0);
    (status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap(), begun.elapsed())
}

#[track_caller]
fn ends_at_once(child: Child, signal: &str, code: i32, mark: &str) {
    let (ended, took) = ended_by(child, &[signal], mark);
    assert_eq!(ended, code, "{signal}");
    assert!(took < LIMIT, "{signal}: {took:?}");
}

fn diff(project: &Project) -> Child {
    project.write("old.json", &large(&[]));
    project.write("new.json", &large(&["b"]));
    let child = begin(project, &["diff", "old.json", "new.json"]);
    computes(&child);
    child
}

#[test]
fn diff_ends_during_its_computation() {
    for (signal, code) in SIGNALS {
        let project = Project::empty();
        ends_at_once(diff(&project), signal, code, "no server");
    }
}

#[test]
fn second_signal_ends_the_command_immediately() {
    let project = Project::empty();
    // Two of one kind may arrive as one.
    let (_, took) = ended_by(diff(&project), &["INT", "TERM"], "no server");
    assert!(took < Duration::from_millis(450), "{took:?}");
}

#[test]
fn check_ends_during_its_computation_and_leaves_no_server() {
    ends_with_servers("check");
}

#[test]
fn sync_ends_during_its_computation_and_leaves_no_server() {
    ends_with_servers("sync");
}

/// Compares the list of one server while another one, which ends neither with its stdin nor by a signal, is being asked.
fn ends_with_servers(command: &str) {
    for (signal, code) in SIGNALS {
        let mark = format!("computing-{command}-{signal}-{}", std::process::id());
        let project = Project::new(&format!(
            "[servers.a]\ncommand = \"SERVER\"\nargs = [\"--replay\", \"new.json\"]\ncwd = \".\"\n\
             [servers.b]\ncommand = \"sh\"\nargs = [\"-c\", \"trap '' INT TERM HUP; SERVER --misbehave deaf; sleep 1000\"]\n\
             env = {{ MARK = \"{mark}\" }}\n"
        ));
        project.write("new.json", &large(&["b"]));
        project.write("mcp/a.json", &large(&[]));
        let child = begin(&project, &[command]);
        wait_until(|| carriers(&mark) > 0);
        computes(&child);
        assert!(carriers(&mark) > 0, "it is being asked");
        ends_at_once(child, signal, code, &mark);
        assert_eq!(project.read("mcp/a.json"), large(&[]), "{command}");
    }
}

#[test]
fn list_and_expand_end_while_waiting_for_a_file() {
    for command in ["list", "expand"] {
        for (signal, code) in SIGNALS {
            let project = Project::empty();
            let pipe = project.path("pipe");
            assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            let child = begin(&project, &[command, "--snapshot", "pipe", "--server", "s"]);
            // It can be opened once somebody reads it.
            let non_blocking = 0o4000;
            let open = || OpenOptions::new().write(true).custom_flags(non_blocking).open(&pipe);
            let mut writer: Option<File> = None;
            let begun = Instant::now();
            while writer.is_none() {
                assert!(begun.elapsed() < Duration::from_secs(60), "nobody reads it");
                writer = open().ok();
                std::thread::yield_now();
            }
            ends_at_once(child, signal, code, "no server");
        }
    }
}
