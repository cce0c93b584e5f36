//! Servers that see what their configuration lets them see: what they try beyond it fails, and succeeds without it.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod network;
mod programs;

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{Mark, fixture_server, good, impatient, object};
use mcp_bindgen_model::{Config, Isolation, ServerConfig};
use mcp_bindgen_runtime::{Client, ClientOptions, ConnectError, ConnectErrorKind};
use serde_json::json;
use tempfile::TempDir;

/// A server that tries what it is told to, and its processes.
struct Tried {
    client: Client,
    mark: Mark,
}

impl Tried {
    fn with(isolation: impl Into<Option<Isolation>>) -> Self {
        Self::configured(isolation, |config| config)
    }

    fn configured(isolation: impl Into<Option<Isolation>>, change: impl FnOnce(ServerConfig) -> ServerConfig) -> Self {
        let mark = Mark::new();
        let config = change(good(&mark).args(["--attempts"]));
        let config = match isolation.into() {
            Some(isolation) => config.isolation(isolation),
            None => config,
        };
        Self { client: Client::new(config), mark }
    }

    /// Makes an attempt, and returns its output or its error.
    async fn to(&self, what: &str, at: impl AsRef<Path>) -> Result<String, String> {
        let arguments = object(json!({ "do": what, "at": at.as_ref() }));
        let result = self.client.call("attempt", arguments).await.expect("the call");
        if result.is_error { Err(result.text().to_owned()) } else { Ok(result.text().to_owned()) }
    }

    async fn refused(self) -> ConnectError {
        let error = self.client.connect().await.expect_err("a refusal");
        assert_eq!(self.mark.processes(), Vec::<u32>::new());
        error
    }

    async fn ended(self) {
        self.client.close().await;
        self.mark.gone_within(Duration::from_secs(5)).await;
    }
}

fn home() -> PathBuf {
    std::env::home_dir().expect("a home")
}

/// A folder in the home, with a file in it; both are gone with it.
struct InHome {
    folder: TempDir,
}

impl InHome {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix(".isolation-").tempdir_in(home()).expect("a folder in the home");
        std::fs::write(folder.path().join("key"), "secret").expect("a file");
        Self { folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("key")
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn text(&self) -> String {
        self.path().to_str().expect("a path").to_owned()
    }
}

fn temp() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().expect("a path").to_owned()
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn temporary_home_hides_the_real_home_and_is_removed() {
    let secret = InHome::new();
    let control = Tried::with(None);
    assert_eq!(control.to("read", secret.file()).await.as_deref(), Ok("secret"));
    assert!(control.to("list", home()).await.unwrap().contains(".isolation-"));
    control.ended().await;

    let server = Tried::with(Isolation::new().temp_home());
    server.to("read", secret.file()).await.expect_err("the real home is not there");
    server.to("list", home().join(".ssh")).await.expect_err("nor is this");
    assert_eq!(server.to("list", home()).await.unwrap(), shown_of_program(&home()));
    assert_eq!(server.to("variable", "HOME").await.unwrap(), text(home()));
    assert_eq!(server.to("variable", "TMPDIR").await.unwrap(), "/tmp");
    assert_eq!(server.to("list", "/tmp").await.unwrap(), shown_of_program(Path::new("/tmp")));
    let left = home().join(".left-behind");
    server.to("write", &left).await.expect("it can be written to");
    assert_eq!(server.to("read", &left).await.as_deref(), Ok("written"));
    assert!(!left.exists());
    // Other files are as they were.
    let outside = temp();
    server.to("write", outside.path().join("x")).await.expect_err("but /tmp is its own");
    server.to("read", "/etc/passwd").await.expect("it is there");
    // A crash leaves nothing either, and the next home is fresh.
    let arguments = object(json!({ "do": "exit", "at": "7" }));
    server.client.call("attempt", arguments).await.expect_err("it ends");
    server.to("read", &left).await.expect_err("it is gone");
    assert!(!left.exists());
    server.ended().await;
}

/// Returns the name of the folder's entry that contains the fixture's program. The name is empty if the tests are
/// built elsewhere.
fn shown_of_program(folder: &Path) -> String {
    let program = fixture_server().canonicalize().unwrap();
    let below = program.strip_prefix(folder.canonicalize().unwrap());
    below.ok().and_then(|below| below.iter().next()).map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn isolated_network_reaches_neither_remote_nor_local_addresses() {
    let local = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = (local.local_addr().unwrap().to_string(), local);
    // An address of this machine beyond its loopback stands for the rest of the world: it needs a route as well.
    let beyond = address_beyond().map(|address| TcpListener::bind(SocketAddr::new(address, 0)).unwrap());
    let beyond = beyond.map(|listener| (listener.local_addr().unwrap().to_string(), listener));
    let name = format!("isolation-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let folder = temp();
    let socket = folder.path().join("socket");
    let _file = UnixListener::bind(&socket).unwrap();

    let control = Tried::with(None);
    control.to("connect", &local.0).await.expect("loopback");
    if let Some((beyond, _)) = &beyond {
        control.to("connect", beyond).await.expect("beyond");
    }
    control.to("connect-abstract", &name).await.expect("abstract");
    control.to("connect-file", &socket).await.expect("in /tmp");
    control.ended().await;

    let server = Tried::with(Isolation::new().no_network());
    server.to("connect", &local.0).await.expect_err("loopback");
    server.to("connect", "192.0.2.1:80").await.expect_err("no route");
    if let Some((beyond, _)) = &beyond {
        server.to("connect", beyond).await.expect_err("beyond");
    } else {
        println!("only loopback here: nothing beyond could be reached anyway");
    }
    server.to("connect-abstract", &name).await.expect_err("abstract");
    server.to("connect-file", &socket).await.expect_err("in /tmp");
    // Files are as they are.
    let secret = InHome::new();
    assert_eq!(server.to("read", secret.file()).await.as_deref(), Ok("secret"));
    server.ended().await;

    // The other way round, the network stays.
    let server = Tried::with(Isolation::new().temp_home().read(["/srv"]));
    server.to("connect", &local.0).await.expect("loopback");
    server.ended().await;
}

/// An address of this machine that others use, where there is one. Nothing is sent.
fn address_beyond() -> Option<std::net::IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback() && !address.is_unspecified())
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn only_listed_folders_are_readable_and_only_write_folders_writable() {
    let (seen, written, hidden) = (temp(), InHome::new(), InHome::new());
    std::fs::write(seen.path().join("data"), "to be read").unwrap();
    std::fs::create_dir(written.path().join("kept")).unwrap();
    std::fs::write(hidden.path().join("more"), "x").unwrap();
    let outside = temp();
    let attempts = [
        ("read", hidden.file()),
        ("write", hidden.path().join("x")),
        ("write", outside.path().join("x")),
        ("list", outside.path().to_owned()),
        ("write", seen.path().join("x")),
        ("write", written.path().join("kept/x")),
    ];
    let control = Tried::with(None);
    for (what, at) in &attempts {
        control.to(what, at).await.unwrap_or_else(|error| panic!("{what} {}: {error}", at.display()));
        if *what == "write" {
            std::fs::remove_file(at).unwrap();
        }
    }
    control.ended().await;

    let isolation =
        Isolation::new().read([text(seen.path()), text(written.path().join("kept"))]).write([written.text()]);
    let server = Tried::with(isolation);
    for (what, at) in &attempts {
        let tried = server.to(what, at).await;
        assert!(tried.is_err(), "{what} {}: {tried:?}", at.display());
    }
    for at in ["/x", "/etc/x", "/usr/x", "/dev/x", "/home/x", "/root/x", "/var/x"] {
        assert!(server.to("write", at).await.is_err(), "{at}");
        assert!(!Path::new(at).exists());
    }
    for at in ["/etc/shadow", "/etc/ssh", "/var/lib", "/root/.bashrc", "/opt"] {
        assert_eq!(server.to("there", at).await.as_deref(), Ok("false"), "{at}");
    }
    // The same server works with what it was given.
    assert_eq!(server.to("read", seen.path().join("data")).await.as_deref(), Ok("to be read"));
    assert_eq!(server.to("read", written.file()).await.as_deref(), Ok("secret"));
    server.to("write", written.path().join("new")).await.expect("it may write there");
    assert_eq!(std::fs::read_to_string(written.path().join("new")).unwrap(), "written");
    assert_eq!(server.to("run", "echo $((6*7))").await.as_deref(), Ok("42"), "programs of the system run");
    server.to("write", "/tmp/x").await.expect("its own /tmp");
    assert!(!Path::new("/tmp/x").exists());
    server.ended().await;
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn every_isolated_server_has_its_own_processes_and_no_privileges() {
    let pid = std::process::id();
    let server = Tried::with(Isolation::new());
    let sees = server.to("run", "ls /proc | grep -c '^[0-9]'").await.unwrap();
    assert!(sees.parse::<u32>().unwrap() < 8, "{sees} processes");
    server.to("read", format!("/proc/{pid}/environ")).await.expect_err("not of others");
    let status = server.to("read", "/proc/self/status").await.unwrap();
    assert!(status.contains("CapEff:\t0000000000000000") && status.contains("NoNewPrivs:\t1"), "{status}");
    for knob in ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/profiling"] {
        // Writing nothing changes nothing, also where it works.
        let tried = server.to("run", format!("printf '' > {knob} && echo open")).await.unwrap();
        assert!(!tried.contains("open"), "{knob}: {tried}");
    }
    assert_eq!(server.to("list", "/run").await.unwrap(), "");
    let umounted = server.to("run", "umount /tmp && echo open; mount -t tmpfs x /mnt && echo open").await.unwrap();
    assert!(!umounted.contains("open"), "{umounted}");
    assert_eq!(server.to("run", "cat < /dev/tty").await.unwrap(), "", "no terminal to type into");
    server.ended().await;
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn working_directory_must_be_visible_to_the_server() {
    let (seen, hidden) = (InHome::new(), InHome::new());
    let cwd = |folder: &InHome| {
        let folder = folder.text();
        |config: ServerConfig| config.cwd(folder)
    };
    let server = Tried::configured(Isolation::new().read([seen.text()]), cwd(&seen));
    assert_eq!(server.to("folder", "").await.unwrap(), text(seen.path().canonicalize().unwrap()));
    server.ended().await;
    for isolation in [Isolation::new().temp_home(), Isolation::new().read([seen.text()])] {
        let error = Tried::configured(isolation, cwd(&hidden)).refused().await;
        assert_eq!(error.kind, ConnectErrorKind::Config);
        assert!(error.to_string().contains("(cwd); add it to `read` or `write`"), "{error}");
    }
    let server = Tried::with(Isolation::new().temp_home().write([seen.text()]));
    assert_eq!(server.to("folder", "").await.unwrap(), text(home()), "this process's folder is not seen");
    server.ended().await;
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn folder_names_are_never_parsed_as_options() {
    let odd = InHome::new();
    let names = ["--bind", "a b", "new\nline", "-", "$(touch x)", "--", "q\"'"];
    for name in names {
        std::fs::create_dir(odd.path().join(name)).unwrap();
        std::fs::write(odd.path().join(name).join("in"), name).unwrap();
    }
    let server =
        Tried::configured(Isolation::new().read(names.map(|name| format!("./{name}"))).write(["--bind"]), |config| {
            config.in_folder(odd.path())
        });
    for name in names {
        assert_eq!(server.to("read", odd.path().join(name).join("in")).await.as_deref(), Ok(name));
        let written = server.to("write", odd.path().join(name).join("out")).await;
        assert_eq!(written.is_ok(), name == "--bind", "{name}");
    }
    server.to("read", odd.file()).await.expect_err("only what was named");
    server.ended().await;
    // Above a folder lies another, which has to be named itself; `..` of one that is named is what it is.
    let up = text(odd.path().join("a b/../new\nline"));
    let server = Tried::with(Isolation::new().read([up]));
    assert_eq!(server.to("read", odd.path().join("new\nline/in")).await.as_deref(), Ok("new\nline"));
    server.to("read", odd.path().join("a b/in")).await.expect_err("not on the way");
    server.ended().await;
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn symbolic_links_are_followed_unless_the_server_can_write_them() {
    let (folder, elsewhere) = (InHome::new(), InHome::new());
    symlink(elsewhere.path(), folder.path().join("link")).unwrap();
    let link = folder.path().join("link");
    let server = Tried::with(Isolation::new().read([text(&link)]));
    assert_eq!(server.to("read", link.join("key")).await.as_deref(), Ok("secret"));
    assert_eq!(server.to("read", elsewhere.file()).await.as_deref(), Ok("secret"));
    server.to("read", folder.file()).await.expect_err("beside the link");
    server.ended().await;
    // In what is shown, a link leads to nothing that is not.
    let server = Tried::with(Isolation::new().write([folder.text()]));
    server.to("read", link.join("key")).await.expect_err("it is not shown");
    server.ended().await;
    // A symbolic link in a folder that the server can write is refused.
    let error = Tried::with(Isolation::new().write([folder.text()]).read([text(&link)])).refused().await;
    assert!(error.to_string().contains("uses a symbolic link in"), "{error}");
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn isolated_server_leaves_no_processes() {
    // By closing, by dropping, and by what it left behind in a session of its own.
    let server = Tried::with(Isolation::new().temp_home().no_network());
    server.to("leave-behind", "1000").await.expect("it is started");
    assert!(server.mark.processes().len() >= 3, "bubblewrap, the server, and what it started");
    server.ended().await;
    let server = Tried::with(Isolation::new().no_network());
    server.to("leave-behind", "1000").await.expect("it is started");
    let Tried { client, mark } = server;
    drop(client);
    mark.gone_within(Duration::from_secs(10)).await;
    // A server that ends while others of its processes go on: the connection is lost at once, and they go with it.
    let server = Tried::with(Isolation::new());
    server.to("leave-behind", "1000").await.expect("it is started");
    let start = Instant::now();
    let arguments = object(json!({ "do": "exit", "at": "7" }));
    server.client.call("attempt", arguments).await.expect_err("it ends");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    server.ended().await;
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn snapshot_is_taken_under_the_same_isolation() {
    let secret = InHome::new();
    let mark = Mark::new();
    let asks = format!("[ -e '{}' ] && exit 9; exec \"$0\" --attempts", text(secret.file()));
    let config = ServerConfig::stdio("asked", "/bin/sh").args(["-c", &asks, &text(fixture_server())]);
    let config = config.env("FIXTURE_MARK", mark.value());
    let asked = |config| Client::for_snapshot(&Config::default(), &config, None, ClientOptions::new());
    asked(config.clone()).connect().await.expect_err("it sees the file, and ends");
    let isolation = Isolation::new().temp_home().read([text(fixture_server().parent().unwrap())]);
    let client = asked(config.isolation(isolation));
    client.connect().await.expect("it sees no such file");
    client.close().await;
    mark.gone_within(Duration::from_secs(5)).await;
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn isolated_server_receives_sigterm_before_it_is_killed() {
    let kept = InHome::new();
    let script = "trap 'sleep 0.7; echo asked > \"$2/asked\"; exit 0' TERM; \"$1\" --attempts; \
                  while :; do sleep 0.05; done";
    let mark = Mark::new();
    let config = ServerConfig::stdio("stubborn", "/bin/sh")
        .args(["-c", script, "sh", &text(fixture_server()), &kept.text()])
        .env("FIXTURE_MARK", mark.value());
    let seen = text(fixture_server().parent().unwrap());
    let isolation = Isolation::new().read([seen]).write([kept.text()]);
    let server = Tried { client: Client::new(config.isolation(isolation)), mark };
    server.to("folder", "").await.expect("it serves");
    server.ended().await;
    assert_eq!(std::fs::read_to_string(kept.path().join("asked")).unwrap(), "asked\n");
}

#[tokio::test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
async fn exit_status_of_an_isolated_server_is_reported() {
    let mark = Mark::new();
    let config = good(&mark).args(["--misbehave", "exit"]).isolation(Isolation::new().temp_home());
    let error = impatient(config).connect().await.expect_err("it ends at once");
    assert!(error.to_string().contains("exit status: 3"), "{error}");
    assert!(error.to_string().contains("cannot start"), "{error}");
    // The shell starts, but it cannot see the file that it runs.
    let root = InHome::new();
    let config = ServerConfig::stdio("sh", "/bin/sh")
        .args(["-c", &format!("exec '{}'", text(root.file()))])
        .isolation(Isolation::new().temp_home());
    let error = impatient(config).connect().await.expect_err("it is hidden");
    assert_eq!(error.kind, ConnectErrorKind::Transport);
    assert!(error.to_string().contains("not found"), "{error}");
}

#[tokio::test]
async fn invalid_isolation_is_refused_before_any_program_runs() {
    let folder = temp();
    let refused = async |isolation: Isolation, part: &str| {
        let error = Tried::with(isolation).refused().await;
        assert_eq!(error.kind, ConnectErrorKind::Config, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    let gone = text(folder.path().join("gone"));
    let names = format!("`read` of its `isolation` contains `{gone}`, which does not exist");
    refused(Isolation::new().read([&gone]), &names).await;
    refused(Isolation::new().write([&gone]), "`write` of its `isolation` contains").await;
    refused(Isolation::new().read(["~/no-such-folder-in-the-home"]), "which does not exist").await;
    let in_home = InHome::new();
    let name = text(in_home.path().file_name().expect("a name"));
    refused(Isolation::new().read([format!("~{name}")]), "which does not exist").await;
    refused(Isolation::new().read([""]), "which is not a directory").await;
    refused(Isolation::new().read(["a\0b"]), "which cannot be mounted").await;
    refused(Isolation::new().read(["/proc/1"]), "its own `/dev` and `/proc`").await;
    refused(Isolation::new().write(["/dev"]), "its own `/dev`").await;
    refused(Isolation::new().temp_home().read(["~"]), "the home that `home = \"temp\"` hides").await;
    refused(Isolation::new().temp_home().write([text(home()) + "/."]), "the home that").await;

    let temp_home = |change: fn(ServerConfig) -> ServerConfig| Tried::configured(Isolation::new().temp_home(), change);
    let error = temp_home(|config| config.env("HOME", "/x")).refused().await;
    assert!(error.to_string().contains("its `env` sets `HOME`"), "{error}");
    let error = temp_home(|config| config.inherit_env(["XDG_CONFIG_HOME"])).refused().await;
    assert!(error.to_string().contains("its `inherit_env` contains `XDG_CONFIG_HOME`"), "{error}");
    let error = temp_home(|config| config.cwd("/no/such/folder")).refused().await;
    assert!(error.to_string().contains("the folder `/no/such/folder` (cwd) does not exist"), "{error}");
    // Of what somebody else starts, nothing can be enforced.
    let url = ServerConfig::http("remote", "http://127.0.0.1:9/").isolation(Isolation::new().no_network());
    let error = Client::new(url).connect().await.expect_err("a refusal");
    assert_eq!(error.kind, ConnectErrorKind::Config);
    assert!(error.to_string().contains("cannot be enforced for a `url`"), "{error}");
}
