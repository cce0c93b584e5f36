//! Processes that left the process group of their server end with it, however that comes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{Client, ClientOptions};
use serde_json::json;

use crate::common::{Mark, fixture_server, good, object};

/// A client of a server that started a process in a session of its own.
async fn client(config: ServerConfig, options: ClientOptions) -> Client {
    let client = Client::with_options(config.args(["--attempts"]), options);
    attempt(&client, "leave-behind", "1000").await.expect("it is started");
    client
}

async fn attempt(client: &Client, what: &str, at: &str) -> Result<(), mcp_bindgen_runtime::CallError> {
    client.call("attempt", object(json!({ "do": what, "at": at }))).await.map(drop)
}

#[tokio::test]
async fn close_returns_after_all_descendants_have_exited() {
    let mark = Mark::new();
    let client = client(good(&mark), ClientOptions::new()).await;
    // The server and its child.
    mark.counts(2).await;
    client.close().await;
    assert_eq!(mark.processes(), Vec::<u32>::new());
}

#[tokio::test]
async fn dropped_client_leaves_no_descendants() {
    let mark = Mark::new();
    drop(client(good(&mark), ClientOptions::new()).await);
    mark.gone_within(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn crashed_server_leaves_no_descendants() {
    let mark = Mark::new();
    let client = client(good(&mark), ClientOptions::new()).await;
    let before = mark.counts(2).await;
    attempt(&client, "exit", "7").await.expect_err("it ends");
    let start = Instant::now();
    // Another server may have been started in the meantime.
    while mark.processes().iter().any(|pid| before.contains(pid)) {
        assert!(start.elapsed() < Duration::from_secs(10), "{before:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client.close().await;
}

/// The fixture server behind a shell.
fn behind(script: &str, mark: &str) -> ServerConfig {
    let script = script.replace("SERVER", &fixture_server().to_string_lossy());
    ServerConfig::stdio("fixture", "sh").args(["-c", &script]).env("FIXTURE_MARK", mark)
}

#[tokio::test]
async fn close_lets_the_server_and_its_descendants_end_by_themselves() {
    let (mark, folder) = (Mark::new(), tempfile::tempdir().expect("a folder"));
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let script = "(trap 'echo asked >>NOTES' TERM; echo >READY; while :; do sleep 0.05; done) >/dev/null 2>&1 &
        until [ -e READY ]; do sleep 0.01; done
        SERVER; sleep 0.1; echo ended >>NOTES";
    let client =
        Client::new(behind(&script.replace("NOTES", &at("notes")).replace("READY", &at("ready")), mark.value()));
    client.connect().await.expect("a connection");
    client.close().await;
    assert_eq!(mark.processes(), Vec::<u32>::new());
    let notes = fs::read_to_string(at("notes")).expect("notes");
    // The descendant goes on, so it is asked several times before it is killed.
    assert!(notes.starts_with("ended\n") && notes.matches("asked").count() > 2, "{notes}");
}

#[tokio::test]
async fn server_continues_after_the_program_that_started_it_has_ended() {
    let mark = Mark::new();
    let client = Client::new(behind("exec 3<&0; SERVER <&3 &", mark.value()));
    client.connect().await.expect("a connection");
    let server = mark.counts(1).await;
    for _ in 0..3 {
        client.call("add", object(json!({ "a": 1, "b": 2 }))).await.expect("the call");
    }
    assert_eq!(mark.processes(), server);
    client.close().await;
    assert_eq!(mark.processes(), Vec::<u32>::new());
}

#[test]
fn dropped_runtime_leaves_no_descendants() {
    let mark = Mark::new();
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let client = {
        let dropped = runtime();
        dropped.block_on(client(good(&mark), ClientOptions::new()))
    };
    runtime().block_on(mark.gone_within(Duration::from_secs(10)));
    drop(client);
}

/// Inherits the descendants of its server, as the first process of a container does, and ends with an error if any of
/// them was not waited for.
async fn inherit(mark: &str) {
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).expect("it inherits processes");
    let client = Client::new(behind("sleep 1000 >/dev/null 2>&1 & exec SERVER", mark));
    client.connect().await.expect("a connection");
    println!("started");
    client.close().await;
    let stats = fs::read_dir("/proc").expect("/proc").flatten();
    let stats = stats.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let dead = format!(") Z {own} ");
    std::process::exit(i32::from(stats.into_iter().any(|stat| stat.contains(&dead))));
}

#[tokio::test]
async fn inherited_descendants_are_waited_for() {
    let mark = Mark::new();
    let mut program = started(&mark, ("INHERITS", "1"));
    assert!(program.0.wait().expect("it ends").success());
}

#[tokio::test]
#[ignore = "the program that the other tests run"]
async fn program() {
    let mark = std::env::var("MARK").expect("a mark");
    if std::env::var_os("INHERITS").is_some() {
        inherit(&mark).await;
    }
    let config = ServerConfig::stdio("fixture", fixture_server().to_string_lossy()).env("FIXTURE_MARK", mark);
    let _client = client(config, ClientOptions::new()).await;
    println!("started");
    if std::env::var_os("KILLS_SERVERS").is_some() {
        mcp_bindgen_runtime::kill_servers();
        std::process::exit(0);
    }
    std::future::pending::<()>().await;
}

/// A program that ends with its test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the program until its server has a child.
fn started(mark: &Mark, (name, value): (&str, &str)) -> Program {
    let mut program = Command::new(std::env::current_exe().expect("the test has a path"));
    program.args(["--exact", "descendants::program", "--ignored", "--nocapture"]);
    let program = program.env("MARK", mark.value()).env(name, value).stdout(Stdio::piped()).spawn();
    let mut program = Program(program.expect("it runs"));
    let mut lines = BufReader::new(program.0.stdout.take().expect("its output")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.ends_with("started"))), "it did not start its server");
    program
}

#[tokio::test]
async fn killed_servers_leave_no_descendants() {
    let mark = Mark::new();
    let mut program = started(&mark, ("KILLS_SERVERS", "1"));
    assert!(program.0.wait().expect("it ends").success());
    assert_eq!(mark.processes(), Vec::<u32>::new());
}

/// The environment of a process, which has none for a moment while its program is being started.
fn environment_of(pid: u32) -> String {
    let start = Instant::now();
    loop {
        let environment = fs::read(format!("/proc/{pid}/environ")).expect("its environment");
        if !environment.is_empty() {
            return String::from_utf8_lossy(&environment).into_owned();
        }
        assert!(start.elapsed() < Duration::from_secs(20), "process {pid} has no environment");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[tokio::test]
async fn killed_program_leaves_no_descendants() {
    let mark = Mark::new();
    let program = started(&mark, ("MCP_BINDGEN_STARTS", "outer"));
    // Descendants of a server that itself starts servers carry the marks of all of these.
    for pid in mark.processes().into_iter().filter(|pid| *pid != program.0.id()) {
        let environment = environment_of(pid);
        let marks = environment.split('\0').find_map(|variable| variable.strip_prefix("MCP_BINDGEN_STARTS="));
        assert!(marks.is_some_and(|marks| marks.starts_with("outer:") && marks.len() == 38), "{marks:?}");
    }
    drop(program);
    mark.gone_within(Duration::from_secs(20)).await;
}
