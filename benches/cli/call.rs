//! One call of one tool, from the start of the program to its end, beside the least that a client can do with the same
//! server: start it, greet it, call the tool, and have the answer. Where `MCPORTER_CLI` is the path of mcporter's program, it
//! makes the same call; where `FILESYSTEM_SERVER` is that of npm's server for files, that server is called too.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mcp_fixture_server::AS_SERVER;
use mcp_samples::Fallible;
use serde_json::{Value, json};

use crate::Bench;
use crate::figure::Figure;
use crate::projects::Project;
use crate::rounds::{Times, in_turn, median, timed};

/// The time that the program may add to the server's own time.
const BUDGET: Duration = Duration::from_millis(30);

/// A server, and a call of one of its tools.
struct Case {
    name: &'static str,
    command: OsString,
    arguments: Vec<String>,
    tool: &'static str,
    given: Value,
}

pub(crate) fn measure(bench: &Bench) -> Fallible<Vec<Figure>> {
    let project = bench.project("call")?;
    let mut cases = vec![Case {
        name: "fixture",
        command: std::env::current_exe()?.into_os_string(),
        arguments: vec![AS_SERVER.to_owned(), "0".to_owned()],
        tool: "add",
        given: json!({ "a": 2, "b": 3 }),
    }];
    if let Some(server) = std::env::var_os("FILESYSTEM_SERVER") {
        let server = Path::new(&server).canonicalize()?;
        let folder = project.folder().canonicalize()?.join("files");
        project.write("files/hello.txt", "hello\n")?;
        let [server, files] = [&server, &folder].map(|path| path.to_string_lossy().into_owned());
        cases.push(Case {
            name: "filesystem",
            command: "node".into(),
            given: json!({ "path": format!("{files}/hello.txt") }),
            arguments: vec![server, files],
            tool: "read_text_file",
        });
    }
    let config: String = cases.iter().map(Case::in_toml).collect();
    project.write("mcp.toml", &config)?;
    let servers: serde_json::Map<String, Value> =
        cases.iter().map(|case| (case.name.to_owned(), case.in_json())).collect();
    project.write("config/mcporter.json", &json!({ "mcpServers": servers, "imports": [] }).to_string())?;
    project.run(&["sync"], &[0])?;
    let mut figures = Vec::new();
    for case in &cases {
        figures.extend(case.measure(bench, &project)?);
    }
    Ok(figures)
}

impl Case {
    fn in_toml(&self) -> String {
        format!("[servers.{}]\ncommand = {:?}\nargs = {:?}\n\n", self.name, self.command, self.arguments)
    }

    fn in_json(&self) -> Value {
        json!({ "command": self.command.to_string_lossy(), "args": self.arguments })
    }

    fn measure(&self, bench: &Bench, project: &Project) -> Fallible<Vec<Figure>> {
        let given = self.given.to_string();
        let arguments = ["call", self.name, self.tool, "--args", given.as_str()];
        let mut gone = Times::new();
        let mut ours = || project.run(&arguments, &[0]);
        let mut least = || {
            let (answered, ended) = self.least(project.folder())?;
            gone.push(ended);
            Ok(answered)
        };
        let rounds = bench.rounds(40);
        let mut figures = Vec::new();
        let (ours, least) = match std::env::var_os("MCPORTER_CLI") {
            None => {
                let [ours, least] = in_turn(rounds, [&mut ours, &mut least])?;
                (ours, least)
            }
            Some(mcporter) => {
                let mcporter = Path::new(&mcporter).canonicalize()?;
                let tool = format!("{}.{}", self.name, self.tool);
                let mut theirs = || {
                    let mut command = Command::new("node");
                    command.arg(&mcporter).args(["call", &tool, "--args", &given]).current_dir(project.folder());
                    timed(&mut command, &[0])
                };
                let [ours, least, theirs] = in_turn(rounds, [&mut ours, &mut least, &mut theirs])?;
                figures.push(
                    Figure::told(&format!("mcporter call, {}, beyond the server", self.name), beyond(&theirs, &least))
                        .beside(format!("median of {rounds}: {:.1?}", median(&theirs))),
                );
                (ours, least)
            }
        };
        let beside = format!(
            "median of {rounds}: {:.1?}; the server alone answers in {:.1?}, and is gone in {:.1?}",
            median(&ours),
            median(&least),
            median(&gone)
        );
        let name = format!("call, {}, beyond the server", self.name);
        figures.insert(0, Figure::time(&name, beyond(&ours, &least), BUDGET).beside(beside));
        Ok(figures)
    }

    /// How long it takes until the answer is there, and until the server is gone, with nothing but pipes.
    fn least(&self, folder: &Path) -> Fallible<(Duration, Duration)> {
        let begun = Instant::now();
        let mut server = Command::new(&self.command)
            .args(&self.arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(mut stdin), Some(stdout)) = (server.stdin.take(), server.stdout.take()) else {
            return Err("the server was started without its pipes".into());
        };
        let mut stdout = BufReader::new(stdout);
        let client = json!({ "name": "least", "version": "1" });
        let greeting = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        send(&mut stdin, &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting }))?;
        answer(&mut stdout, 1)?;
        send(&mut stdin, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        let params = json!({ "name": self.tool, "arguments": self.given });
        send(&mut stdin, &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }))?;
        let answered = answer(&mut stdout, 2)?;
        let took = begun.elapsed();
        drop(stdin);
        server.wait()?;
        if answered.pointer("/result/isError") == Some(&Value::Bool(true)) || answered.get("result").is_none() {
            return Err(format!("the server answered {answered}").into());
        }
        Ok((took, begun.elapsed()))
    }
}

fn send(stdin: &mut impl Write, message: &Value) -> Fallible<()> {
    stdin.write_all(format!("{message}\n").as_bytes())?;
    Ok(stdin.flush()?)
}

/// Reads until the answer to this request.
fn answer(stdout: &mut impl BufRead, id: u64) -> Fallible<Value> {
    let mut line = String::new();
    loop {
        line.clear();
        if stdout.read_line(&mut line)? == 0 {
            return Err("the server closed without an answer".into());
        }
        let message: Value = serde_json::from_str(&line)?;
        if message.get("id").and_then(Value::as_u64) == Some(id) {
            return Ok(message);
        }
    }
}

/// The median of how much longer one took than the other in the same round.
fn beyond(ours: &[Duration], least: &[Duration]) -> Duration {
    let differences: Times = ours.iter().zip(least).map(|(ours, least)| ours.saturating_sub(*least)).collect();
    median(&differences)
}
