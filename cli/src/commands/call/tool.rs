//! The tool that is called, as its snapshot describes it, or its server.

use std::path::Path;

use mcp_bindgen_model::{Config, Prefix, ServerConfig, Snapshot, printable};
use mcp_bindgen_runtime::{CallError, Client};
use mcp_bindgen_schema::names::PrefixedNames;
use mcp_bindgen_schema::viewed_tool;
use serde_json::Value;

use crate::exit::Failure;
use crate::flags::name_of;
use crate::live::Patience;
use crate::output::Output;
use crate::plan::adapted;
use crate::source::misfits;
use crate::text::did_you_mean;

/// Returns the tool from its snapshot, with overrides and view; `None` if the snapshot does not have it.
pub(super) fn of_snapshot(called: &Called<'_>, path: &Path, tool: &str, output: &mut Output) -> Option<Value> {
    let snapshot = called.known?;
    let seen = adapted(snapshot.clone(), path, Some(called.server));
    let tools = match &seen {
        Ok((seen, _)) => &seen.tools,
        Err(faults) => {
            // The server's list is enough for a call.
            faults.iter().for_each(|fault| output.warning(&fault.to_string()));
            &snapshot.tools
        }
    };
    entry(tools, tool).cloned()
}

/// Returns the tool as the server lists it now.
pub(super) async fn asked_for(client: &Client, called: &Called<'_>, patience: &mut Patience) -> Result<Value, Failure> {
    let tools = patience.ask(client, client.list_tools_raw()).await?;
    let wire = called.wire(&tools);
    if let Some(tool) = entry(&tools, &wire) {
        let view = called.server.views.get(&wire);
        return view.map_or_else(|| Ok(tool.clone()), |view| viewed_tool(tool, view)).map_err(misfits);
    }
    let mut failure = Failure::from(CallError::tool_not_found(client.name(), called.name));
    if let Some(help) = did_you_mean(called.name, names(&tools)) {
        failure.message.push_str(&format!("\n  = help: {help}"));
    }
    Err(failure)
}

/// A tool as the command line names it: by its name, that of its view, or its prefixed name.
pub(super) struct Called<'a> {
    pub(super) config: &'a Config,
    pub(super) server: &'a ServerConfig,
    pub(super) known: Option<&'a Snapshot>,
    pub(super) name: &'a str,
}

impl Called<'_> {
    /// Returns the tool's name on the server, if one of these tools has the given name.
    pub(super) fn wire(&self, tools: &[Value]) -> String {
        let Self { config, server, known, name } = self;
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
        names.add_listed(server, known.map(|known| known.tools.as_slice()).unwrap_or_default());
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
}

/// Returns the failure of a tool that a snapshot does not have.
pub(super) fn not_in(snapshot: &Snapshot, server: &str, tool: &str) -> Failure {
    let help = did_you_mean(tool, names(&snapshot.tools))
        .unwrap_or_else(|| format!("if the server has added it, run `mcp-bindgen sync {server}`"));
    Failure::new(format!("unknown tool `{}` of server `{server}`\n  = help: {help}", printable(tool)))
}

fn names(tools: &[Value]) -> impl Iterator<Item = &str> {
    tools.iter().filter_map(name_of)
}

fn entry<'t>(tools: &'t [Value], name: &str) -> Option<&'t Value> {
    tools.iter().find(|tool| name_of(tool) == Some(name))
}

/// Refuses tools that the configuration denies, before any question: the client would refuse them too.
pub(super) fn admit(server: &ServerConfig, tool: &str) -> Result<(), Failure> {
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
