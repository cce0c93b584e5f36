//! The keys of `[defaults]` and of a server: each row of a `table!` declares a key, its default, its help, and the field
//! that has the value, with which it is read, printed and embedded. The tables below them are in the files of their types.
//! The JSON Schema and the reference in the book follow from the rows. Unlisted keys are an error.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::table::{Table, table};
use crate::ByName;
use crate::server::{
    AuthConfig, ConfigPlaces, DRIFT, Drift, DriftRules, Isolation, Live, Pin, PolicyRule, Prefix, Rate, RustConfig,
    SecretStore, Transport, Types, UnknownKeys, View,
};

/// The kinds of transports, as they are written: in `transport`, or in `type` as other programs name it.
pub(super) const WAYS: &[&str] = &["stdio", "http", "sse", "streamable-http", "streamableHttp"];

table! {
    /// The values that servers inherit.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Defaults {
        /// The folder of the snapshots, relative to the file.
        pub snapshots: PathBuf => "snapshots", "\"mcp\"", "folder of the snapshots, relative to the file";
        /// The timeout of calls.
        pub timeout: Duration => "timeout", "\"30s\"", "`timeout` of servers that set none";
        /// The reaction to a live server that differs from its snapshot.
        pub drift: Drift => "drift", "\"warn\"", "`drift` of servers that set none";
        /// The parts of a bound tool that may not change.
        pub pin: Pin => "pin", "\"schema\"", "`pin` of servers that set none";
        /// The permission for builds to connect.
        pub live: Live => "live".page("drift.md"), "\"ask\"",
            "`\"never\"`: no build connects to a server, whatever `MCP_BINDGEN_LIVE` says";
        /// The isolation of child processes, unless their server sets its own.
        pub isolation: Option<Isolation> => "isolation".page("#isolation"), "",
            "`isolation` of child processes whose servers set none";
        /// The sources of values for `${NAME}`, unless a server sets its own.
        pub secret_stores: Vec<SecretStore> => "secrets".page("#secrets"), "[\"env\"]",
            "`secrets` of servers that set none";
    }
    with {
        /// `true` if `timeout` is set, even to the default; it then precedes a timeout of the program.
        pub(super) says_timeout: bool = false;
    }
}

impl Default for Defaults {
    fn default() -> Self {
        Self { snapshots: PathBuf::from("mcp"), timeout: Duration::from_secs(30), ..Self::empty() }
    }
}

table! {
    /// The configuration of a server. Values keep their placeholders until [`expand`](Self::expand).
    ///
    /// `Debug` prints placeholders, and no secrets.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::npm("github", "@modelcontextprotocol/server-github")
    ///     .env("GITHUB_PERSONAL_ACCESS_TOKEN", "${GITHUB_TOKEN}")
    ///     .tools(["list_*", "create_issue"])
    ///     .exclude(["list_secrets"]);
    /// assert!(server.selects("list_issues"));
    /// assert!(!server.selects("list_secrets"));
    ///
    /// let ready = server.expand(|variable| (variable == "GITHUB_TOKEN").then(|| "hidden".to_owned()))?;
    /// assert_eq!(ready.env["GITHUB_PERSONAL_ACCESS_TOKEN"], "hidden");
    /// assert!(!format!("{ready:?}").contains("hidden"));
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    #[derive(Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ServerConfig {
        => "command", "", "a child process; a command with a `/` is relative to the file, others are found on `PATH`";
        => "args".form(Form::TEXTS).child(), "[]", "arguments of the child";
        => "cwd".child(), "",
            "working directory of the child, relative to the file; by default that of the program, and for the command \
              line the folder of the file";
        => "npm", "", "a package instead of `command`: `npx -y PACKAGE`";
        => "uvx", "", "a package instead of `command`: `uvx PACKAGE`";
        /// Environment variables of the child process.
        pub env: BTreeMap<String, String> => "env".child().page("#environment-of-a-server"), "{}",
            "variables of the child, in addition to a short list";
        /// Environment variables of this process that the child process inherits.
        pub inherit_env: Vec<String> => "inherit_env".child(), "[]", "variables passed on to the child";
        => "url", "", "an HTTP endpoint instead of `command`";
        => "transport".form(Form::Words(WAYS)), "by `command` or `url`",
            "`\"sse\"` is the HTTP+SSE of 2024; the others are implied";
        => "headers".form(Form::Map(&Form::TEXT)).remote(), "{}", "headers of every request to `url`";
        /// The certificate authorities to trust for a server at a URL, instead of the system's: PEM, or the path of a
        /// PEM file. A relative path is relative to the `folder`.
        pub ca: Option<String> => "ca".remote().page("#tls-and-proxies"), "the system's",
            "certificate authorities to trust for `url`, instead of the system's: a PEM file relative to the file, or \
             its text";
        /// The certificate and the private key of this client for a server at a URL: PEM, or the path of a PEM file.
        pub client_cert: Option<String> => "client_cert".remote().page("#tls-and-proxies"), "",
            "certificate and private key of this client: a PEM file relative to the file, or its text";
        /// The HTTP proxy to a server at a URL, instead of the one of the environment.
        pub proxy: Option<String> => "proxy".remote().page("#tls-and-proxies"), "of the environment",
            "the HTTP proxy to `url`: `\"http://user:${PROXY_PASSWORD}@proxy.example:3128\"`";
        /// The OAuth settings of a server at a URL.
        pub auth: Option<AuthConfig> => "auth".remote().page("#oauth"), "",
            "OAuth settings, beyond those that the server announces";
        /// Globs of the tools to use; `None` for all. The runtime denies calls of other tools. Like `exclude` and
        /// `approve`, this does not affect prompts and resources.
        pub tools: Option<Vec<String>> => "tools", "all",
            "globs of the tools to bind; a call of any other tool is `CallError::Denied`";
        /// Globs of the tools to exclude, applied after `tools`.
        pub exclude: Vec<String> => "exclude", "[]",
            "globs of tools to leave out, applied after `tools`; they can be neither bound nor called";
        /// Globs of the tools whose calls need approval, for which the runtime asks the program.
        pub approve: Vec<String> => "approve".page("governance.md#approvals"), "[]",
            "globs of tools that need an approval; on the command line a confirmation or `--yes`";
        /// Globs of the URIs of the resources to use; `None` for all. The runtime denies other reads.
        pub resources: Option<Vec<String>> => "resources", "all",
            "globs of the URIs of resources to read and list";
        /// Globs of the prompts to use; `None` for all. The runtime denies others.
        pub prompts: Option<Vec<String>> => "prompts", "all", "globs of the prompts to get and list";
        /// The rules about calls. The strictest rule that applies to a call decides.
        pub policies: Vec<PolicyRule> => "policy".page("governance.md#policies-in-mcptoml"), "[]",
            "rules about calls of this server";
        /// `true` if sessions of a proxy share one connection, because the server keeps no state for them.
        pub shared: bool => "shared".page("proxy.md#shared-servers"), "false",
            "`true`: sessions of a proxy share one connection, because the server keeps nothing";
        /// Globs of the tools that templates may call that are not local files, within `tools` and `exclude`; none by
        /// default.
        pub remote_use: Vec<String> => "remote_use".page("templates.md"), "[]",
            "globs of tools that non-local templates may call";
        /// The prefix of names in bindings.
        pub prefix: Prefix => "prefix", "the name", "prefix of functions, types and prefixed names; `false` for none";
        /// The backend for the types of bindings.
        pub types: Types => "types", "\"native\"", "`\"typify\"` for the typify backend (feature `typify`)";
        /// The handling of undeclared properties in generated types.
        pub unknown: UnknownKeys => "unknown".not_embedded(), "\"ignore\"",
            "`\"keep\"` keeps undeclared keys in a field `extra`";
        /// The views of tools, by their names on the server.
        pub views: ByName<View> => "view".page("#views"), "",
            "what programs and models see of a tool, by its name on the server";
        /// Further options of the generated code.
        pub rust: RustConfig => "rust".not_embedded().page("generated-code.md#change-the-generated-code"), "",
            "changes of the generated code";
        /// The purpose of the server.
        pub description: Option<String> => "description", "", "purpose of the server: `client.config().description`";
        /// The number of calls in a time; further calls wait.
        pub limit: Option<Rate> => "limit".page("#limits"), "",
            "calls in a time; further calls wait: `\"10/s\"`, `\"100/m\"`, `\"1000/h\"`";
        /// The timeout of calls.
        pub timeout: Option<Duration> => "timeout", "of `[defaults]`",
            "limit of a call on an open connection, restarted by progress: `\"500ms\"`, `\"30s\"`, `\"2m\"`, `\"1h\"`";
        /// The timeout of connecting.
        pub connect_timeout: Option<Duration> => "connect_timeout", "\"60s\"",
            "limit of connecting, including the download of a package";
        => "drift".form(Form::Either(&Drift::FORM, &Form::Table(DRIFT))).page("drift.md#at-run-time"), "of `[defaults]`",
            "reaction to a live server that differs: `\"ignore\"`, `\"warn\"` or `\"deny\"`, or a table";
        /// The parts of a bound tool that may not change.
        pub pin: Option<Pin> => "pin", "of `[defaults]`",
            "`\"schema\"`, or `\"all\"`: descriptions and annotations may not change either";
        /// The isolation of the child process; `None` for none.
        pub isolation: Option<Isolation> => "isolation".child().page("#isolation"), "", "what the child can access";
        /// The sources of values for `${NAME}`, in order; empty for the environment alone.
        pub secret_stores: Vec<SecretStore> => "secrets".page("#secrets"), "of `[defaults]`",
            "where `${NAME}` is looked up, in order: `\"env\"`, `\"keyring\"` and `\"dotenv:PATH\"`";
        /// `true` if a model provider may connect to the server itself. Its URL and headers, including secrets, are
        /// then sent to the provider. Only `HostedServers` of `mcp_bindgen::agents` uses this.
        pub hosted: bool => "hosted".remote().page("agents.md#hosted-servers"), "false",
            "`true` allows `HostedServers` to hand the server to the model's provider";
        => "type".form(Form::Words(WAYS)), "", "another name of `transport`";
    }
    with {
        /// The name.
        pub name: String = String::new();
        /// How to reach it.
        pub transport: Transport = Transport::Stdio { command: String::new(), args: Vec::new(), cwd: None };
        /// The reaction to a live server that differs from its snapshot.
        pub drift: Option<Drift> = None;
        /// The accepted changes, and the classes of rules.
        pub drift_rules: DriftRules = DriftRules::default();
        /// The folder of the configuration file; relative paths in `command`, `cwd`, `isolation`, `ca` and `client_cert`
        /// are relative to it.
        pub folder: Option<PathBuf> = None;
        /// The positions of the patterns above in the configuration.
        pub places: ConfigPlaces = ConfigPlaces::default();
        /// The configuration before the placeholders were replaced: only it may be shown afterwards.
        pub(crate) as_written: Option<Box<ServerConfig>> = None;
    }
}
