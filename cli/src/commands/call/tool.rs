//! The tool that is called, as its snapshot describes it, or its server.

use mcp_bindgen_model::{Config, Prefix, ServerConfig, Snapshot, printable};
use mcp_bindgen_runtime::{CallError, Client};
use mcp_bindgen_schema::names::PrefixedNames;
use mcp_bindgen_schema::viewed_tool;
use serde_json::Value;

use crate::exit::{Failure, Result};
use crate::flags::name_of;
use crate::live::Patience;
use crate::output::Output;
use crate::plan::adapted;
use crate::source::misfits;
use crate::text::did_you_mean;

/// A tool as the command line names it: by its name, that of its view, or its prefixed name.
pub(super) struct Called<'a> {
    pub(super) config: &'a Config,
    pub(super) server: &'a ServerConfig,
    pub(super) known: Option<&'a Snapshot>,
    pub(super) name: &'a str,
}

impl Called<'_> {
    /// Returns the tools of the snapshot, or none.
    pub(super) fn known_tools(&self) -> &[Value] {
        self.known.map_or(&[], |known| &known.tools)
    }

    /// Returns the tool's name on the server, if one of these tools has the given name.
    pub(super) fn wire(&self, tools: &[Value]) -> String {
        let Self { config, server, name, .. } = self;
        let listed: Vec<&str> = names(tools).collect();
        if listed.contains(name) {
            return (*name).to_owned();
        }
        if let Some((tool, _)) = server.views.iter().find(|(_, view)| view.name.as_deref() == Some(name)) {
            return tool.clone();
        }
        let selected: Vec<&str> = listed.into_iter().filter(|tool| server.selects(tool)).collect();
        let (mut names, _) = PrefixedNames::beside(config, &server.name);
        names.add_configured(server);
        names.add_listed(server, self.known_tools());
        let prefixed = names.tools(&server.name, &selected);
        let found = selected.iter().zip(prefixed).find(|(_, prefixed)| prefixed == name);
        found.map_or(*name, |(tool, _)| *tool).to_owned()
    }

    /// Returns `true` if only the server's list determines the tool.
    pub(super) fn may_be_prefixed(&self) -> bool {
        let mut names = PrefixedNames::default();
        names.add_configured(self.server);
        self.known.is_none() && self.server.prefix != Prefix::None && names.may_have(&self.server.name, self.name)
    }

    /// Returns the tool from its snapshot, with overrides and view; `None` if the snapshot does not have it.
    pub(super) fn of_snapshot(&self, tool: &str, output: &mut Output) -> Option<Value> {
        let path = self.config.snapshot_path(&self.server.name);
        match adapted(self.known?.clone(), &path, Some(self.server)) {
            Ok((seen, _)) => entry(&seen.tools, tool).cloned(),
            Err(faults) => {
                // The server's list is enough for a call.
                faults.iter().for_each(|fault| output.warning(&fault.to_string()));
                entry(self.known_tools(), tool).cloned()
            }
        }
    }

    /// Returns the tool as the server lists it now.
    pub(super) async fn listed(&self, client: &Client, patience: &mut Patience) -> Result<Value> {
        let tools = patience.ask(client, client.list_tools_raw()).await?;
        let wire = self.wire(&tools);
        if let Some(tool) = entry(&tools, &wire) {
            let view = self.server.views.get(&wire);
            return view.map_or_else(|| Ok(tool.clone()), |view| viewed_tool(tool, view)).map_err(misfits);
        }
        let failure = Failure::from(CallError::tool_not_found(client.name(), self.name));
        Err(did_you_mean(self.name, names(&tools)).into_iter().fold(failure, Failure::with_help))
    }

    /// Returns the failure of a tool that the snapshot does not have; `None` without a snapshot.
    pub(super) fn unknown(&self, tool: &str) -> Option<Failure> {
        let (known, server) = (self.known?, &self.server.name);
        let help = did_you_mean(tool, names(&known.tools))
            .unwrap_or_else(|| format!("if the server has added it, run `mcp-bindgen sync {server}`"));
        Some(Failure::new(format!("unknown tool `{}` of server `{server}`", printable(tool))).with_help(help))
    }
}

fn names(tools: &[Value]) -> impl Iterator<Item = &str> {
    tools.iter().filter_map(name_of)
}

fn entry<'t>(tools: &'t [Value], name: &str) -> Option<&'t Value> {
    tools.iter().find(|tool| name_of(tool) == Some(name))
}

/// Refuses tools that the configuration denies, before any question: the client would refuse them too.
pub(super) fn admit(server: &ServerConfig, tool: &str) -> Result<()> {
    if server.selects(tool) {
        return Ok(());
    }
    let reason = if server.excludes(tool) {
        "it is excluded by `exclude` of the server"
    } else {
        "it is not selected by `tools` of the server"
    };
    Err(CallError::denied(&*server.name, tool, reason).into())
}
