//! The commands around a proxy: the log of its calls, and tokens for its clients.

use crate::session::Session;

/// Two lines of a log, the second one after the first.
const LOG: &str = include_str!("calls.jsonl");

#[test]
fn log_matches_its_golden() {
    let mut session = Session::new("");
    session.project.write("calls.jsonl", LOG);
    session.runs(&[(0, "log verify calls.jsonl"), (0, "log verify calls.jsonl --format json")]);
    session.project.write("calls.jsonl", &LOG.replacen("\"add\"", "\"delete\"", 1));
    session.runs(&[
        (1, "log verify calls.jsonl"),
        (1, "log verify calls.jsonl --format json"),
        (1, "log verify missing.jsonl"),
    ]);
    session.matches("log");
}

#[test]
fn auth_token_matches_its_golden() {
    let mut session = Session::new("");
    let entry = format!("{{\"sha256\": \"{}\"}}", "0".repeat(64));
    session
        .project
        .write("tokens.json", &format!("{{\"format\": 1, \"tokens\": {{\"ann\": {entry}, \"bob\": {entry}}}}}"));
    session.run("auth token ann --tokens tokens.json --revoke").exits_with(1);
    session.project.write("tokens.json", &format!("{{\"format\": 1, \"tokens\": {{\"ann\": {entry}}}}}"));
    session.runs(&[
        (1, "auth token bob --tokens tokens.json --revoke"),
        (1, "auth token bob --tokens tokens.json --revoke --format json"),
        (0, "auth token ann --tokens tokens.json --revoke"),
    ]);
    session.project.write("tokens.json", &format!("{{\"format\": 1, \"tokens\": {{\"ann\": {entry}}}}}"));
    session.runs(&[
        (0, "auth token ann --tokens tokens.json --revoke --format json"),
        (2, "auth token ann --tokens tokens.json --revoke --group build"),
    ]);
    session.matches("auth-token");
}
