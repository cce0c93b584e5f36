//! `doctor`: each thing that can be in the way, with what mends it.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use common::Project;
use serde_json::json;

/// An address without a listener. A port that was free may be another test's by the time it is tried.
const CLOSED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

#[test]
fn problems_are_reported_with_their_remedy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = CLOSED;
    let project = Project::new(&format!(
        r#"
        [servers.fine]
        command = "SERVER"
        env = {{ LEVEL = "${{DOCTOR_LEVEL:-debug}}" }}
        [servers.node]
        command = "npx-that-is-not-there"
        env = {{ TOKEN = "${{DOCTOR_TOKEN}}", PATH = "/nowhere" }}
        [servers.package]
        npm = "pkg"
        env = {{ PATH = "/nowhere" }}
        [servers.open]
        url = "http://{}/mcp"
        [servers.shut]
        url = "http://{closed}/mcp"
        "#,
        listener.local_addr().unwrap()
    ));
    project.write("Cargo.toml", "[package]\nname = \"app\"\n");
    project.write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"mcp-bindgen\"\nversion = \"9.1.0\"\n");
    project.write("src/main.rs", "mcp_bindgen::mcp_tools!(\"fin\");\nmcp_bindgen::mcp_tools!(\"fine\");\n");
    project.write("mcp/fine.json", r#"{"tools":[]}"#);
    project.write("mcp/open.json", r#"{"format":7,"tools":[]}"#);
    let run = |arguments: &[&str]| {
        let mut command = project.command();
        command.args(arguments);
        for name in [
            "HTTPS_PROXY",
            "https_proxy",
            "HTTP_PROXY",
            "http_proxy",
            "ALL_PROXY",
            "NO_PROXY",
            "UV_INDEX_URL",
            "npm_config_registry",
            "DOCTOR_TOKEN",
        ] {
            command.env_remove(name);
        }
        command.envs([("NODE_EXTRA_CA_CERTS", "/certificates.pem"), ("VOLTA_HOME", "/volta")]).output().unwrap()
    };
    let all = run(&["doctor"]);
    let said = String::from_utf8(all.stderr).unwrap();
    assert_eq!(all.status.code(), Some(1), "{said}");
    for line in [
        "error: versions: the crate is built with `mcp-bindgen` 9.1.0",
        "error: bindings: src/main.rs binds `fin`, which is not a configured server\n  = help: did you mean `fine`?",
        "        Fine fine: variables: `DOCTOR_LEVEL` is not set, and has a default",
        "warning: fine, node, package: environment: a variable is set here and not passed to the server\n  = help: to pass them: `inherit_env = [\"VOLTA_HOME\"]`",
        "        Fine fine: snapshot: mcp/fine.json",
        "error: node: variables: `DOCTOR_TOKEN` is not set\n  = help: `export DOCTOR_TOKEN=..`",
        "error: node: program: `npx-that-is-not-there` was not found in /nowhere\n  = help: install it",
        "error: package: program: `npx` was not found in /nowhere\n  = help: install Node.js",
        "error: node: snapshot: mcp/node.json not found\n  = help: run `mcp-bindgen doctor --connect node` to see",
        "        Fine open: address: 127.0.0.1:",
        "error: open: snapshot: mcp/open.json was written by a newer mcp-bindgen",
        "error: shut: address: failed to reach 127.0.0.1:",
    ] {
        assert!(said.contains(line), "not said: {line}\n{said}");
    }
    let fine = run(&["doctor", "fine", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&fine.stdout).unwrap();
    assert_eq!(report["format"], 1);
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["server"] == "fine" || finding["server"] == json!(null)), "{report}");
    assert!(findings.iter().any(|finding| finding["subject"] == "program" && finding["level"] == "fine"), "{report}");
}

/// A listener that answers whoever connects, in plain HTTP.
fn answering(status: &'static str) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    address
}

/// Returns the output of `doctor` with these variables, without proxy variables of the machine.
fn looked(project: &Project, variables: &[(&str, &str)]) -> String {
    let mut command = project.command();
    for name in ["HTTP", "HTTPS", "ALL", "NO"] {
        command.env_remove(format!("{name}_PROXY")).env_remove(format!("{}_proxy", name.to_lowercase()));
    }
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUEST_METHOD", "DOCTOR_UNSET"] {
        command.env_remove(name);
    }
    let run = command.arg("doctor").envs(variables.iter().copied()).output().unwrap();
    String::from_utf8(run.stderr).unwrap()
}

#[track_caller]
fn says(said: &str, lines: &[&str]) {
    for line in lines {
        assert!(said.contains(line), "not said: {line}\n{said}");
    }
}

#[test]
fn addresses_are_checked_by_the_rules_of_the_client() {
    let open = answering("200 OK");
    let shut = CLOSED;
    let urls = [
        ("plain", format!("http://{open}/mcp?token=${{DOCTOR_UNSET}}")),
        ("port", format!("http://127.0.0.1:${{DOCTOR_PORT:-{}}}/mcp", shut.port())),
        ("unset", "http://${DOCTOR_UNSET}/mcp".to_owned()),
        ("tls", format!("https://{open}/mcp")),
    ];
    let project = Project::new(&urls.map(|(name, url)| format!("[servers.{name}]\nurl = \"{url}\"\n")).concat());
    let fine = format!("Fine plain: address: {open}\n");
    let direct = looked(&project, &[]);
    says(
        &direct,
        &[
            &fine,
            &format!("error: port: address: failed to reach {shut}"),
            "warning: unset: address: not checked",
            &format!("error: tls: address: failed to reach {open}"),
        ],
    );
    let open_port = open.port().to_string();
    says(&looked(&project, &[("DOCTOR_PORT", &open_port)]), &["Fine port: address: 127.0.0.1:${DOCTOR_PORT}\n"]);
    // A proxy is for the scheme that it is named for, and has to be there.
    let (proxy, dead) = (format!("http://me:hunter22@{open}"), format!("http://{shut}"));
    let by_proxy = format!("Fine plain: address: {open}, through the proxy {open}\n");
    says(
        &looked(&project, &[("HTTPS_PROXY", &proxy)]),
        &[&fine, &format!("tls: address: failed to reach {open}, through the proxy {open}")],
    );
    says(&looked(&project, &[("all_proxy", &proxy)]), &[&by_proxy]);
    says(&looked(&project, &[("HTTP_PROXY", &proxy), ("NO_PROXY", "127.0.0.1")]), &[&fine]);
    says(
        &looked(&project, &[("HTTP_PROXY", &dead)]),
        &[&format!("error: plain: address: failed to reach {open}, through the proxy {shut}"), "error: tls: address: "],
    );
    let certificates = looked(&project, &[("SSL_CERT_FILE", "/nonexistent")]);
    says(&certificates, &[&fine, &format!("error: tls: address: failed to reach {open}")]);
    for said in [looked(&project, &[("http_proxy", &proxy)]), direct] {
        assert!(!said.contains("hunter22"), "{said}");
    }
}

#[test]
fn programs_are_searched_with_expanded_placeholders() {
    let server = common::fixture_server();
    let (folder, name) = (server.parent().unwrap().to_str().unwrap(), server.file_name().unwrap().to_str().unwrap());
    let project = Project::new(&format!(
        "[servers.by_path]\ncommand = \"${{DOCTOR_FOLDER}}/{name}\"\ncwd = \"${{DOCTOR_FOLDER}}\"\n\
         [servers.by_name]\ncommand = \"{name}\"\nenv = {{ PATH = \"${{DOCTOR_FOLDER}}:/bin\" }}\n\
         [servers.gone]\ncommand = \"gone\"\nenv = {{ PATH = \"${{DOCTOR_FOLDER}}:/nowhere\" }}\n\
         [servers.unset]\ncommand = \"${{DOCTOR_UNSET}}/x\"\n"
    ));
    let said = looked(&project, &[("DOCTOR_FOLDER", folder)]);
    says(
        &said,
        &[
            &format!("Fine by_name, by_path: program: ${{DOCTOR_FOLDER}}/{name}\n"),
            "error: gone: program: `gone` was not found in ${DOCTOR_FOLDER}, /nowhere\n",
            "warning: unset: program: not checked",
        ],
    );
    assert!(!said.contains(folder), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn unavailable_isolation_is_an_error() {
    let project = Project::new(
        "[servers.any]\ncommand = \"SERVER\"\nisolation = { network = \"none\" }\n\
         [servers.own]\ncommand = \"SERVER\"\nisolation = { write = [\"/\"] }\n\
         [servers.open]\ncommand = \"SERVER\"\nisolation = { write = [\"${DOCTOR_UNSET}\"] }\n",
    );
    project.write_program("bin/bwrap", "exit 1");
    let said = looked(&project, &[("PATH", project.path("bin").to_str().unwrap())]);
    says(&said, &["warning: open: isolation: not checked"]);
    // The one on PATH is not looked at, whether the system has one or not.
    let installed = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
    if installed.iter().any(|path| std::path::Path::new(path).exists()) {
        says(&said, &["error: own: isolation: its `isolation` cannot use", "use a smaller folder"]);
    } else {
        says(
            &said,
            &["error: any, own: isolation: its `isolation` requires bubblewrap, and `bwrap` was not found in /usr/bin"],
        );
    }
    assert!(!said.contains(project.path("bin/bwrap").to_str().unwrap()), "{said}");
}

#[test]
fn macro_calls_are_found_in_the_sources_of_the_workspace() {
    let project = Project::new("[servers.fine]\ncommand = \"SERVER\"\n");
    project.write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/out\"]\n[package]\nname = \"app\"\n",
    );
    project.write("src/lib.rs", "/* mcp_tools!(\"commented\") */ const A: &str = r#\"mcp_tools!(\"in_string\")\"#;");
    project.write("build.rs", "fn main() { mcp_bindgen_codegen::build_script::Builder::new().server(\"wrong_1\"); }");
    for (member, name) in [("one", "wrong_2"), ("out", "other_1"), ("own", "other_2")] {
        project.write(&format!("crates/{member}/Cargo.toml"), "[package]\nname = \"m\"\n");
        project.write(&format!("crates/{member}/src/lib.rs"), &format!("mcp_tools!(\"{name}\");"));
    }
    project.write("crates/own/mcp.toml", "");
    let said = looked(&project, &[]);
    says(
        &said,
        &["error: bindings: build.rs binds `wrong_1`", "error: bindings: crates/one/src/lib.rs binds `wrong_2`"],
    );
    assert_eq!(said.matches("error: bindings").count(), 2, "{said}");
}

#[test]
fn patterns_without_an_effect_are_reported() {
    let project = Project::new(
        "[servers.gh]\ncommand = \"SERVER\"\ntools = [\"ad\", \"*\"]\nexclude = [\"delte_*\"]\napprove = [\"merg_*\"]\n\
         prompts = [\"gret\"]\n\n[[policy]]\ntools = [\"gh/pussh\"]\nthen = \"deny\"\n",
    );
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let tools = ["add", "delete_all", "merge", "push"].map(tool);
    project.write("mcp/gh.json", &json!({ "tools": tools, "prompts": [{ "name": "greet" }] }).to_string());
    let said = project.run(&["doctor"]).exits_with(1).stderr;
    says(
        &said,
        &[
            "Fine gh: snapshot: mcp/gh.json\n",
            "error: gh: configuration: no tool of server `gh` matches `ad` in `tools`\n --> mcp.toml:3:10\n  = help: did you mean `add`?\n",
            "error: gh: configuration: no tool of server `gh` matches `delte_*` in `exclude`\n --> mcp.toml:4:12\n",
            "error: gh: configuration: no tool of server `gh` matches `merg_*` in `approve`\n --> mcp.toml:5:12\n",
            "error: gh: configuration: in `prompts` of server `gh`: no prompt matches `gret`\n --> mcp.toml:6:12\n",
            "error: gh: configuration: no tool of server `gh` matches `pussh` in `policy`\n --> mcp.toml:9:10\n",
        ],
    );
}

#[test]
fn ignored_keys_of_host_files_are_reported() {
    let project = Project::empty();
    project.write(
        ".mcp.json",
        r#"{ "mcpServers": {
            "a": { "command": "sh", "disabled": true, "envFile": ".env", "timeout": 5, "oauth": { "clientId": "planted-1" } },
            "b": { "url": "http://127.0.0.1:9/", "headersHelper": "echo planted-2" },
            "c": { "command": "sh" }
        } }"#,
    );
    let report = project.run(&["doctor", "--format", "json"]).json();
    let told: Vec<String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["subject"] == "configuration")
        .map(|finding| {
            assert!(finding["help"].as_str().unwrap().contains("mcp-bindgen import --from .mcp.json"), "{finding}");
            format!("{}: {}", finding["server"].as_str().unwrap(), finding["text"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "a: it is disabled for other programs, but not here: `disabled` is true",
        "a: `timeout` is a number without a unit, and is ignored",
        "a: `envFile` was not imported",
        "a: `oauth` (with `clientId`) was not imported",
        "b: `headersHelper` was not imported",
    ];
    for text in expected {
        assert!(told.iter().any(|told| told.starts_with(text)), "{text}\n{told:#?}");
    }
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    assert!(!report.to_string().contains("planted"), "{report}");
}

#[test]
fn rejected_tokens_are_reported_with_their_headers() {
    let (refused, missing) = (answering("401 Unauthorized"), answering("501 Not Implemented"));
    let project = Project::new(&format!(
        r#"
        [servers.9x]
        url = "http://{refused}/mcp"
        [servers.key]
        url = "http://{refused}/mcp"
        headers = {{ X-Api-Key = "${{DOCTOR_KEY:-k}}" }}
        [servers.both]
        url = "http://{refused}/mcp"
        headers = {{ Authorization = "Bearer ${{DOCTOR_TOKEN:-t}}", X-Other = "${{DOCTOR_OTHER:-q}}" }}
        [servers.path]
        url = "http://{missing}/mcp"
        "#
    ));
    let said = project.run(&["doctor", "--connect"]).exits_with(1).stderr;
    says(
        &said,
        &[
            "headers = { Authorization = \"Bearer ${_9X_TOKEN}\" }",
            "key: connection: the server rejected the header `X-Api-Key`\n",
            "check that `${DOCTOR_KEY}` is a valid token",
            "check that `${DOCTOR_TOKEN}` is a valid token",
            "no MCP server answers at the path of `url` (HTTP 501)",
        ],
    );
}

#[test]
fn unset_inherited_variable_is_reported() {
    let script = "echo 'Error: DOCTOR_UNSET environment variable is required' >&2; exit 1";
    let project = Project::new(&format!(
        "[servers.a]\ncommand = \"sh\"\nargs = [\"-c\", \"{script}\"]\ninherit_env = [\"DOCTOR_UNSET\"]\n"
    ));
    let said = project.run(&["doctor", "--connect"]).exits_with(1).stderr;
    says(
        &said,
        &[
            "warning: a: variables: `DOCTOR_UNSET` of `inherit_env` is not set\n  = help: `export DOCTOR_UNSET=..`",
            "the server needs the environment variable `DOCTOR_UNSET`, which is not passed to it\n",
            "= help: set it: `export DOCTOR_UNSET=..`",
        ],
    );
}

#[test]
fn doctor_suggests_sync_for_a_responding_server() {
    let project = Project::new("[servers.desk]\ncommand = \"SERVER\"\n");
    let said = project.run(&["doctor", "--connect"]).exits_with(1).stderr;
    says(
        &said,
        &[
            "Fine desk: connection: the server is up and has ",
            "error: desk: snapshot: mcp/desk.json not found\n  = help: run `mcp-bindgen sync desk`\n",
        ],
    );
    project.run(&["sync"]).exits_with(0);
    project.run(&["doctor", "--connect"]).exits_with(0);
    // Connecting does not report the same finding again.
    let gone = Project::new("[servers.gone]\ncommand = \"./gone\"\n");
    let said = gone.run(&["doctor", "--connect"]).exits_with(1).stderr;
    assert_eq!(said.matches("error: ").count(), 2, "{said}");
    says(&said, &["error: gone: program: ", "/gone` does not exist, or is not executable", "once the server answers"]);
}

#[test]
#[ignore = "waits for a timeout"]
fn output_that_is_not_mcp_is_distinguished_from_silence() {
    let project = Project::new(
        "[servers.chatter]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"echo Welcome to tool; while read -r line; do :; done\"]\n\
         connect_timeout = \"2s\"\n",
    );
    let said = project.run(&["doctor", "--connect"]).exits_with(1).stderr;
    let message = "error: chatter: connection: the program writes something other than MCP to stdout\n  = note: no answer to `initialize` within 2s\n  lines on its stdout that are not JSON-RPC:\n    Welcome to tool\n  = help: start it as an MCP server";
    says(&said, &[message]);
}

#[test]
#[ignore = "makes a certificate"]
fn untrusted_certificate_is_reported() {
    let project = Project::empty();
    let made = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
                -addext subjectAltName=DNS:localhost";
    project.shell(made).exits_with(0);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = std::process::Command::new("openssl")
        .current_dir(project.path(""))
        .args(["s_server", "-quiet", "-www", "-key", "key.pem", "-cert", "cert.pem", "-accept", &port.to_string()])
        .spawn()
        .unwrap();
    let address = ("127.0.0.1", port);
    while std::net::TcpStream::connect(address).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    project.write("mcp.toml", &format!("[servers.tls]\nurl = \"https://localhost:{port}/mcp\"\n"));
    let (looked, synced) = (looked(&project, &[]), project.run(&["sync"]).exits_with(5).stderr);
    let connected = project.run(&["doctor", "--connect"]).exits_with(1).stderr;
    server.kill().unwrap();
    server.wait().unwrap();
    for said in [&looked, &connected] {
        says(said, &["error: tls: address: failed to reach localhost:", "  = help: set `ca` of the server"]);
        assert!(!said.contains("tls: connection"), "{said}");
    }
    says(&synced, &["certificate", "  = help: run `mcp-bindgen doctor --connect tls`"]);
}
