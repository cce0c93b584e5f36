//! The servers that a template may call, and their tools.

use std::collections::BTreeMap;

use mcp_bindgen_codegen::Options;
use mcp_bindgen_codegen::template::{KnownServer, Script};
use mcp_bindgen_model::{Config, ServerConfig, Snapshot};
use mcp_bindgen_runtime::middleware::ApprovalAnswer;
use mcp_bindgen_runtime::{Client, ClientOptions};
use mcp_bindgen_template::Fault;

use crate::args;
use crate::exit::Failure;
use crate::live::{self, Patience};
use crate::output::Output;
use crate::plan::adapted;
use crate::{project, source};

/// A server, as far as a template needs it.
pub(super) struct CalledServer {
    pub(super) server: ServerConfig,
    options: Options,
    /// The snapshot, or the live tools if it is missing, with overrides and views applied.
    snapshot: Snapshot,
    /// The same without views, which the toolset applies.
    pub(super) listed: Snapshot,
    pub(super) client: Client,
}

/// Servers by their names.
pub(super) struct CalledServers<'c> {
    config: &'c Config,
    arguments: &'c args::Run,
    pub(super) found: BTreeMap<String, CalledServer>,
    /// For each action that names a server which there is not.
    pub(super) faults: Vec<Fault>,
}

impl<'c> CalledServers<'c> {
    /// Finds the servers that the script names, and those whose tools may have its names. It connects to a server only
    /// if the server has no snapshot and no other has the tool.
    pub(super) async fn find(
        config: &'c Config,
        script: &Script,
        arguments: &'c args::Run,
        output: &mut Output,
    ) -> Result<Self, Failure> {
        let mut servers = Self { config, arguments, found: BTreeMap::new(), faults: Vec::new() };
        for (name, place) in script.servers() {
            match config.server(name) {
                Ok(_) => servers.add(name, true, output).await?,
                Err(error) => {
                    let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
                    servers.faults.push(Fault::new(place, format!("{}{help}", error.message)));
                }
            }
        }
        let may_have =
            |name: &&String| project::options(config, name, None).is_ok_and(|options| script.may_call(&options));
        let (likely, others): (Vec<&String>, Vec<&String>) = config.servers.keys().partition(may_have);
        for (names, asks) in [(&likely, false), (&likely, true), (&others, false)] {
            for name in names {
                if servers.have_all(script) {
                    return Ok(servers);
                }
                servers.add(name, asks, output).await?;
            }
        }
        Ok(servers)
    }

    async fn add(&mut self, name: &str, asks: bool, output: &mut Output) -> Result<(), Failure> {
        let path = self.config.snapshot_path(name);
        let has_snapshot = path.exists();
        if self.found.contains_key(name) || !(has_snapshot || asks) {
            return Ok(());
        }
        let mut server = self.config.server(name)?.clone();
        server.timeout = self.arguments.timeout.or(server.timeout);
        let is_approved = self.arguments.yes;
        let options = ClientOptions::new().on_approval(move |_| async move {
            match is_approved {
                true => ApprovalAnswer::Approve,
                false => ApprovalAnswer::Decline("approve the template's calls with `--yes`".to_owned()),
            }
        });
        if has_snapshot {
            // A rule that has no effect on its tools is an error.
            source::of_server(self.config, name, None)?;
        }
        let known = has_snapshot.then(|| Snapshot::load(&path)).transpose()?;
        let client = live::client_knowing(self.config, &server, known.as_ref(), options);
        let declared = match known {
            Some(known) => known,
            None => {
                output.status("Asking", &format!("{name} what it offers"));
                Patience::new(self.arguments.timeout).ask(&client, client.snapshot()).await?
            }
        };
        let (listed, _) = adapted(declared.clone(), &path, None).map_err(source::misfits)?;
        let (snapshot, _) = adapted(declared, &path, Some(&server)).map_err(source::misfits)?;
        let options = project::options(self.config, name, None)?.beside(self.config);
        self.found.insert(name.to_owned(), CalledServer { server, options, snapshot, listed, client });
        Ok(())
    }

    /// Returns the known servers.
    pub(super) fn known(&self) -> Vec<KnownServer<'_>> {
        self.found.values().map(|found| KnownServer::new(&found.snapshot, &found.options)).collect()
    }

    fn have_all(&self, script: &Script) -> bool {
        let known = self.known();
        script.prefixed().all(|name| known.iter().any(|server| server.has(name)))
    }

    /// Closes all connections.
    pub(super) async fn close(&self) {
        for found in self.found.values() {
            found.client.close().await;
        }
    }
}
