//! `sync`, `check`, `diff`, `list` and `expand`.

use serde_json::{Value, json};

use crate::session::Session;

const CONFIG: &str = r#"
[servers.desk]
command = "SERVER"
[servers.gone]
command = "./no-such-program"
"#;

impl Session {
    /// Changes the tool `add` in the snapshot of `desk`, as if the server had offered another one before.
    fn doctor(&self, change: impl FnOnce(&mut Value)) {
        let mut snapshot: Value = serde_json::from_str(&self.project.read("mcp/desk.json")).unwrap();
        change(&mut snapshot["tools"][0]);
        self.project.write("mcp/desk.json", &format!("{snapshot:#}\n"));
    }
}

fn other(tool: &mut Value) {
    tool["description"] = json!("Adds.");
    tool["inputSchema"]["required"] = json!(["a"]);
}

#[test]
fn sync_matches_its_golden() {
    let mut session = Session::new(CONFIG);
    session.run("sync desk").exits_with(0);
    session.run("sync desk").exits_with(0);
    session.doctor(other);
    session.run("sync desk").exits_with(0);
    session.doctor(other);
    session.run("sync desk --format json").exits_with(0);
    session.run("sync desk --format json").exits_with(0);
    session.run("sync desk --quiet").exits_with(0);
    session.run("sync gone").exits_with(5);
    session.run("sync gone --format json").exits_with(5);
    session.run("sync dest").exits_with(1);
    session.run("sync dest --format json").exits_with(1);
    session.matches("sync");
}

#[test]
fn check_matches_its_golden() {
    let mut session = Session::new(CONFIG);
    session.run("check desk").exits_with(4);
    session.run("check desk --format json").exits_with(4);
    session.ended("sync desk").exits_with(0);
    session.run("check desk").exits_with(0);
    session.run("check desk --format json").exits_with(0);
    session.commit();
    session.doctor(other);
    for format in ["", " --quiet", " --format json", " --format markdown"] {
        session.run(&format!("check desk{format}")).exits_with(4);
    }
    session.set("GITHUB_ACTIONS", "true");
    session.run("check desk --format github").exits_with(4);
    session.set("GITHUB_ACTIONS", "");
    session.run("check gone").exits_with(5);
    session.run("check gone --format json").exits_with(5);
    session.run("check dest").exits_with(1);
    session.run("check dest --format json").exits_with(1);
    session.matches("check");
}

#[test]
fn offline_check_matches_its_golden() {
    let mut session = Session::new(CONFIG);
    session.ended("sync desk").exits_with(0);
    session.commit();
    session.run("check --offline desk").exits_with(0);
    session.run("check --offline desk --base main").exits_with(0);
    session.doctor(other);
    for format in ["", " --format json", " --format markdown", " --format github"] {
        session.run(&format!("check --offline --base main{format}")).exits_with(4);
    }
    session.project.write("mcp/desk.json", "{");
    for format in ["", " --format json", " --format markdown", " --format github"] {
        session.run(&format!("check --offline desk{format}")).exits_with(4);
    }
    session.project.write("mcp/desk.json", r#"{"format": 7, "tools": []}"#);
    session.run("check --offline desk").exits_with(1);
    session.run("check --offline desk --format json").exits_with(1);
    session.project.write("mcp/desk.json", r#"{"tools": []}"#);
    session.run("check --offline desk").exits_with(4);
    session.matches("check-offline");
}

#[test]
fn diff_matches_its_golden() {
    let mut session = Session::new(CONFIG);
    session.ended("sync desk").exits_with(0);
    session.commit();
    session.run("diff desk live:desk").exits_with(0);
    session.run("diff desk live:desk --format json").exits_with(0);
    session.doctor(other);
    session.run("diff desk@main desk").exits_with(4);
    session.run("diff desk live:desk").exits_with(4);
    session.run("diff mcp/desk.json desk@main --format json").exits_with(4);
    session.run("diff desk dest").exits_with(1);
    session.run("diff desk@main~9 desk").exits_with(1);
    session.run("diff desk none.json --format json").exits_with(1);
    session.run("diff live:gone desk").exits_with(5);
    session.run("diff live:gone desk --format json").exits_with(5);
    session.run("diff desk").exits_with(2);
    session.matches("diff");
}

#[test]
fn list_matches_its_golden() {
    let mut session = Session::new("[servers.desk]\ncommand = \"SERVER\"\napprove = [\"save_*\"]\n");
    session.run("list").exits_with(1);
    session.run("list --format json").exits_with(1);
    session.ended("sync desk").exits_with(0);
    session.run("list").exits_with(0);
    session.run("list --shapes").exits_with(0);
    session.run("list --shapes --format json").exits_with(0);
    session.run("list -o page.html --format html").exits_with(0);
    session.run("list dest").exits_with(1);
    session.run("list dest --format json").exits_with(1);
    session.run("list --snapshot none.json").exits_with(1);
    session.matches("list-command");
}

const ONE_TOOL: &str =
    r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object", "properties": {"n": {"type": "text"}}}}]}"#;

#[test]
fn expand_matches_its_golden() {
    let mut session = Session::new("[servers.one]\ncommand = \"./one\"\n");
    session.project.write("mcp/one.json", ONE_TOOL);
    session.run("expand one").exits_with(0);
    session.run("expand one --format json --quiet").exits_with(0);
    session.run("expand one -o src/one.rs --quiet").exits_with(0);
    session.run("expand one -o src/one.rs").exits_with(0);
    session.run("expand one -o src/one.rs --check --quiet --format json").exits_with(0);
    let written = session.project.read("src/one.rs");
    session.project.write("src/one.rs", &written.replace("The MCP server", "A server"));
    session.run("expand one -o src/one.rs --check").exits_with(4);
    session.run("expand one -o src/one.rs --check --format json").exits_with(4);
    session.run("expand -o src --format json").exits_with(0);
    session.project.write("src/ours.rs", "fn main() {}\n");
    session.run("expand one -o src/ours.rs --quiet").exits_with(1);
    session.run("expand one -o src/ours.rs --quiet --format json").exits_with(1);
    session.run("expand").exits_with(2);
    session.run("expand ome").exits_with(1);
    session.run("expand one --check").exits_with(2);
    session.matches("expand");
}
