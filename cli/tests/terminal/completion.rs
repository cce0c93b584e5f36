//! Completion in a bash that somebody sits at.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::common::Project;
use crate::screen::Terminal;

#[test]
fn bash_completion_quotes_values_with_spaces() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.s]\ncommand = \"./no-such-program\"\n");
    let properties = json!({ "city": { "enum": ["New York", "R&D (all)", "Oslo"] } });
    let tool = json!({ "name": "t", "inputSchema": { "type": "object", "properties": properties } });
    project.write("mcp/s.json", &json!({ "tools": [tool] }).to_string());
    let line = project.run(&["completions", "bash"]).exits_with(0).stdout;
    let folder = Path::new(env!("CARGO_BIN_EXE_mcp-bindgen")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    project.write("rc", &format!("PS1='ready> '\nbind 'set enable-bracketed-paste off'\n{line}"));
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--rcfile", "rc", "-i"]).current_dir(project.path(""));
    bash.env("PATH", path).env("TERM", "dumb").env_remove("MCP_SERVERS").env("HISTFILE", "");
    let mut terminal = Terminal::of(bash, 200, [true; 3]);
    terminal.shows("ready>");
    for (typed, completed) in [
        ("--city New", r"--city New\ York "),
        (r"--city New\ Y", r"--city New\ York "),
        ("--city \"New Y", "--city \"New York\" "),
        ("--city 'R", "--city 'R&D (all)' "),
        ("--city=N", r"--city=New\ York "),
        ("--city R", r"--city R\&D\ \(all\) "),
        ("--city Os", "--city Oslo "),
    ] {
        terminal.types(&format!("mcp-bindgen call s t {typed}\t|"));
        let expected = format!("mcp-bindgen call s t {completed}|");
        terminal.shows(&expected).types("\u{15}");
    }
    terminal.types("exit\n");
    terminal.ends();
}
