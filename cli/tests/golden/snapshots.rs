//! `sync`, `check`, `diff`, `list` and `expand`.

use serde_json::{Value, json};

use crate::session::{DESK_AND_GONE, Session};

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
    let mut session = Session::new(DESK_AND_GONE);
    session.runs(&[(0, "sync desk"), (0, "sync desk")]);
    session.doctor(other);
    session.run("sync desk").exits_with(0);
    session.doctor(other);
    session.runs(&[
        (0, "sync desk --format json"),
        (0, "sync desk --format json"),
        (0, "sync desk --quiet"),
        (5, "sync gone"),
        (5, "sync gone --format json"),
        (1, "sync dest"),
        (1, "sync dest --format json"),
    ]);
    session.matches("sync");
}

#[test]
fn check_matches_its_golden() {
    let mut session = Session::new(DESK_AND_GONE);
    session.runs(&[(4, "check desk"), (4, "check desk --format json")]);
    session.ended("sync desk").exits_with(0);
    session.runs(&[(0, "check desk"), (0, "check desk --format json")]);
    session.commit();
    session.doctor(other);
    for format in ["", " --quiet", " --format json", " --format markdown"] {
        session.run(&format!("check desk{format}")).exits_with(4);
    }
    session.set("GITHUB_ACTIONS", "true");
    session.run("check desk --format github").exits_with(4);
    session.set("GITHUB_ACTIONS", "");
    session.runs(&[
        (5, "check gone"),
        (5, "check gone --format json"),
        (1, "check dest"),
        (1, "check dest --format json"),
    ]);
    session.matches("check");
}

#[test]
fn offline_check_matches_its_golden() {
    let mut session = Session::new(DESK_AND_GONE);
    session.ended("sync desk").exits_with(0);
    session.commit();
    session.runs(&[(0, "check --offline desk"), (0, "check --offline desk --base main")]);
    session.doctor(other);
    for format in ["", " --format json", " --format markdown", " --format github"] {
        session.run(&format!("check --offline --base main{format}")).exits_with(4);
    }
    session.runs(&[
        (0, "check --offline desk --base main --deny breaking"),
        (4, "check --offline desk --base main --deny source"),
        (4, "check --offline desk --base main --deny source --quiet"),
    ]);
    session.project.write("mcp/desk.json", "{");
    for format in ["", " --format json", " --format markdown", " --format github"] {
        session.run(&format!("check --offline desk{format}")).exits_with(4);
    }
    session.project.write("mcp/desk.json", r#"{"format": 7, "tools": []}"#);
    session.runs(&[(1, "check --offline desk"), (1, "check --offline desk --format json")]);
    session.project.write("mcp/desk.json", r#"{"tools": []}"#);
    session.run("check --offline desk").exits_with(4);
    session.matches("check-offline");
}

#[test]
fn diff_matches_its_golden() {
    let mut session = Session::new(DESK_AND_GONE);
    session.ended("sync desk").exits_with(0);
    session.commit();
    session.runs(&[(0, "diff desk live:desk"), (0, "diff desk live:desk --format json")]);
    session.doctor(other);
    session.runs(&[
        (4, "diff desk@main desk"),
        (4, "diff desk live:desk"),
        (4, "diff mcp/desk.json desk@main --format json"),
        (1, "diff desk dest"),
        (1, "diff desk@main~9 desk"),
        (1, "diff desk none.json --format json"),
        (5, "diff live:gone desk"),
        (5, "diff live:gone desk --format json"),
        (2, "diff desk"),
    ]);
    session.matches("diff");
}

#[test]
fn list_matches_its_golden() {
    let mut session = Session::new("[servers.desk]\ncommand = \"SERVER\"\napprove = [\"save_*\"]\n");
    session.runs(&[(1, "list"), (1, "list --format json")]);
    session.ended("sync desk").exits_with(0);
    session.runs(&[
        (0, "list"),
        (0, "list --shapes"),
        (0, "list --shapes --format json"),
        (0, "list -o page.html --format html"),
        (1, "list dest"),
        (1, "list dest --format json"),
        (1, "list --snapshot none.json"),
    ]);
    session.matches("list-command");
}

const ONE_TOOL: &str =
    r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object", "properties": {"n": {"type": "text"}}}}]}"#;

#[test]
fn expand_matches_its_golden() {
    let mut session = Session::new("[servers.one]\ncommand = \"./one\"\n");
    session.project.write("mcp/one.json", ONE_TOOL);
    session.runs(&[
        (0, "expand one"),
        (0, "expand one --format json --quiet"),
        (0, "expand one -o src/one.rs --quiet"),
        (0, "expand one -o src/one.rs"),
        (0, "expand one -o src/one.rs --check --quiet --format json"),
    ]);
    let written = session.project.read("src/one.rs");
    session.project.write("src/one.rs", &written.replace("The MCP server", "A server"));
    session.runs(&[
        (4, "expand one -o src/one.rs --check"),
        (4, "expand one -o src/one.rs --check --format json"),
        (0, "expand -o src --format json"),
    ]);
    session.project.write("src/ours.rs", "fn main() {}\n");
    session.runs(&[
        (1, "expand one -o src/ours.rs --quiet"),
        (1, "expand one -o src/ours.rs --quiet --format json"),
        (2, "expand"),
        (1, "expand ome"),
        (2, "expand one --check"),
    ]);
    session.matches("expand");
}
