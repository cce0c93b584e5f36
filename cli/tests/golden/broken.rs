//! A server in every broken state, beside what `sync`, `doctor` and `doctor --connect` print about it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::session::Session;

/// Programs that fail as servers do. What npm and uv print is theirs.
const PROGRAMS: [(&str, &str); 7] = [
    ("crash.sh", "echo 'cannot open /etc/app.toml with hunter2hunter2' >&2; exit 3"),
    ("silent.sh", "exit 1"),
    ("asks.sh", "echo 'Error: TRACKER_TOKEN environment variable is required' >&2; exit 1"),
    ("garbage.sh", "echo 'usage: tool [--json] FILE'; exit 0"),
    ("hang.sh", "while read -r line; do :; done"),
    (
        "bin/npx",
        "echo 'npm error code E404' >&2\necho \"npm error 404 Not Found - GET https://registry.npmjs.org/$2\" >&2; exit 1",
    ),
    (
        "bin/uvx",
        "echo 'error: Failed to fetch: `https://pypi.org/simple/tool/`' >&2\n\
         echo '  Caused by: invalid peer certificate: UnknownIssuer' >&2; exit 2",
    ),
];

/// A listener that answers every request with this status.
fn refusing(status: &'static str, body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 8192]);
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

#[test]
fn broken_servers_match_their_golden() {
    let mut session = Session::empty();
    let mut config = String::new();
    let mut states = vec!["program", "package", "variable"];
    config.push_str("[servers.program]\ncommand = \"no-such-program\"\n");
    config.push_str("[servers.package]\nnpm = \"no-such-package\"\n");
    config.push_str("[servers.certificate]\nuvx = \"tool\"\n");
    config.push_str("[servers.variable]\ncommand = \"/bin/sh\"\nenv = { TOKEN = \"${TOOL_TOKEN}\" }\n");
    for (file, script) in PROGRAMS {
        if let Some(name) = file.strip_suffix(".sh") {
            session.project.write(file, script);
            config.push_str(&format!("[servers.{name}]\ncommand = \"/bin/sh\"\nargs = [\"{file}\"]\n"));
            states.push(name);
        } else {
            // Written by another process: a program that is open for writing anywhere cannot be run.
            session.project.write(&format!("{file}.txt"), &format!("#!/bin/sh\n{script}\n"));
            session.project.shell(&format!("cp {file}.txt {file} && chmod +x {file}")).exits_with(0);
        }
    }
    config.push_str("connect_timeout = \"300ms\"\n[servers.crash.env]\nKEY = \"${CRASH_KEY}\"\n");
    // A port that was free may be another test's by the time it is tried.
    let closed = SocketAddr::from(([127, 0, 0, 1], 1));
    session.hide("[REFUSED]", &TcpStream::connect(closed).unwrap_err().to_string());
    let addresses = [
        ("refused", closed, "[CLOSED]", ""),
        ("unauthorized", refusing("401 Unauthorized", ""), "[UNAUTHORIZED]", ""),
        (
            "token",
            refusing("401 Unauthorized", ""),
            "[TOKEN]",
            "headers = { Authorization = \"Bearer ${CRASH_KEY}\" }\n",
        ),
        ("path", refusing("404 Not Found", "{\"error\":\"Not Found\"}"), "[PATH]", ""),
        ("failing", refusing("503 Service Unavailable", "later"), "[FAILING]", ""),
        ("page", refusing("200 OK", "<html>"), "[PAGE]", ""),
    ];
    for (name, address, shown, headers) in addresses {
        config.push_str(&format!("[servers.{name}]\nurl = \"http://{address}/mcp\"\n{headers}"));
        session.hide(shown, &address.to_string());
        states.push(name);
    }
    states.push("certificate");
    session.project.write("mcp.toml", &config);
    let path = format!("{}:/nowhere", session.project.path("bin").to_str().unwrap());
    session.set("PATH", &path);
    session.set("CRASH_KEY", "hunter2hunter2");
    for name in states {
        let code = if name == "variable" { 1 } else { 5 };
        session.run(&format!("sync {name}")).exits_with(code);
        let looked = session.run(&format!("doctor {name}")).exits_with(1);
        assert!(!looked.stderr.contains("mcp-bindgen sync"), "{}", looked.stderr);
        let connected = session.run(&format!("doctor --connect {name}")).exits_with(1);
        assert!(!format!("{}{}", looked.stderr, connected.stderr).contains("hunter2"), "{}", connected.stderr);
    }
    session.matches("broken");
}

#[test]
fn warning_of_several_servers_is_printed_once() {
    let servers = ["one", "two", "three", "four", "five", "six"];
    let config: String = servers.iter().map(|name| format!("[servers.{name}]\ncommand = \"SERVER\"\n")).collect();
    let mut session = Session::new(&config);
    session.set("HTTPS_PROXY", "http://127.0.0.1:1");
    let run = session.ended("doctor");
    assert_eq!(run.stderr.matches("warning: ").count(), 1, "{}", run.stderr);
    let run = run.says("warning: five, four, one, six, three, two: environment: a variable is set here");
    run.says("6 errors, 1 warning");
    // JSON has a finding of each server.
    let report = session.ended("doctor --format json").json();
    let of_environment =
        report["findings"].as_array().unwrap().iter().filter(|finding| finding["subject"] == "environment");
    assert_eq!(of_environment.count(), 6);
}

#[test]
fn configuration_warning_is_printed_once_by_every_command() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let session =
        Session::new(&format!("[servers.desk]\ncommand = \"SERVER\"\nenv = {{ API_TOKEN = \"{secret}\" }}\n"));
    session.project.write("sum.md", "[[@desk_add:s|a=1, b=2]]\n");
    for line in [
        "sync",
        "check",
        "check --offline",
        "diff desk live:desk",
        "list",
        "doctor",
        "doctor --connect",
        "call desk add --a 1 --b 2",
        "resource list desk",
        "prompt list desk",
        "run sum.md",
        "expand desk",
        "serve",
    ] {
        let run = session.ended(line).exits_with(0);
        let count = run.stderr.matches("looks like a secret in plain text").count();
        assert_eq!(count, 1, "{line}: {}", run.stderr);
    }
}
