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
    session.run("auth login open").exits_with(0);
    session.run("auth login open --format json").exits_with(0);
    session.run("auth login desk").exits_with(1);
    session.run("auth login keyed").exits_with(1);
    session.run("auth login opem --format json").exits_with(1);
    session.run("auth status").exits_with(0);
    session.run("auth status --format json").exits_with(0);
    session.run("auth status open").exits_with(1);
    session.run("auth status open --format json").exits_with(1);
    session.run("auth logout").exits_with(0);
    session.run("auth logout open").exits_with(0);
    session.run("auth logout --format json").exits_with(0);
    session.run("auth logout desk").exits_with(1);
    session.run("auth logout desk --format json").exits_with(1);
    server.kill().unwrap();
    server.wait().unwrap();
    session.matches("auth");
}
