//! `auth`: with servers that ask for nothing. `.ci/oauth` has those that ask for OAuth.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::common::fixture_server;
use crate::session::Session;

#[test]
fn auth_matches_its_golden() {
    let mut server = Command::new(fixture_server())
        .args(["--http", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the fixture server starts");
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let url = url.trim();
    let keyed = "headers = { Authorization = \"Bearer ${TOKEN}\" }";
    let mut session = Session::new(&format!(
        "[servers.desk]\ncommand = \"SERVER\"\n[servers.open]\nurl = \"{url}\"\n[servers.keyed]\nurl = \"{url}\"\n{keyed}\n"
    ));
    session.hide("[URL]", url);
    session.runs(&[
        (0, "auth login open"),
        (0, "auth login open --format json"),
        (1, "auth login desk"),
        (1, "auth login keyed"),
        (1, "auth login opem --format json"),
        (0, "auth status"),
        (0, "auth status --format json"),
        (1, "auth status open"),
        (1, "auth status open --format json"),
        (0, "auth logout"),
        (0, "auth logout open"),
        (0, "auth logout --format json"),
        (1, "auth logout desk"),
        (1, "auth logout desk --format json"),
    ]);
    server.kill().unwrap();
    server.wait().unwrap();
    session.matches("auth");
}
