//! `call`, `resource`, `prompt`, `learn` and `run`.

use crate::session::{DESK_AND_GONE, Session};

fn session() -> Session {
    let offers =
        "approve = [\"save_*\"]\n[servers.offers]\ncommand = \"SERVER\"\nargs = [\"--offers\"]\n[servers.gone]";
    let session = Session::new(&DESK_AND_GONE.replace("[servers.gone]", offers));
    session.ended("sync desk").exits_with(0);
    session
}

#[test]
fn call_matches_its_golden() {
    let mut session = session();
    session.runs(&[
        (0, "call desk add --a 1 --b 2"),
        (0, "call desk add --a 1 --b 2 --format json"),
        (0, "call desk add --a 1 --b 2 --dry-run"),
        (0, "call desk add --dry-run --format json --args '{\"a\": 1, \"b\": 2}'"),
        (0, "call desk add --help"),
        (0, "call desk create_ticket --help"),
        (0, "call desk make_report"),
        (0, "call desk make_report -o out"),
        (3, "call desk always_fails --reason 'out of paper'"),
        (3, "call desk always_fails --reason 'out of paper' --format json"),
        (1, "call desk save_settings --settings:={}"),
        (1, "call desk save_settings --settings:={} --format json"),
        (2, "call desk add --a x"),
        (2, "call desk add --a x --format json"),
        (2, "call desk create_ticket --titel x --priority urgent"),
        (2, "call desk add --args '[1]'"),
        (1, "call desk ad"),
        (1, "call dest add --format json"),
        (5, "call gone add"),
        (5, "call gone add --format json"),
    ]);
    session.matches("call");
}

#[test]
fn resource_matches_its_golden() {
    let mut session = session();
    session.runs(&[
        (0, "resource list offers"),
        (0, "resource list offers --format json"),
        (0, "resource list desk"),
        (5, "resource list gone"),
        (5, "resource list gone --format json"),
        (0, "resource read offers note:///hello"),
        (0, "resource read offers note:///hello --format json"),
        (0, "resource read offers bin:///x"),
        (0, "resource read offers bin:///x -o out"),
        (1, "resource read offers nota:///today"),
        (1, "resource read offers nota:///today --format json"),
        (2, "resource read offers"),
    ]);
    session.matches("resource");
}

#[test]
fn prompt_matches_its_golden() {
    let mut session = session();
    session.runs(&[
        (0, "prompt list offers"),
        (0, "prompt list offers --format json"),
        (0, "prompt list desk"),
        (5, "prompt list gone"),
        (5, "prompt list gone --format json"),
        (0, "prompt get offers greet --who Ann --tone warm"),
        (0, "prompt get offers greet --who Ann --format json"),
        (0, "prompt get offers greet --help"),
        (0, "prompt get offers plain"),
        (2, "prompt get offers greet --whom Ann"),
        (2, "prompt get offers greet --whom Ann --format json"),
        (1, "prompt get offers gret"),
    ]);
    session.matches("prompt");
}

#[test]
fn learn_matches_its_golden() {
    let mut session = session();
    session.project.write("first.json", r#"{"total": 2, "labels": ["a"]}"#);
    session.project.write("second.json", r#"{"total": 3, "labels": [], "next": "b"}"#);
    session.runs(&[
        (0, "learn desk make_report --from-file first.json --dry-run"),
        (0, "learn desk make_report --from-file first.json"),
        (0, "learn desk make_report --from-file second.json --format json"),
        (0, "learn desk make_report --from-file second.json"),
    ]);
    session.show("mcp/desk.overrides.json");
    session.runs(&[
        (1, "learn desk make_report --args {}"),
        (1, "learn desk add --from-file first.json"),
        (1, "learn desk add --from-file first.json --format json"),
        (1, "learn desk make_reports --from-file first.json"),
        (2, "learn desk make_report"),
    ]);
    session.matches("learn");
}

#[test]
fn run_matches_its_golden() {
    let mut session = session();
    session.project.write("sum.md", "{{ who }}: [[@desk_add:s|a=1, b=n]]{{ s }}\n");
    session.project.write("wrong.md", "[[@desk_ad:s|a=1]]\n[[@desk_add:t|a=\"x\"]]\n");
    session.project.write("fails.md", "[[@desk_always_fails:s|reason=\"out of paper\"]]{{ s }}\n");
    session.runs(&[
        (0, "run sum.md --check"),
        (0, "run sum.md --check --format json"),
        (0, "run sum.md --set who=Ann --set n:=2"),
        (0, "run sum.md --set who=Ann --set n:=2 --format json"),
        (1, "run sum.md --set who=Ann"),
        (1, "run sum.md --set who=Ann --format json"),
        (1, "run wrong.md --check"),
        (1, "run wrong.md --check --format json"),
        (3, "run fails.md"),
        (3, "run fails.md --format json"),
        (1, "run none.md"),
        (2, "run sum.md --check --yes"),
    ]);
    session.matches("run");
}
