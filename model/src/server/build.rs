//! Making a configuration in code.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{
    AuthConfig, Drift, DriftRules, Isolation, Pin, PolicyRule, Prefix, Rate, RustConfig, SecretStore, Transport, Types,
    UnknownKeys, View,
};
use crate::config::{ServerConfig, Table};
use crate::setters::{adders, setters};

impl ServerConfig {
    fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self { name: name.into(), transport, ..Self::empty() }
    }

    /// Configures a child process.
    pub fn stdio(name: impl Into<String>, command: impl Into<String>) -> Self {
        Self::new(name, Transport::Stdio { command: command.into(), args: Vec::new(), cwd: None })
    }

    /// Configures a package from npm, started by `npx -y`.
    pub fn npm(name: impl Into<String>, package: impl Into<String>) -> Self {
        Self::stdio(name, "npx").args(["-y".to_owned(), package.into()])
    }

    /// Configures a package from PyPI, started by `uvx`.
    pub fn uvx(name: impl Into<String>, package: impl Into<String>) -> Self {
        Self::stdio(name, "uvx").args([package.into()])
    }

    /// Configures a server at a URL, over streamable HTTP.
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name, Transport::Http { url: url.into(), headers: BTreeMap::new() })
    }

    /// Configures a server at a URL, over the older HTTP with server-sent events.
    pub fn sse(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name, Transport::Sse { url: url.into(), headers: BTreeMap::new() })
    }

    /// Adds arguments of the child process; no effect for a URL.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, more: impl IntoIterator<Item = S>) -> Self {
        if let Transport::Stdio { args, .. } = &mut self.transport {
            args.extend(more.into_iter().map(Into::into));
        }
        self
    }

    /// Sets the working directory of the child process; no effect for a URL.
    #[must_use]
    pub fn cwd(mut self, folder: impl Into<String>) -> Self {
        if let Transport::Stdio { cwd, .. } = &mut self.transport {
            *cwd = Some(folder.into());
        }
        self
    }

    /// Sets a header of every request; no effect for a child process.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Transport::Http { headers, .. } | Transport::Sse { headers, .. } = &mut self.transport {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// Returns the tools that bindings and models know by another name, with that name: from `view`, and from `rename`
    /// of `rust`.
    pub fn renamed_tools(&self) -> impl Iterator<Item = (String, &str)> {
        let views = self.views.iter().filter_map(|(tool, view)| Some((tool.clone(), view.name.as_deref()?)));
        self.renamed_in_rust().chain(views)
    }

    /// Returns the tools that `rust` renames, with their new names.
    pub(crate) fn renamed_in_rust(&self) -> impl Iterator<Item = (String, &str)> {
        // The keys of places in a tool have a `/`; one in the tool's own name is escaped.
        let renames = self.rust.rules.iter().filter(|rule| rule.option == "rename" && !rule.key.contains('/'));
        renames.map(|rule| (crate::pointer_key(&rule.key), rule.value.as_str()))
    }
}

adders! {
    ServerConfig {
        /// Passes environment variables of this process to the child process.
        inherit_env(names) => [inherit_env];
        /// Selects only the tools that match one of these globs.
        tools(globs) => [tools.get_or_insert_default()];
        /// Excludes the tools that match one of these globs.
        exclude(globs) => [exclude];
        /// Requires approval of every call of the tools that match one of these globs.
        approve(globs) => [approve];
        /// Limits the resources to those whose URI matches one of these globs.
        resources(globs) => [resources.get_or_insert_default()];
        /// Limits the prompts to those that match one of these globs.
        prompts(globs) => [prompts.get_or_insert_default()];
        /// Lets templates that are not local files call the tools that match one of these globs, and no others.
        remote_use(globs) => [remote_use];
    }
}

setters! {
    ServerConfig {
        /// Sets an environment variable of the child process.
        env(name: impl Into<String>, value: impl Into<String>) { env.insert(name.into(), value.into()) }
        /// Looks up the values of `${NAME}` in these places, in order, instead of the environment alone.
        secret_stores(stores: impl IntoIterator<Item = SecretStore>) { secret_stores.extend(stores) }
        /// Lets model providers connect to the server themselves, with its headers. Not possible for a child process:
        /// `HostedServers` reports this.
        hosted() { hosted = true }
        /// Adds a rule about calls.
        policy(rule: PolicyRule) { policies.push(rule) }
        /// Lets the sessions of a proxy share one connection, because the server keeps no state for them.
        shared() { shared = true }
        /// Sets the view of a tool, by its name on the server.
        view(tool: impl Into<String>, view: View) { views.insert(tool.into(), view) }
        /// Isolates the child process from the machine. Connecting to a URL with this fails.
        isolation(isolation: Isolation) { isolation = Some(isolation) }
        /// Sets the prefix of names in bindings.
        prefix(prefix: Prefix) { prefix = prefix }
        /// Sets the backend for the types of bindings.
        types(types: Types) { types = types }
        /// Sets the handling of undeclared properties in generated types.
        unknown(unknown: UnknownKeys) { unknown = unknown }
        /// Sets further options of generated code.
        rust(rust: RustConfig) { rust = rust }
        /// Describes the server's purpose.
        description(text: impl Into<String>) { description = Some(text.into()) }
        /// Sets the timeout of calls.
        timeout(timeout: Duration) { timeout = Some(timeout) }
        /// Sets the timeout of connecting.
        connect_timeout(timeout: Duration) { connect_timeout = Some(timeout) }
        /// Limits the calls in a time; further calls wait.
        limit(rate: Rate) { limit = Some(rate) }
        /// Sets the certificate authorities to trust for a server at a URL, instead of the system's: PEM, or the path of a
        /// PEM file.
        ca(pem: impl Into<String>) { ca = Some(pem.into()) }
        /// Sets the certificate and the private key of this client for a server at a URL: PEM, or the path of a PEM file.
        client_cert(pem: impl Into<String>) { client_cert = Some(pem.into()) }
        /// Sets the HTTP proxy to a server at a URL, instead of the one of the environment.
        proxy(url: impl Into<String>) { proxy = Some(url.into()) }
        /// Sets the OAuth settings of a server at a URL.
        auth(auth: AuthConfig) { auth = Some(auth) }
        /// Sets the reaction to a live server that differs from its snapshot.
        drift(drift: Drift) { drift = Some(drift) }
        /// Sets the accepted changes, and the classes of rules.
        drift_rules(rules: DriftRules) { drift_rules = rules }
        /// Sets which parts of a bound tool may not change.
        pin(pin: Pin) { pin = Some(pin) }
    }
}
