//! `call`, `resource`, `prompt`, `learn` and `run`.

use crate::session::Session;

const CONFIG: &str = r#"
[servers.desk]
command = "SERVER"
approve = ["save_*"]
[servers.offers]
command = "SERVER"
args = ["--offers"]
[servers.gone]
command = "./no-such-program"
"#;

fn session() -> Session {
    let session = Session::new(CONFIG);
    session.ended("sync desk").exits_with(0);
    session
}

#[test]
fn call_matches_its_golden() {
    let mut session = session();
    session.run("call desk add --a 1 --b 2").exits_with(0);
    session.run("call desk add --a 1 --b 2 --format json").exits_with(0);
    session.run("call desk add --a 1 --b 2 --dry-run").exits_with(0);
    session.run("call desk add --dry-run --format json --args '{\"a\": 1, \"b\": 2}'").exits_with(0);
    session.run("call desk add --help").exits_with(0);
    session.run("call desk create_ticket --help").exits_with(0);
    session.run("call desk make_report").exits_with(0);
    session.run("call desk make_report -o out").exits_with(0);
    session.run("call desk always_fails --reason 'out of paper'").exits_with(3);
    session.run("call desk always_fails --reason 'out of paper' --format json").exits_with(3);
    session.run("call desk save_settings --settings:={}").exits_with(1);
    session.run("call desk save_settings --settings:={} --format json").exits_with(1);
    session.run("call desk add --a x").exits_with(2);
    session.run("call desk add --a x --format json").exits_with(2);
    session.run("call desk create_ticket --titel x --priority urgent").exits_with(2);
    session.run("call desk add --args '[1]'").exits_with(2);
    session.run("call desk ad").exits_with(1);
    session.run("call dest add --format json").exits_with(1);
    session.run("call gone add").exits_with(5);
    session.run("call gone add --format json").exits_with(5);
    session.matches("call");
}

#[test]
fn resource_matches_its_golden() {
    let mut session = session();
    session.run("resource list offers").exits_with(0);
    session.run("resource list offers --format json").exits_with(0);
    session.run("resource list desk").exits_with(0);
    session.run("resource list gone").exits_with(5);
    session.run("resource list gone --format json").exits_with(5);
    session.run("resource read offers note:///hello").exits_with(0);
    session.run("resource read offers note:///hello --format json").exits_with(0);
    session.run("resource read offers bin:///x").exits_with(0);
    session.run("resource read offers bin:///x -o out").exits_with(0);
    session.run("resource read offers nota:///today").exits_with(1);
    session.run("resource read offers nota:///today --format json").exits_with(1);
    session.run("resource read offers").exits_with(2);
    session.matches("resource");
}

#[test]
fn prompt_matches_its_golden() {
    let mut session = session();
    session.run("prompt list offers").exits_with(0);
    session.run("prompt list offers --format json").exits_with(0);
    session.run("prompt list desk").exits_with(0);
    session.run("prompt list gone").exits_with(5);
    session.run("prompt list gone --format json").exits_with(5);
    session.run("prompt get offers greet --who Ann --tone warm").exits_with(0);
    session.run("prompt get offers greet --who Ann --format json").exits_with(0);
    session.run("prompt get offers greet --help").exits_with(0);
    session.run("prompt get offers plain").exits_with(0);
    session.run("prompt get offers greet --whom Ann").exits_with(2);
    session.run("prompt get offers greet --whom Ann --format json").exits_with(2);
    session.run("prompt get offers gret").exits_with(1);
    session.matches("prompt");
}

#[test]
fn learn_matches_its_golden() {
    let mut session = session();
    session.project.write("first.json", r#"{"total": 2, "labels": ["a"]}"#);
    session.project.write("second.json", r#"{"total": 3, "labels": [], "next": "b"}"#);
    session.run("learn desk make_report --from-file first.json --dry-run").exits_with(0);
    session.run("learn desk make_report --from-file first.json").exits_with(0);
    session.run("learn desk make_report --from-file second.json --format json").exits_with(0);
    session.run("learn desk make_report --from-file second.json").exits_with(0);
    session.show("mcp/desk.overrides.json");
    session.run("learn desk make_report --args {}").exits_with(1);
    session.run("learn desk add --from-file first.json").exits_with(1);
    session.run("learn desk add --from-file first.json --format json").exits_with(1);
    session.run("learn desk make_reports --from-file first.json").exits_with(1);
    session.run("learn desk make_report").exits_with(2);
    session.matches("learn");
}

#[test]
fn run_matches_its_golden() {
    let mut session = session();
    session.project.write("sum.md", "{{ who }}: [[@desk_add:s|a=1, b=n]]{{ s }}\n");
    session.project.write("wrong.md", "[[@desk_ad:s|a=1]]\n[[@desk_add:t|a=\"x\"]]\n");
    session.project.write("fails.md", "[[@desk_always_fails:s|reason=\"out of paper\"]]{{ s }}\n");
    session.run("run sum.md --check").exits_with(0);
    session.run("run sum.md --check --format json").exits_with(0);
    session.run("run sum.md --set who=Ann --set n:=2").exits_with(0);
    session.run("run sum.md --set who=Ann --set n:=2 --format json").exits_with(0);
    session.run("run sum.md --set who=Ann").exits_with(1);
    session.run("run sum.md --set who=Ann --format json").exits_with(1);
    session.run("run wrong.md --check").exits_with(1);
    session.run("run wrong.md --check --format json").exits_with(1);
    session.run("run fails.md").exits_with(3);
    session.run("run fails.md --format json").exits_with(3);
    session.run("run none.md").exits_with(1);
    session.run("run sum.md --check --yes").exits_with(2);
    session.matches("run");
}
