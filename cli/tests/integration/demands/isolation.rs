//! The table `isolation`. Without bubblewrap nothing runs; with it, attempts of the server fail that succeed otherwise. The
//! options that follow from each key are tested in `runtime/src/connect/process/isolation/sandbox.rs`, and whether they hold a
//! server in the suite of the runtime: `.ci/run isolation`.

use std::net::TcpListener;

use super::refusal;
use crate::common::Project;

/// Returns `true` if the attempt of a server in these bounds succeeds; nothing where no program can hold it to them.
fn attempt(project: &Project, isolation: &str, what: &str, at: &str) -> Option<bool> {
    let config = format!("[servers.hub]\ncommand = \"SERVER\"\nargs = [\"--attempts\"]\n{isolation}\n");
    project.write("mcp.toml", &config.replace("SERVER", crate::common::fixture_server().to_str().unwrap()));
    let arguments = serde_json::json!({ "do": what, "at": at }).to_string();
    let called = project.run(&["call", "hub", "attempt", "--args", &arguments]);
    match called.code {
        Some(0) => Some(true),
        Some(3) => Some(false),
        _ => {
            let reasons = ["requires bubblewrap", "requires socat", "cannot be enforced here"];
            assert!(reasons.iter().any(|reason| called.stderr.contains(reason)), "{}", called.stderr);
            None
        }
    }
}

/// Checks that an attempt succeeds without isolation and in the wide bounds, and fails in the narrow ones.
fn differ(project: &Project, wide: Option<&str>, narrow: &str, what: &str, at: &str) {
    assert_eq!(attempt(project, "", what, at), Some(true), "{what} {at}");
    assert_ne!(attempt(project, narrow, what, at), Some(true), "{what} {at}, {narrow}");
    if let Some(wide) = wide {
        assert_ne!(attempt(project, wide, what, at), Some(false), "{what} {at}, {wide}");
    }
}

fn project() -> Project {
    let project = Project::empty();
    project.write("data/in", "to be read");
    project
}

pub(crate) fn any() {
    // Other processes are not seen.
    let ours = format!("/proc/{}/environ", std::process::id());
    differ(&project(), None, "isolation = {}", "read", &ours);
    let remote = refusal("[servers.hub]\nurl = \"http://x\"\nisolation = {}\n");
    assert!(remote.contains("`isolation`, which has no effect beside `url`"), "{remote}");
}

pub(crate) fn default() {
    // Only below the table of the server: `attempt` writes it first.
    let address = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = address.local_addr().unwrap().to_string();
    let without = "[defaults]\nisolation = { network = \"none\" }";
    differ(&project(), None, without, "connect", &at);
    // A server's own table replaces it.
    differ(&project(), Some(&format!("isolation = {{}}\n{without}")), without, "connect", &at);
    // It is not for remote servers, and harms none.
    let config = format!("[servers.hub]\nurl = \"http://x\"\n{without}\n");
    let config = mcp_bindgen_model::Config::parse_toml(&config, "mcp.toml".as_ref()).unwrap();
    assert_eq!(config.server_with_defaults("hub").unwrap().isolation, None);
}

pub(crate) fn network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    differ(&project(), Some("isolation = {}"), "isolation = { network = \"none\" }", "connect", &address);
    let domains = "isolation = { network = [\"api.example.com\"] }";
    differ(&project(), None, domains, "connect", &address);
    let refused = |network: &str| refusal(&format!("[servers.hub]\ncommand = \"x\"\nisolation.network = {network}\n"));
    assert!(refused("\"all\"").contains("expected `none`"));
    assert!(refused("[]").contains("is empty"));
    assert!(refused("[\"https://x.org\"]").contains("`https://x.org`, which is not a domain"));
    assert!(refused("[\"10.0.0.1\"]").contains("addresses are not supported"));
}

pub(crate) fn home() {
    let home = std::env::home_dir().unwrap();
    let folder = tempfile::Builder::new().prefix(".isolation-").tempdir_in(home).unwrap();
    let at = folder.path().to_str().unwrap();
    differ(&project(), Some("isolation = {}"), "isolation = { home = \"temp\" }", "list", at);
}

pub(crate) fn read() {
    let project = project();
    let at = project.path("data/in");
    let (wide, narrow) = ("isolation = { read = [\"data\"] }", "isolation = { read = [] }");
    differ(&project, Some(wide), narrow, "read", at.to_str().unwrap());
}

pub(crate) fn write() {
    let project = project();
    let at = project.path("data/out");
    let (wide, narrow) = ("isolation = { write = [\"data\"] }", "isolation = { read = [\"data\"] }");
    differ(&project, Some(wide), narrow, "write", at.to_str().unwrap());
}
