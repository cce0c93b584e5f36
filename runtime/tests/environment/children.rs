//! The variables that children get: servers, and the downloads before them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mcp_bindgen_runtime::Servers;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Mark, fixture_server, write_program};

const PASSWORD: &str = "hunter2-of-the-proxy";
const PROXY: (&str, &str) = ("HTTPS_PROXY", "http://somebody:hunter2-of-the-proxy@proxy.test:3128");
const INDEX: (&str, &str) = ("UV_DEFAULT_INDEX", "https://somebody:hunter2-of-the-proxy@index.test/simple");
const REGISTRY: (&str, &str) = ("npm_config_registry", "https://registry.test/");

/// A program that connects to the servers of `MCP_SERVERS`, and package managers that note what they are given.
struct Machine {
    folder: TempDir,
    mark: Mark,
}

impl Machine {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), mark: Mark::new() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A shell script that first notes its arguments and its environment.
    fn installs(&self, name: &str, script: &str) {
        let path = self.at(name);
        let note = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let note = self.at(&format!("{note}.ran"));
        let script = format!("#!/bin/sh\n{{ echo \"$0 $*\"; env; }} >>'{}'\n{script}\n", note.display());
        write_program(&path, script.as_bytes());
    }

    /// Package managers whose packages are a server that runs.
    fn has_package_managers(&self) {
        let server = format!("exec '{}'", fixture_server().display());
        self.installs("uv-cache/bin/time-server", &server);
        self.installs("npm-cache/node_modules/.bin/memory-server", &server);
        let package = self.at("npm-cache/node_modules/@some/memory");
        fs::create_dir_all(&package).expect("a folder");
        fs::write(package.join("package.json"), r#"{"bin": {"memory-server": "index.js"}}"#).expect("a file");
        let run = |folder: &str, start: &str| {
            let folder = self.at(folder);
            format!("PATH='{}':$PATH\n{start}", folder.display())
        };
        self.installs("bin/uvx", &run("uv-cache/bin", "[ \"$1\" = --from ] && shift 2\nexec \"$@\""));
        let npm = "[ \"$2\" = --package ] && exec sh -c \"$5\"\nexec memory-server";
        self.installs("bin/npx", &run("npm-cache/node_modules/.bin", npm));
    }

    /// The lines that a script noted.
    fn noted(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.at(&format!("{name}.ran"))).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Runs the program that connects to a server with these variables, and returns its output.
    fn connects(&self, server: &Value, variables: &[(&str, &str)]) -> String {
        let mut server = server.clone();
        server["env"]["FIXTURE_MARK"] = self.mark.value().into();
        let path = std::env::var("PATH").expect("PATH");
        let output = Command::new(std::env::current_exe().expect("the test has a path"))
            .args(["--exact", "children::client_connects", "--ignored", "--nocapture"])
            .env_clear()
            .env("PATH", format!("{}:{path}", self.at("bin").display()))
            .env("HOME", self.folder.path())
            .env("STARTED", self.at("started"))
            .env("MCP_SERVERS", json!({ "weather": server }).to_string())
            .envs(variables.iter().copied())
            .output()
            .expect("the test runs");
        assert!(output.status.success(), "{output:?}");
        // A killed process may be there for a moment.
        let patience = Instant::now() + Duration::from_secs(10);
        while !self.mark.processes().is_empty() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.mark.processes(), Vec::<u32>::new());
        let said = String::from_utf8(output.stdout).expect("text");
        assert!(!said.contains("hunter2"), "{said}");
        said
    }
}

fn has(lines: &[String], (name, value): (&str, &str)) -> bool {
    lines.contains(&format!("{name}={value}"))
}

#[test]
#[ignore = "the program that the other tests run"]
fn client_connects() {
    let Ok(servers) = Servers::from_env() else { return };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let Some(client) = servers.names().next().and_then(|name| servers.client(name).ok()) else { return };
        if std::env::var_os("GIVES_UP").is_some() {
            let started = std::env::var_os("STARTED").expect("a file");
            let connecting = client.connect();
            tokio::select! {
                outcome = connecting => println!("tried: {outcome:?}"),
                () = async { while !Path::new(&started).exists() { tokio::time::sleep(Duration::from_millis(5)).await } } => {}
            }
            client.close().await;
            return println!("gave up");
        }
        match client.connect().await {
            Ok(_) => println!("connected"),
            Err(error) => println!("{:?}: {error}", error.kind),
        }
        client.close().await;
    });
}

#[test]
fn certificate_variables_are_passed_to_servers_but_proxies_are_not() {
    let machine = Machine::new();
    machine.installs("bin/server", &format!("exec '{}'", fixture_server().display()));
    let certificates = [
        ("SSL_CERT_FILE", "/ca.pem"),
        ("SSL_CERT_DIR", "/certs"),
        ("NODE_EXTRA_CA_CERTS", "/more.pem"),
        ("REQUESTS_CA_BUNDLE", "/bundle.pem"),
    ];
    let folders = [("XDG_CONFIG_HOME", "/settings"), ("TZ", "Europe/Paris"), ("LC_ALL", "C.UTF-8")];
    let others = [PROXY, INDEX, REGISTRY, ("GITHUB_TOKEN", "abcdefgh")];
    let said = machine.connects(&json!({ "command": "server" }), &[&certificates[..], &folders, &others].concat());
    assert!(said.contains("connected"), "{said}");
    let got = machine.noted("server");
    assert!(certificates.iter().chain(&folders).all(|variable| has(&got, *variable)), "{got:?}");
    assert!(!others.iter().any(|variable| has(&got, *variable)), "{got:?}");
    // The configuration comes first.
    let own = json!({ "command": "server", "env": { "SSL_CERT_FILE": "/own.pem" } });
    machine.connects(&own, &certificates);
    assert!(has(&machine.noted("server"), ("SSL_CERT_FILE", "/own.pem")));
}

#[test]
fn proxy_and_index_variables_are_passed_only_to_the_download() {
    let variables = [PROXY, INDEX, REGISTRY, ("no_proxy", "localhost")];
    for (server, manager, program, read, unread) in [
        (json!({ "uvx": "time-server@1.2", "args": ["--zone", "UTC"] }), "uvx", "time-server", INDEX, REGISTRY),
        (json!({ "npm": "@some/memory", "args": ["--zone", "UTC"] }), "npx", "memory-server", REGISTRY, INDEX),
    ] {
        let machine = Machine::new();
        machine.has_package_managers();
        let said = machine.connects(&server, &variables);
        assert!(said.contains("connected"), "{said}");
        let got = machine.noted(manager);
        assert!([PROXY, read, ("no_proxy", "localhost")].iter().all(|variable| has(&got, *variable)), "{got:?}");
        assert!(!has(&got, unread), "{got:?}");
        let got = machine.noted(program);
        assert!(got.first().is_some_and(|line| line.ends_with(&format!("{program} --zone UTC"))), "{got:?}");
        assert!(!got.iter().any(|line| line.contains(PASSWORD) || line.contains("registry.test")), "{got:?}");
        assert!(!got.iter().any(|line| line.starts_with("no_proxy=")), "{got:?}");
        assert!(has(&got, ("FIXTURE_MARK", machine.mark.value())), "its own variables stay: {got:?}");
    }
}

#[test]
fn package_without_withheld_variables_starts_immediately() {
    for (server, variables) in [
        (json!({ "uvx": "time-server" }), &[REGISTRY, ("NO_PROXY", "localhost"), ("UV_DEFAULT_INDEX", "")][..]),
        (json!({ "uvx": "time-server", "inherit_env": ["HTTPS_PROXY"] }), &[PROXY]),
        (json!({ "command": "uvx", "args": ["--quiet", "time-server"] }), &[PROXY]),
    ] {
        let machine = Machine::new();
        machine.has_package_managers();
        machine.connects(&server, variables);
        let runs = machine.noted("uvx");
        assert_eq!(runs.iter().filter(|line| line.contains("/bin/uvx ")).count(), 1, "{server}: {runs:?}");
        assert!(!runs.iter().any(|line| line.contains("--from")), "{runs:?}");
    }
}

#[test]
fn package_with_unknown_program_is_started_offline() {
    let machine = Machine::new();
    machine.has_package_managers();
    machine.connects(&json!({ "uvx": "git+https://example.test/time-server" }), &[PROXY]);
    let runs = machine.noted("uvx").into_iter().filter(|line| line.contains("/bin/uvx ")).collect::<Vec<_>>();
    assert!(runs.len() >= 2 && runs[1].ends_with("uvx --offline git+https://example.test/time-server"), "{runs:?}");
}

#[test]
fn unknown_program_of_another_index_is_an_error_with_the_variable() {
    let machine = Machine::new();
    machine.has_package_managers();
    let said = machine.connects(&json!({ "uvx": "git+https://example.test/time-server" }), &[INDEX]);
    let next = format!("write `inherit_env = [\"{}\"]` in its configuration", INDEX.0);
    assert!(said.contains("Config: ") && said.contains(&next), "{said}");
    assert_eq!(machine.noted("uvx").iter().filter(|line| line.contains("/bin/uvx ")).count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn registry_login_is_redacted() {
    let machine = Machine::new();
    let script = "tr '\\0' '\\n' </proc/$$/environ | grep _auth >&2; echo 'E401 for hunter2-hunter2' >&2; exit 3";
    machine.installs("bin/npx", script);
    // `user:hunter2-hunter2`
    let login = ("npm_config_//registry.test/:_auth", "dXNlcjpodW50ZXIyLWh1bnRlcjI=");
    let token = ("npm_config_//other.test/:_authToken", "0f2a4c6e80hunter2");
    let said = machine.connects(&json!({ "npm": "memory" }), &[login, token]);
    assert!(said.contains("registry.test/:_auth=") && !said.contains(login.1), "{said}");
    assert!(said.contains("E401 for [redacted]"), "the password inside the login: {said}");
    assert!(said.contains("other.test/:_authToken=") && !said.contains(token.1), "{said}");
}

#[test]
fn failed_download_is_reported_without_passwords() {
    let machine = Machine::new();
    machine.installs("bin/uvx", "echo \"error: no route through $HTTPS_PROXY\" >&2; exit 2");
    let said = machine.connects(&json!({ "uvx": "time-server" }), &[PROXY]);
    assert!(said.contains("Spawn: "), "{said}");
    let next = "the download of `time-server` with `uvx` failed (exit status: 2); check `HTTPS_PROXY`, or run `uvx time-server` in a shell";
    assert!(said.contains(next), "{said}");
    assert!(said.contains("its last lines on stderr:\n    error: no route through http"), "{said}");
    assert_eq!(machine.noted("uvx").iter().filter(|line| line.contains("/bin/uvx ")).count(), 1);

    let said = machine.connects(&json!({ "npm": "memory" }), &[PROXY, ("PATH", "/nowhere")]);
    assert!(said.contains("failed to start `npx`: not found"), "{said}");
}

#[test]
fn download_stops_at_its_timeout_and_on_close() {
    let machine = Machine::new();
    machine.installs("bin/uvx", &format!("sleep 1000 & : >'{}'; wait", machine.at("started").display()));
    let server = json!({ "uvx": "time-server", "connect_timeout": "300ms" });
    let said = machine.connects(&server, &[PROXY]);
    assert!(said.contains("Timeout: "), "{said}");
    assert!(said.contains("the download of `time-server` with `uvx` was not complete within 300ms"), "{said}");

    fs::remove_file(machine.at("started")).expect("it began");
    let begun = Instant::now();
    let said = machine.connects(&json!({ "uvx": "time-server" }), &[PROXY, ("GIVES_UP", "1")]);
    assert!(said.contains("gave up") && begun.elapsed() < Duration::from_secs(20), "{said}");
}

#[test]
fn failed_server_error_lists_variables_not_passed() {
    let machine = Machine::new();
    let variables = [
        ("WEATHER_HOST", "one.test"),
        ("FORECAST_TOKEN", "abcdefgh"),
        ("OTHER_SETTING", "two"),
        ("WEATHER_`ODD`", "four"),
        ("MAPPED_TOKEN", "ijklmnop"),
        ("EXTRA_CERTS", "/three"),
    ];
    let fails = |script: &str| {
        let server = json!({ "command": "sh", "args": ["-c", script], "env": { "MAPPED": "${MAPPED_TOKEN}" } });
        machine.connects(&server, &variables)
    };
    let said = fails("echo 'OTHER_SETTING is missing' >&2; exit 1");
    assert!(said.contains("set here and not passed to the server: `OTHER_SETTING`, `WEATHER_HOST`\n"), "{said}");
    assert!(
        said.contains("write `inherit_env = [\"OTHER_SETTING\"]` or `env = { NAME = \"${OTHER_SETTING}\" }`"),
        "{said}"
    );
    let said = fails("echo 'no API key' >&2; exit 1");
    assert!(said.contains("not passed to the server: `WEATHER_HOST`, `FORECAST_TOKEN`\n"), "{said}");
    let said = fails("exit 1");
    assert!(said.contains("not passed to the server: `WEATHER_HOST`, `FORECAST_TOKEN`\n"), "{said}");
    let said = fails("echo 'getaddrinfo ENOTFOUND' >&2; exit 1");
    assert!(said.contains("not passed to the server: `WEATHER_HOST`\n"), "{said}");
    let said = fails("echo 'SyntaxError' >&2; exit 1");
    assert!(said.contains("not passed to the server: `WEATHER_HOST`\n") && !said.contains("abcdefgh"), "{said}");
    let many: Vec<(String, String)> = (0..9).map(|n| (format!("WEATHER_{n}"), "value".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let said = machine.connects(&json!({ "command": "false" }), &many);
    assert!(said.contains("`WEATHER_0`, `WEATHER_1`, `WEATHER_2`, `WEATHER_3` and 5 more\n"), "{said}");
}
