//! `doctor`, `serve`, `completions` and `man`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::common::Run;
use crate::session::Session;

#[test]
fn doctor_matches_its_golden() {
    let mut session = Session::new(
        r#"
        [servers.desk]
        command = "SERVER"
        env = { LEVEL = "${DOCTOR_LEVEL:-debug}" }
        [servers.gone]
        command = "no-such-program"
        env = { TOKEN = "${DOCTOR_TOKEN}", PATH = "/nowhere" }
        [servers.package]
        npm = "package"
        "#,
    );
    // Only what is said of the machine that is made here can be golden: no program is found, and no proxy is there.
    session.set("PATH", "/nowhere");
    session.ended("sync desk").exits_with(0);
    session.runs(&[(0, "doctor desk"), (0, "doctor desk --format json"), (0, "doctor desk --connect")]);
    session.set("HTTPS_PROXY", "http://127.0.0.1:1");
    session.run("doctor desk").exits_with(0);
    session.set("HTTPS_PROXY", "");
    session.runs(&[
        (1, "doctor gone package"),
        (1, "doctor gone --format json"),
        (1, "doctor dest"),
        (1, "doctor dest --format json"),
    ]);
    session.matches("doctor");
}

#[test]
fn serve_matches_its_golden() {
    let mut session = Session::new("[servers.desk]\ncommand = \"SERVER\"\n");
    session.run("serve").exits_with(0);
    over_http(&mut session, "serve --http 0");
    over_http(&mut session, "serve --http 0 --format json");
    session.runs(&[
        (1, "serve dest"),
        (1, "serve --http 0 dest --format json"),
        (2, "serve --http here"),
        (2, "serve --http 0.0.0.0:0"),
        (2, "serve --http 0.0.0.0:0 --public"),
        (2, "serve --http 0 --bearer-env NOT_SET"),
        (2, "serve --bearer-env NOT_SET"),
    ]);
    session.matches("serve");
}

/// Runs it until it says that it serves, and ends it.
fn over_http(session: &mut Session, line: &str) {
    let mut child = session
        .command()
        .args(line.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.ends_with("/mcp\n") && !said.ends_with("}\n") {
        assert!(stdout.read_line(&mut said).unwrap() > 0, "it ended: {said}");
    }
    let sent = Command::new("kill").arg(child.id().to_string()).status().expect("kill is there");
    assert!(sent.success());
    stdout.read_to_string(&mut said).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    let code = child.wait().unwrap().code();
    // The system chooses the port.
    let at = said.find("127.0.0.1:").expect("an address") + "127.0.0.1:".len();
    let port: String = said[at..].chars().take_while(char::is_ascii_digit).collect();
    let run = Run { code, stdout: said.replace(&port, "[PORT]"), stderr: stderr.replace(&port, "[PORT]") };
    session.note(line, &run);
}

#[test]
fn completions_match_their_golden() {
    let mut session = Session::empty();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        session.run(&format!("completions {shell}")).exits_with(0);
    }
    session.runs(&[(2, "completions bsh"), (2, "completions"), (2, "completions bash --format json")]);
    session.matches("completions");
}

#[test]
fn man_matches_its_golden() {
    let mut session = Session::empty();
    session.run("man pages").exits_with(0);
    session.show("pages/mcp-bindgen-diff.1");
    session.project.write("file", "");
    session.runs(&[(1, "man file"), (2, "man"), (2, "man pages --format json")]);
    session.matches("man");
}
