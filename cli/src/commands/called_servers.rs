//! The servers that a template may call, and their tools.

use std::collections::BTreeMap;

use mcp_bindgen_codegen::template::{KnownServer, Script};
use mcp_bindgen_codegen::{Bindings, Options, ToolBinding};
use mcp_bindgen_model::{Config, ServerConfig, Snapshot};
use mcp_bindgen_runtime::{Annotations, Client, ClientOptions, ServerSpec, ToolSpec};
use mcp_bindgen_template::Fault;
use serde_json::Value;

use crate::exit::Failure;
use crate::live::{self, Patience};
use crate::output::Output;
use crate::plan::adapted;
use crate::project;
use crate::source;

/// A server, as far as a template needs it.
pub(super) struct CalledServer {
    pub(super) server: ServerConfig,
    pub(super) options: Options,
    /// The snapshot, or the live tools if it is missing, with overrides applied.
    pub(super) snapshot: Snapshot,
    pub(super) client: Client,
}

impl CalledServer {
    /// Returns the server with those of its tools that a template calls. Nothing of it is ever given back: a run has
    /// one template, and the program ends with it.
    pub(super) fn spec(&self, called: &[&str]) -> &'static ServerSpec {
        let (bindings, _) = Bindings::describe(&self.snapshot, &self.options);
        let mut tools: Vec<ToolSpec> = Vec::new();
        for binding in bindings.iter().filter(|binding| called.contains(&binding.tool.as_str())) {
            if !tools.iter().any(|known| known.name == binding.tool) {
                tools.extend(tool(&self.snapshot, binding));
            }
        }
        Box::leak(Box::new(ServerSpec::new(kept(self.options.server_name())).tools(Vec::leak(tools))))
    }
}

/// Servers by their names.
pub(super) struct CalledServers<'c> {
    config: &'c Config,
    make: &'c dyn Fn() -> ClientOptions,
    timeout: Option<std::time::Duration>,
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
        make: &'c dyn Fn() -> ClientOptions,
        timeout: Option<std::time::Duration>,
        output: &mut Output,
    ) -> Result<Self, Failure> {
        let mut servers = Self { config, make, timeout, found: BTreeMap::new(), faults: Vec::new() };
        for (name, place) in script.servers() {
            match config.server(name) {
                Ok(_) => servers.add(name, true, output).await?,
                Err(error) => {
                    let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
                    servers.faults.push(Fault::new(place, format!("{}{help}", error.message)));
                }
            }
        }
        let all: Vec<&String> = config.servers.keys().collect();
        let may_have = |name: &str| project::options(config, name, None).is_ok_and(|options| script.may_call(&options));
        let (likely, others): (Vec<&String>, Vec<&String>) = all.into_iter().partition(|name| may_have(name));
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
        if self.found.contains_key(name) {
            return Ok(());
        }
        let path = self.config.snapshot_path(name);
        let mut server = self.config.server(name)?.clone();
        let options = (self.make)();
        server.timeout = self.timeout.or(server.timeout);
        let (client, snapshot, bindings) = if path.exists() {
            let bound = source::of_server(self.config, name, None)?;
            let known = Snapshot::load(&path)?;
            (live::client_knowing(self.config, &server, Some(&known), options), bound.snapshot, bound.options)
        } else if asks {
            output.status("Asking", &format!("{name} what it offers"));
            let client = live::client_knowing(self.config, &server, None, options);
            let snapshot = Patience::new(self.timeout).ask(&client, client.snapshot()).await?;
            let (snapshot, _) = adapted(snapshot, &path, Some(&server)).map_err(source::misfits)?;
            (client, snapshot, project::options(self.config, name, None)?.beside(self.config))
        } else {
            return Ok(());
        };
        self.found.insert(name.to_owned(), CalledServer { server, options: bindings, snapshot, client });
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

fn tool(snapshot: &Snapshot, binding: &ToolBinding) -> Option<ToolSpec> {
    let tool = snapshot.tools.get(binding.index)?;
    let text = |key: &str| tool.get(key).and_then(Value::as_str);
    let hints = tool.get("annotations");
    let mut spec = ToolSpec::new(kept(&binding.tool), kept(&input_schema(tool))).prefixed(kept(&binding.prefixed));
    // `pin = "all"` compares them with those of the live server.
    if let Some(title) = text("title").or_else(|| hints?.get("title")?.as_str()) {
        spec = spec.title(kept(title));
    }
    if let Some(description) = text("description") {
        spec = spec.description(kept(description));
    }
    if let Some(output) = output_schema(tool) {
        spec = spec.output_schema(kept(&output));
    }
    spec = spec.hints(hints.map(Annotations::listed).unwrap_or_default());
    if let Some(viewed) = &binding.viewed {
        spec = spec
            .viewed(kept(&viewed.view.to_json().to_string()), kept(&viewed.declared_texts().to_string()))
            .with_declared_input_schema(kept(&input_schema(&viewed.before)));
    }
    if let Some(overridden) = snapshot.overridden.get(&binding.tool) {
        let declared = &overridden.declared;
        spec = spec
            .with_declared_input_schema(kept(&input_schema(declared)))
            .with_declared_output_schema(output_schema(declared).map(|schema| kept(&schema)));
    }
    Some(spec)
}

fn input_schema(tool: &Value) -> String {
    let schema = tool.get("inputSchema").filter(|schema| schema.is_object());
    schema.map_or_else(|| r#"{"type":"object"}"#.to_owned(), Value::to_string)
}

fn output_schema(tool: &Value) -> Option<String> {
    tool.get("outputSchema").filter(|schema| schema.is_object()).map(Value::to_string)
}

fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
