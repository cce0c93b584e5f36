//! Problems of servers and builds on this machine, and the command that solves each. Does not start anything:
//! responses of servers are passed in.

mod bindings;
mod connection;
mod environment;
mod reach;

use std::collections::BTreeMap;

use mcp_bindgen_codegen::Options;
use mcp_bindgen_model::{Config, FileError, ServerConfig, Snapshot};
use mcp_bindgen_runtime::ConnectError;

use self::environment::Filled;
use crate::plan::SnapshotFile;
use crate::source::{self, Bound};

/// The answers of the servers that were connected to, by name.
pub(crate) type Live = BTreeMap<String, Result<Snapshot, ConnectError>>;

/// The level of a finding that needs no action.
pub(crate) const FINE: &str = "fine";
/// The level of something that works, but may be unexpected.
pub(crate) const WARNING: &str = "warning";
/// The level of something that does not work.
pub(crate) const ERROR: &str = "error";

/// One thing that was looked at.
#[derive(Default)]
pub(crate) struct Finding {
    /// The server of the finding.
    pub(crate) server: Option<String>,
    /// The subject: `program`, `variables`.
    pub(crate) subject: &'static str,
    pub(crate) level: &'static str,
    pub(crate) text: String,
    /// The next step.
    pub(crate) help: Option<String>,
}

impl Finding {
    fn fine(text: impl Into<String>) -> Self {
        Self { level: FINE, text: text.into(), ..Self::default() }
    }

    fn warning(text: impl Into<String>, help: impl Into<String>) -> Self {
        Self { level: WARNING, help: Some(help.into()), ..Self::fine(text) }
    }

    fn error(text: impl Into<String>, help: impl Into<String>) -> Self {
        Self { level: ERROR, ..Self::warning(text, help) }
    }
}

/// Returns all that can be found out of these servers and of the crate here.
pub(crate) async fn findings(config: &Config, servers: &[ServerConfig], live: &Live) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |server: Option<&String>, subject: &'static str, findings: Vec<Finding>| {
        found.extend(findings.into_iter().map(|finding| Finding { server: server.cloned(), subject, ..finding }));
    };
    add(None, "versions", Vec::from_iter(bindings::versions()));
    add(None, "bindings", bindings::named_in_sources(config));
    for server in servers {
        let (filled, variables) = Filled::of(server).await;
        let mut of_server = vec![
            ("configuration", environment::passed_over(config, server)),
            ("variables", variables),
            ("program", Vec::from_iter(reach::program(&filled))),
            ("environment", Vec::from_iter(environment::passed_on(server))),
            ("isolation", Vec::from_iter(reach::isolation(&filled))),
            ("address", Vec::from_iter(reach::address(&filled).await)),
        ];
        let live = live.get(&server.name);
        if let Some(live) = live.filter(|live| !is_explained(live, &of_server)) {
            of_server.push(("connection", vec![connection::connection(server, live)]));
        }
        let (snapshot, faults) = snapshot(config, server, live);
        of_server.extend([("snapshot", vec![snapshot]), ("configuration", faults)]);
        of_server.into_iter().for_each(|(subject, findings)| add(Some(&server.name), subject, findings));
    }
    found
}

/// Returns `true` if an earlier finding explains a failure: the program did not start, or the address did not answer.
fn is_explained(live: &Result<Snapshot, ConnectError>, found: &[(&str, Vec<Finding>)]) -> bool {
    let Err(error) = live else { return false };
    let evidence = error.evidence();
    let has_answered = evidence.exit_status.is_some() || evidence.http_status.is_some();
    !has_answered && found.iter().flat_map(|(_, findings)| findings).any(|finding| finding.level == ERROR)
}

/// Checks that the snapshot can be used for a build. If it can, also returns what does not fit its tools.
fn snapshot(
    config: &Config,
    server: &ServerConfig,
    live: Option<&Result<Snapshot, ConnectError>>,
) -> (Finding, Vec<Finding>) {
    let name = &server.name;
    let sync = match live {
        Some(Ok(_)) => format!("run `mcp-bindgen sync {name}`"),
        Some(Err(_)) => format!("run `mcp-bindgen sync {name}` once the server answers"),
        None => format!("run `mcp-bindgen doctor --connect {name}` to see whether the server answers"),
    };
    let file = match SnapshotFile::read(config, name) {
        Ok(file) => file,
        Err(error) => return (Finding::error(error.to_string(), "check its permissions"), Vec::new()),
    };
    let shown = file.shown();
    let finding = match file.text.map(|text| (Snapshot::parse(&text), text)) {
        None => Finding::error(format!("{shown} not found"), sync),
        Some((Err(FileError { help, .. }), text)) if Snapshot::is_newer(&text) => {
            Finding { help, ..Finding::error(format!("{shown} was written by a newer mcp-bindgen"), "") }
        }
        Some((Err(_), _)) => Finding::error(format!("{shown} is invalid"), sync),
        Some((Ok(known), text)) => match Bound::of(config, name, Options::for_server(server), (text, known)) {
            Ok(bound) => {
                let fault = |mut error: FileError| {
                    let help = error.help.take();
                    Finding { help, ..Finding::error(error.to_string(), "") }
                };
                let faults = source::unusable(&bound, name).into_iter().map(fault);
                return (Finding::fine(shown), faults.collect());
            }
            Err(faults) => {
                let fault = faults.first().map(ToString::to_string).unwrap_or_default();
                Finding::error(fault, "fix the overrides and views, or remove the obsolete ones")
            }
        },
    };
    (finding, Vec::new())
}
