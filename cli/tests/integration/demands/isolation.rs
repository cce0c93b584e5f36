//! The table `isolation`. Without bubblewrap nothing runs; where there is one, it is told what is demanded. That it keeps
//! servers to that is for the suite of the runtime: `.ci/run isolation`.

use super::refusal;
use crate::common::{Project, Run};

const CALL: [&str; 5] = ["call", "hub", "add", "--args", r#"{"a":20,"b":22}"#];

fn project(isolation: &str) -> Project {
    let project = Project::new(&format!("[servers.hub]\ncommand = \"SERVER\"\n{isolation}"));
    std::fs::create_dir_all(project.path("bin")).unwrap();
    std::fs::create_dir_all(project.path("data")).unwrap();
    project
}

/// A call where programs are only looked for in the folder `bin`.
fn call(project: &Project) -> Run {
    let output = project.command().args(CALL).env("PATH", project.path("bin")).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// What bubblewrap is told for this demand. The one that is asked here tells, and starts the server.
fn told(isolation: &str) -> String {
    call(&project("")).exits_with(0);
    let project = project(isolation);
    call(&project).exits_with(1).says("there is no `bwrap` on PATH; install it, as with `apt-get install bubblewrap`");
    let told = project.path("told");
    let script =
        format!("echo \"$@\" > '{}'\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"", told.display());
    project.write_program("bin/bwrap", &script);
    let called = call(&project).exits_with(0);
    assert!(called.stdout.contains("42"), "{}", called.stdout);
    let folder = project.path("").canonicalize().unwrap();
    project.read("told").replace(folder.to_str().unwrap().trim_end_matches('/'), "HERE")
}

pub(crate) fn any() {
    let told = told("isolation = {}\n");
    assert!(told.starts_with("--unshare-all --cap-drop ALL --share-net"), "{told}");
    let remote = refusal("[servers.hub]\nurl = \"http://x\"\nisolation = {}\n");
    assert!(remote.contains("`isolation`, which has no effect beside `url`"), "{remote}");
}

pub(crate) fn network() {
    assert!(!told("isolation = { network = \"none\" }\n").contains("--share-net"));
    assert!(told("isolation = {}\n").contains("--share-net"));
    assert!(refusal("[servers.hub]\ncommand = \"x\"\nisolation.network = \"all\"\n").contains("it can be `none`"));
}

pub(crate) fn home() {
    let home = std::env::home_dir().unwrap();
    let hides = format!("--tmpfs {}", home.display());
    assert!(told("isolation = { home = \"temp\" }\n").contains(&hides));
    assert!(!told("isolation = {}\n").contains(&hides));
}

pub(crate) fn read() {
    let with = told("isolation = { read = [\"data\"] }\n");
    assert!(with.contains("--ro-bind HERE/data HERE/data"), "{with}");
    assert!(!told("isolation = {}\n").contains("HERE/data"));
}

pub(crate) fn write() {
    let with = told("isolation = { write = [\"data\"] }\n");
    assert!(with.contains("--bind HERE/data HERE/data"), "{with}");
    assert!(!told("isolation = { read = [\"data\"] }\n").contains("--bind HERE/data HERE/data"));
}
