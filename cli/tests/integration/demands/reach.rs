//! Keys that say how a server is reached.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mcp_bindgen_agents::{HostedServers, Provider};
use mcp_bindgen_model::Config;
use mcp_bindgen_runtime::{CallError, ClientOptions, LocalSecrets};
use serde_json::json;

use super::{refusal, with_client};
use crate::common::{Project, fixture_server};

const SERVER: &str = "[servers.hub]\ncommand = \"SERVER\"\n";

/// The names of the tools of a server that is configured like this.
fn tools(project: &Project) -> Vec<String> {
    let snapshot = with_client(project, ClientOptions::new(), async |client| client.snapshot().await);
    let names = snapshot.unwrap().tools;
    names.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the outcome of one attempt that the server makes.
fn attempt(config: &str, what: &str, at: &str) -> Result<String, CallError> {
    let project = Project::new(&format!("{SERVER}args = [\"--attempts\"]\n{config}"));
    std::fs::create_dir(project.path("data")).unwrap();
    attempt_in(&project, what, at)
}

fn attempt_in(project: &Project, what: &str, at: &str) -> Result<String, CallError> {
    let arguments = json!({ "do": what, "at": at }).as_object().unwrap().clone();
    let result = with_client(project, ClientOptions::new(), async |client| client.call("attempt", arguments).await)?;
    if result.is_error { Err(CallError::Tool(Box::new(result))) } else { Ok(result.text().to_owned()) }
}

pub(crate) fn command() {
    assert!(tools(&Project::new(SERVER)).contains(&"add".to_owned()));
    assert!(refusal("[servers.hub]\n").contains("server `hub` has no transport"));
    assert!(refusal("[servers.hub]\ncommand = \"\"\n").contains("is empty"));
}

pub(crate) fn args() {
    let github = "create_issue".to_owned();
    assert!(tools(&Project::new(&format!("{SERVER}args = [\"--github\"]\n"))).contains(&github));
    assert!(!tools(&Project::new(SERVER)).contains(&github));
}

pub(crate) fn cwd() {
    assert!(attempt("cwd = \"data\"\n", "folder", "").unwrap().ends_with("/data"));
    let own = std::env::current_dir().unwrap();
    assert_eq!(attempt("", "folder", "").unwrap(), own.to_str().unwrap());
}

/// A package is started by the program that downloads it, here one that only says how it was asked.
fn package(key: &str, runner: &str, expected: &str) {
    let project = Project::empty();
    let server = fixture_server().display();
    project.write_program(
        &format!("bin/{runner}"),
        &format!("echo \"$@\" > '{}'\nexec {server}", project.path("asked").display()),
    );
    let path = project.path("bin");
    let config = format!(
        "[servers.hub]\n{key} = \"some-package\"\nargs = [\"more\"]\nenv = {{ PATH = \"{}\" }}\n",
        path.display()
    );
    project.write("mcp.toml", &config);
    assert!(tools(&project).contains(&"add".to_owned()));
    assert_eq!(project.read("asked").trim(), expected);
    assert!(refusal(&format!("{SERVER}{key} = \"x\"\n")).contains(&format!("has both `command` and `{key}`")));
}

pub(crate) fn npm() {
    package("npm", "npx", "-y some-package more");
}

pub(crate) fn uvx() {
    package("uvx", "uvx", "some-package more");
}

pub(crate) fn env() {
    assert_eq!(attempt("env = { DEMANDED = \"yes\" }\n", "variable", "DEMANDED").unwrap(), "yes");
    assert!(attempt("", "variable", "DEMANDED").is_err());
    let unset = attempt("env = { A = \"${CERTAINLY_NOT_SET}\" }\n", "variable", "A").unwrap_err();
    assert!(unset.to_string().contains("`CERTAINLY_NOT_SET` is not set"), "{unset}");
}

pub(crate) fn secrets() {
    let read = |config: &str| {
        let project = Project::new(config);
        std::fs::create_dir(project.path("data")).unwrap();
        std::fs::write(project.path("local.env"), "DEMANDED_SECRET=\"from the file\"\n").unwrap();
        attempt_in(&project, "variable", "A").map_err(|error| error.to_string())
    };
    let server = format!("{SERVER}args = [\"--attempts\"]\nenv = {{ A = \"${{DEMANDED_SECRET}}\" }}\n");
    let file = "secrets = [\"env\", \"dotenv:local.env\"]\n";
    assert_eq!(read(&format!("{server}{file}")).unwrap(), "from the file");
    assert_eq!(read(&format!("[defaults]\n{file}{server}")).unwrap(), "from the file");
    let replaced = read(&format!("[defaults]\n{file}{server}secrets = [\"env\"]\n")).unwrap_err();
    assert!(replaced.contains("`DEMANDED_SECRET` is not set") && replaced.contains("looked up in `env`"), "{replaced}");
    assert!(read(&server).is_err(), "the environment alone does not have it");
    let wrong = refusal("[servers.hub]\ncommand = \"x\"\nsecrets = [\"keyrings\"]\n");
    assert!(wrong.contains("did you mean `keyring`?"), "{wrong}");
    let empty = refusal("[servers.hub]\ncommand = \"x\"\nsecrets = []\n");
    assert!(empty.contains("is empty"), "{empty}");
}

/// Cargo sets a variable for every test.
pub(crate) fn inherit_env() {
    let own = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let handed = attempt("inherit_env = [\"CARGO_MANIFEST_DIR\"]\n", "variable", "CARGO_MANIFEST_DIR");
    assert_eq!(handed.unwrap(), own);
    assert!(attempt("", "variable", "CARGO_MANIFEST_DIR").is_err());
}

/// A child that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn url() {
    let mut server = Command::new(fixture_server());
    let server = server.args(["--http", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut server = Ended(server);
    let mut url = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let project = Project::new(&format!("[servers.hub]\nurl = \"{}\"\n", url.trim()));
    assert!(tools(&project).contains(&"add".to_owned()));
    assert!(refusal(&format!("{SERVER}url = \"http://x\"\n")).contains("has both `command` and `url`"));
    assert!(refusal("[servers.hub]\nurl = \"ftp://x\"\n").contains("is not an http or https URL"));
}

/// The head of the first request that a server with these keys is sent, in small letters.
fn request(keys: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let project =
        Project::new(&format!("[servers.hub]\nurl = \"http://{}/mcp\"\n{keys}", listener.local_addr().unwrap()));
    let (send, heads) = mpsc::channel();
    // It ends with the process: nobody else knows the address.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let _ = send.send(String::from_utf8(head).unwrap().to_lowercase());
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    with_client(&project, ClientOptions::new(), async |client| client.connect().await).expect_err("nothing is there");
    heads.recv().unwrap()
}

pub(crate) fn headers() {
    let demanded = "x-demanded: yes\r\n";
    assert!(request("headers = { X-Demanded = \"yes\" }\n").contains(demanded));
    assert!(!request("").contains(demanded));
    assert!(refusal(&format!("{SERVER}headers = {{ A = \"b\" }}\n")).contains("has no effect beside `command`"));
}

/// Returns the declarations of a server for OpenAI.
fn handed_over(keys: &str) -> Vec<String> {
    let project = Project::new(&format!("[servers.hub]\nurl = \"https://mcp.example.com/mcp\"\n{keys}"));
    let config = Config::load(project.path("mcp.toml")).unwrap();
    let servers = HostedServers::from_config(&config).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let declared = runtime.block_on(servers.declarations(Provider::OpenAiResponses, &LocalSecrets));
    declared.tools.iter().map(|tool| tool["server_url"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn hosted() {
    assert_eq!(handed_over("hosted = true\n"), ["https://mcp.example.com/mcp"]);
    for own in ["", "hosted = false\n", "hosted = true\ndrift = \"deny\"\n"] {
        assert!(handed_over(own).is_empty(), "{own}");
    }
    let child = refusal(&format!("{SERVER}hosted = true\n"));
    assert!(child.contains("has no effect beside `command`"), "{child}");
    assert!(child.contains("a model provider cannot start a child process"), "{child}");
}

pub(crate) fn transport() {
    way("transport");
}

pub(crate) fn transport_as_type() {
    way("type");
    let both = "[servers.hub]\nurl = \"http://x\"\ntransport = \"sse\"\ntype = \"http\"\n";
    assert!(refusal(both).contains("different values for `transport` and `type`"));
}

fn way(key: &str) {
    assert!(request(&format!("{key} = \"sse\"\n")).starts_with("get "));
    for plain in [String::new(), format!("{key} = \"http\"\n")] {
        assert!(request(&plain).starts_with("post "), "{plain}");
    }
    let misfit = refusal(&format!("[servers.hub]\nurl = \"http://x\"\n{key} = \"stdio\"\n"));
    assert!(misfit.contains("cannot be combined with"), "{misfit}");
    let odd = refusal(&format!("[servers.hub]\nurl = \"http://x\"\n{key} = \"ws\"\n"));
    assert!(odd.contains("invalid value `ws`"), "{odd}");
}
