//! Problems of servers and builds on this machine, and the command that solves each. Does not start anything:
//! responses of servers are passed in.

mod bindings;
mod connection;
mod environment;
mod filled;
mod reach;
mod rust;

use std::collections::BTreeMap;

use mcp_bindgen_codegen::Options;
use mcp_bindgen_model::{Config, FileError, ServerConfig, Snapshot};
use mcp_bindgen_runtime::ConnectError;

use crate::plan;
use crate::source::{self, Bound};

/// The answers of the servers that were connected to, by name.
pub(crate) type Live = BTreeMap<String, Result<Snapshot, ConnectError>>;

/// How serious something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Fine,
    /// It works, but may be unexpected.
    Warning,
    /// It does not work.
    Error,
}

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The server of the finding.
    pub(crate) server: Option<String>,
    /// The subject: `program`, `variables`.
    pub(crate) subject: &'static str,
    pub(crate) level: Level,
    pub(crate) text: String,
    /// The next step.
    pub(crate) help: Option<String>,
}

impl Finding {
    fn fine(subject: &'static str, text: impl Into<String>) -> Self {
        Self { server: None, subject, level: Level::Fine, text: text.into(), help: None }
    }

    fn warning(subject: &'static str, text: impl Into<String>, help: impl Into<String>) -> Self {
        Self { server: None, subject, level: Level::Warning, text: text.into(), help: Some(help.into()) }
    }

    fn error(subject: &'static str, text: impl Into<String>, help: impl Into<String>) -> Self {
        Self { server: None, subject, level: Level::Error, text: text.into(), help: Some(help.into()) }
    }

    /// Creates a finding of an error in the configuration.
    fn fault(error: FileError) -> Self {
        let help = error.help.clone();
        let text = FileError { help: None, ..error }.to_string();
        Self { help, ..Self::error("configuration", text, "") }
    }

    fn of(mut self, server: &ServerConfig) -> Self {
        self.server = Some(server.name.clone());
        self
    }
}

/// Returns all that can be found out of these servers and of the crate here.
pub(crate) async fn findings(config: &Config, servers: &[ServerConfig], live: &Live) -> Vec<Finding> {
    let mut found = bindings::versions();
    found.extend(bindings::named_in_sources(config));
    for server in servers {
        let mut of_server = environment::passed_over(config, server);
        of_server.extend(environment::variables(server).await);
        let filled = filled::Filled::of(server).await;
        of_server.extend(reach::program(&filled));
        of_server.extend(environment::passed_on(server));
        of_server.extend(reach::isolation(&filled));
        of_server.extend(reach::address(&filled).await);
        let live = live.get(&server.name);
        of_server.extend(
            live.filter(|live| !is_explained(live, &of_server)).map(|live| connection::connection(server, live)),
        );
        of_server.extend(snapshot(config, server, live));
        found.extend(of_server.into_iter().map(|finding| finding.of(server)));
    }
    found
}

/// Returns `true` if an earlier finding explains a failure: the program did not start, or the address did not answer.
fn is_explained(live: &Result<Snapshot, ConnectError>, found: &[Finding]) -> bool {
    let Err(error) = live else { return false };
    let evidence = error.evidence();
    let has_answered = evidence.exit_status.is_some() || evidence.http_status.is_some();
    !has_answered && found.iter().any(|finding| finding.level == Level::Error)
}

/// Checks that the snapshot can be used for a build, and that the configuration fits its tools.
fn snapshot(config: &Config, server: &ServerConfig, live: Option<&Result<Snapshot, ConnectError>>) -> Vec<Finding> {
    const SUBJECT: &str = "snapshot";
    let name = &server.name;
    let sync = match live {
        Some(Ok(_)) => format!("run `mcp-bindgen sync {name}`"),
        Some(Err(_)) => format!("run `mcp-bindgen sync {name}` once the server answers"),
        None => format!("run `mcp-bindgen doctor --connect {name}` to see whether the server answers"),
    };
    let file = match plan::SnapshotFile::read(config, &server.name) {
        Ok(file) => file,
        Err(error) => return vec![Finding::error(SUBJECT, error.to_string(), "check its permissions")],
    };
    let shown = file.shown();
    let finding = match (&file.text, file.known()) {
        (None, _) => Finding::error(SUBJECT, format!("{shown} not found"), sync),
        (Some(text), None) if Snapshot::is_newer(text) => {
            let help = Snapshot::parse(text).err().and_then(|error| error.help);
            let help =
                help.unwrap_or_else(|| "run `cargo install mcp-bindgen-cli` and update the dependency".to_owned());
            Finding::error(SUBJECT, format!("{shown} was written by a newer mcp-bindgen"), help)
        }
        (Some(_), None) => Finding::error(SUBJECT, format!("{shown} is invalid"), sync),
        (Some(text), Some(known)) => {
            match Bound::of(config, name, Options::for_server(server), (text.clone(), known)) {
                Ok(bound) => {
                    let unusable = source::unusable(&bound, name).into_iter().map(Finding::fault);
                    return [Finding::fine(SUBJECT, shown)].into_iter().chain(unusable).collect();
                }
                Err(faults) => {
                    let fault = faults.first().map(ToString::to_string).unwrap_or_default();
                    Finding::error(SUBJECT, fault, "fix the overrides and views, or remove the obsolete ones")
                }
            }
        }
    };
    vec![finding]
}
