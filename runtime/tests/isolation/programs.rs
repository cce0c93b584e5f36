//! Tests that a program sees the files that it needs, wherever they are, and no others.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use mcp_bindgen_model::{Isolation, ServerConfig};
use mcp_bindgen_runtime::Client;

use crate::common::{Mark, fixture_server, impatient, write_program};
use crate::{InHome, Tried, home, text};

impl InHome {
    /// A program in it.
    fn installs(&self, path: &str, text: &[u8]) {
        write_program(&self.path().join(path), text);
    }
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn program_in_a_hidden_home_is_visible_with_its_dependencies() {
    let root = InHome::new();
    let at = |path: &str| root.path().join(path);
    // As npm installs one: a link in `bin` to a script in `node_modules`, whose interpreter is found on PATH.
    root.installs("node/bin/fixture", &std::fs::read(fixture_server()).unwrap());
    let interpreter = "#!/bin/sh\n. \"$(dirname \"$(realpath \"$1\")\")/settings\"\nexec fixture --attempts\n";
    root.installs("node/bin/interpreter", interpreter.as_bytes());
    root.installs("node/lib/node_modules/tool/cli.js", b"#!/usr/bin/env interpreter\n");
    root.installs("node/lib/node_modules/tool/settings", b"export FOUND=yes\n");
    symlink("../lib/node_modules/tool/cli.js", at("node/bin/tool")).unwrap();
    symlink("node", at("current")).unwrap();
    std::fs::write(at("node/token"), "hidden").unwrap();

    let bin = text(at("current/bin"));
    let path = format!("{bin}:/usr/bin:/bin");
    for isolation in [Isolation::new().temp_home(), Isolation::new().read(["/srv"]).temp_home()] {
        let mark = Mark::new();
        let config = ServerConfig::stdio("tool", "tool").env("PATH", &path).env("FIXTURE_MARK", mark.value());
        let server = Tried { client: Client::new(config.isolation(isolation)), mark };
        assert_eq!(server.to("variable", "FOUND").await.as_deref(), Ok("yes"));
        server.to("read", at("node/token")).await.expect_err("nobody needs it");
        server.to("read", root.file()).await.expect_err("nor this");
        server.to("write", at("node/bin/x")).await.expect_err("it is only to be read");
        server.ended().await;
    }
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn python_environment_is_visible_with_its_interpreter() {
    let root = InHome::new();
    let at = |path: &str| text(root.path().join(path));
    root.installs("base/bin/fixture", &std::fs::read(fixture_server()).unwrap());
    let python = format!("#!/bin/sh\n. '{}'\nexec '{}' --attempts\n", at("venv/lib/settings"), at("base/bin/fixture"));
    root.installs("base/bin/python3", python.as_bytes());
    root.installs("venv/pyvenv.cfg", b"home = base/bin\n");
    root.installs("venv/lib/settings", b"export FOUND=yes\n");
    root.installs("venv/bin/tool", format!("#!{}\n", at("venv/bin/python")).as_bytes());
    symlink("../../base/bin/python3", at("venv/bin/python")).unwrap();
    // As uv and pipx do, where the user's other programs are.
    std::fs::create_dir_all(at("local/bin")).unwrap();
    symlink("../../venv/bin/tool", at("local/bin/tool")).unwrap();
    let mark = Mark::new();
    let config = ServerConfig::stdio("tool", at("local/bin/tool")).env("FIXTURE_MARK", mark.value());
    let server = Tried { client: Client::new(config.isolation(Isolation::new().temp_home())), mark };
    assert_eq!(server.to("variable", "FOUND").await.as_deref(), Ok("yes"));
    server.to("read", root.file()).await.expect_err("nobody needs it");
    server.ended().await;
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn program_writable_by_the_server_makes_no_other_files_visible() {
    let (root, hidden) = (InHome::new(), InHome::new());
    hidden.installs("bin/interpreter", b"#!/bin/sh\nexit 9\n");
    root.installs("tool", format!("#!{}\n", text(hidden.path().join("bin/interpreter"))).as_bytes());
    let started = async |isolation: Isolation| {
        let config = ServerConfig::stdio("tool", text(root.path().join("tool"))).isolation(isolation);
        impatient(config).connect().await.expect_err("it is no server").to_string()
    };
    let error = started(Isolation::new().read([root.text()])).await;
    assert!(error.contains("exit status: 9"), "{error}");
    let error = started(Isolation::new().write([root.text()])).await;
    assert!(error.contains("No such file or directory") && !error.contains("exit status: 9"), "{error}");
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn certificates_are_visible_but_homes_in_variables_are_not() {
    const FILE: &str = "SSL_CERT_FILE";
    const LINK: &str = "NODE_EXTRA_CA_CERTS";
    let other = InHome::new();
    if std::env::var_os("HAS_CERTIFICATES").is_none() {
        let (certificate, writable) = (InHome::new(), InHome::new());
        let link = writable.path().join("link");
        symlink(other.file(), &link).unwrap();
        let run = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "programs::certificates_are_visible_but_homes_in_variables_are_not", "--ignored"])
            .env("HAS_CERTIFICATES", "1")
            .envs([(FILE, text(certificate.file())), (LINK, text(link)), ("SSL_CERT_DIR", text(home()))])
            .env("XDG_CONFIG_HOME", other.path())
            .output();
        let run = run.unwrap();
        assert!(run.status.success(), "{run:?}");
        return;
    }
    let [certificate, link] = [FILE, LINK].map(|name| std::env::var(name).unwrap());
    for isolation in [Isolation::new().temp_home(), Isolation::new().read([""; 0])] {
        let server = Tried::with(isolation);
        assert_eq!(server.to("variable", FILE).await.unwrap(), certificate);
        assert_eq!(server.to("read", &certificate).await.as_deref(), Ok("secret"));
        assert_eq!(server.to("read", &link).await.as_deref(), Ok("secret"));
        server.to("write", &certificate).await.expect_err("it is only to be read");
        server.to("read", other.file()).await.expect_err("the home is not shown");
        server.to("variable", "XDG_CONFIG_HOME").await.expect_err("the folders of the user are not named");
        server.ended().await;
    }
    // A folder that the server can write to decides nothing.
    let server = Tried::with(Isolation::new().write([text(Path::new(&link).parent().unwrap())]));
    assert_eq!(server.to("read", &certificate).await.as_deref(), Ok("secret"));
    server.to("read", &link).await.expect_err("the server could have made the link");
    server.ended().await;
}
