//! Every key of `mcp.toml`: its name, the type of its value, its default and its help. A row of a `table!` also
//! declares the field that has the value, with which it is read, printed and embedded. The JSON Schema and the reference
//! in the book use these tables. Unlisted keys are an error.

use std::collections::BTreeMap;
use std::iter::once;
use std::path::PathBuf;
use std::time::Duration;

use super::access::AccessEntry;
use super::key::{Form, Key, key};
use super::table::{Table, table};
use crate::server::{
    AuthConfig, ConfigPlaces, Drift, DriftRules, Isolation, Live, Pin, PolicyRule, Prefix, Rate, RustConfig,
    SecretStore, Transport, Types, UnknownKeys, View,
};
use crate::words::Words;
use crate::{ChangeKind, Class};

fn classes() -> Vec<&'static str> {
    Class::ALL.map(Class::name).to_vec()
}

pub(crate) static FILE: [Key; 7] = [
    key("defaults", Form::Table(Defaults::KEYS), "", "values that servers inherit"),
    key(
        "servers",
        Form::TableMap(ServerConfig::KEYS),
        "",
        "the servers by name: a name has 1 to 64 of `a-z`, `0-9`, `_` and `-`",
    ),
    key("tools", Form::TableMap(&JOINED), "", "tools for models that stand for like tools of several servers, by name")
        .page("agents.md#one-tool-for-several-servers"),
    key("policy", Form::Tables(PolicyRule::KEYS), "[]", "rules about calls, with each tool as `\"server/tool\"`")
        .page("governance.md#policies-in-mcptoml"),
    key(
        "access",
        Form::TableMap(AccessEntry::KEYS),
        "",
        "servers and tools that callers see through a proxy, by name; others see nothing",
    )
    .page("proxy.md#access"),
    key("deny", Form::Codes, "[]", "diagnostic codes that are errors").page("diagnostics.md"),
    key("allow", Form::Codes, "[]", "diagnostic codes that are hidden").page("diagnostics.md"),
];

pub(super) static JOINED: [Key; 1] =
    [key("of", Form::Texts, "", "the tools, each as `\"server/tool\"`; an argument says which server is meant")];

/// The transports as they are written: `transport`, or `type` as other programs name it.
pub(super) const TRANSPORTS: [&str; 5] = ["stdio", "http", "sse", "streamable-http", "streamableHttp"];

fn transports() -> Vec<&'static str> {
    TRANSPORTS.to_vec()
}

table! {
    /// The values that servers inherit.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Defaults {
        /// The folder of the snapshots, relative to the file.
        pub snapshots: PathBuf => "snapshots", "\"mcp\"",
            "folder of the snapshots, relative to the file";
        /// The timeout of calls.
        pub timeout: Duration => "timeout", "\"30s\"",
            "`timeout` of servers that set none";
        /// The reaction to a live server that differs from its snapshot.
        pub drift: Drift => "drift", "\"warn\"",
            "`drift` of servers that set none";
        /// The parts of a bound tool that may not change.
        pub pin: Pin => "pin", "\"schema\"",
            "`pin` of servers that set none";
        /// The permission for builds to connect.
        pub live: Live => "live", "\"ask\"",
            "`\"never\"`: no build connects to a server, whatever `MCP_BINDGEN_LIVE` says"
            .page("drift.md");
        /// The isolation of child processes, unless their server sets its own.
        pub isolation: Option<Isolation> => "isolation", "",
            "`isolation` of child processes whose servers set none"
            .page("#isolation");
        /// The sources of values for `${NAME}`, unless a server sets its own.
        pub secret_stores: Vec<SecretStore> => "secrets", "[\"env\"]",
            "`secrets` of servers that set none"
            .page("#secrets");
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
        => "command", "",
            "a child process; a command with a `/` is relative to the file, others are found on `PATH`"
            .form(Form::Text);
        => "args", "[]",
            "arguments of the child"
            .form(Form::Texts).child();
        => "cwd", "",
            "working directory of the child, relative to the file; by default that of the program, and for the command \
              line the folder of the file"
            .form(Form::Text).child();
        => "npm", "",
            "a package instead of `command`: `npx -y PACKAGE`"
            .form(Form::Text);
        => "uvx", "",
            "a package instead of `command`: `uvx PACKAGE`"
            .form(Form::Text);
        /// Environment variables of the child process.
        pub env: BTreeMap<String, String> => "env", "{}",
            "variables of the child, in addition to a short list"
            .child().page("#environment-of-a-server");
        /// Environment variables of this process that the child process inherits.
        pub inherit_env: Vec<String> => "inherit_env", "[]",
            "variables passed on to the child"
            .child();
        => "url", "",
            "an HTTP endpoint instead of `command`"
            .form(Form::Text);
        => "transport", "by `command` or `url`",
            "`\"sse\"` is the HTTP+SSE of 2024; the others are implied"
            .form(Form::Words(transports));
        => "headers", "{}",
            "headers of every request to `url`"
            .form(Form::TextMap).remote();
        /// The certificate authorities to trust for a server at a URL, instead of the system's: PEM, or the path of a
        /// PEM file. A relative path is relative to the `folder`.
        pub ca: Option<String> => "ca", "the system's",
            "certificate authorities to trust for `url`, instead of the system's: a PEM file relative to the file, or \
             its text"
            .remote().page("#tls-and-proxies");
        /// The certificate and the private key of this client for a server at a URL: PEM, or the path of a PEM file.
        pub client_cert: Option<String> => "client_cert", "",
            "certificate and private key of this client: a PEM file relative to the file, or its text"
            .remote().page("#tls-and-proxies");
        /// The HTTP proxy to a server at a URL, instead of the one of the environment.
        pub proxy: Option<String> => "proxy", "of the environment",
            "the HTTP proxy to `url`: `\"http://user:${PROXY_PASSWORD}@proxy.example:3128\"`"
            .remote().page("#tls-and-proxies");
        /// The OAuth settings of a server at a URL.
        pub auth: Option<AuthConfig> => "auth", "",
            "OAuth settings, beyond those that the server announces"
            .remote().page("#oauth");
        /// Globs of the tools to use; `None` for all. The runtime denies calls of other tools. Like `exclude` and
        /// `approve`, this does not affect prompts and resources.
        pub tools: Option<Vec<String>> => "tools", "all",
            "globs of the tools to bind; a call of any other tool is `CallError::Denied`"
            .demand();
        /// Globs of the tools to exclude, applied after `tools`.
        pub exclude: Vec<String> => "exclude", "[]",
            "globs of tools to leave out, applied after `tools`; they can be neither bound nor called"
            .demand();
        /// Globs of the tools whose calls need approval, for which the runtime asks the program.
        pub approve: Vec<String> => "approve", "[]",
            "globs of tools that need an approval; on the command line a confirmation or `--yes`"
            .demand().page("governance.md#approvals");
        /// Globs of the URIs of the resources to use; `None` for all. The runtime denies other reads.
        pub resources: Option<Vec<String>> => "resources", "all",
            "globs of the URIs of resources to read and list"
            .demand();
        /// Globs of the prompts to use; `None` for all. The runtime denies others.
        pub prompts: Option<Vec<String>> => "prompts", "all",
            "globs of the prompts to get and list"
            .demand();
        /// The rules about calls. The strictest rule that applies to a call decides.
        pub policies: Vec<PolicyRule> => "policy", "[]",
            "rules about calls of this server"
            .demand().page("governance.md#policies-in-mcptoml");
        /// `true` if sessions of a proxy share one connection, because the server keeps no state for them.
        pub shared: bool => "shared", "false",
            "`true`: sessions of a proxy share one connection, because the server keeps nothing"
            .page("proxy.md#shared-servers");
        /// Globs of the tools that templates may call that are not local files, within `tools` and `exclude`; none by
        /// default.
        pub remote_use: Vec<String> => "remote_use", "[]",
            "globs of tools that non-local templates may call"
            .demand().page("templates.md");
        /// The prefix of names in bindings.
        pub prefix: Prefix => "prefix", "the name",
            "prefix of functions, types and prefixed names; `false` for none";
        /// The backend for the types of bindings.
        pub types: Types => "types", "\"native\"",
            "`\"typify\"` for the typify backend (feature `typify`)";
        /// The handling of undeclared properties in generated types.
        pub unknown: UnknownKeys => "unknown", "\"ignore\"",
            "`\"keep\"` keeps undeclared keys in a field `extra`"
            .not_embedded();
        /// The views of tools, by their names on the server.
        pub views: BTreeMap<String, View> => "view", "",
            "what programs and models see of a tool, by its name on the server"
            .demand().page("#views");
        /// Further options of the generated code.
        pub rust: RustConfig => "rust", "",
            "changes of the generated code"
            .not_embedded().page("generated-code.md#change-the-generated-code");
        /// The purpose of the server.
        pub description: Option<String> => "description", "",
            "purpose of the server: `client.config().description`";
        /// The number of calls in a time; further calls wait.
        pub limit: Option<Rate> => "limit", "",
            "calls in a time; further calls wait: `\"10/s\"`, `\"100/m\"`, `\"1000/h\"`"
            .demand().page("#limits");
        /// The timeout of calls.
        pub timeout: Option<Duration> => "timeout", "of `[defaults]`",
            "limit of a call on an open connection, restarted by progress: `\"500ms\"`, `\"30s\"`, `\"2m\"`, `\"1h\"`";
        /// The timeout of connecting.
        pub connect_timeout: Option<Duration> => "connect_timeout", "\"60s\"",
            "limit of connecting, including the download of a package";
        => "drift", "of `[defaults]`",
            "reaction to a live server that differs: `\"ignore\"`, `\"warn\"` or `\"deny\"`, or a table"
            .form(Form::WordsOrTable(Drift::words, &DRIFT)).page("drift.md#at-run-time");
        /// The parts of a bound tool that may not change.
        pub pin: Option<Pin> => "pin", "of `[defaults]`",
            "`\"schema\"`, or `\"all\"`: descriptions and annotations may not change either"
            .demand();
        /// The isolation of the child process; `None` for none.
        pub isolation: Option<Isolation> => "isolation", "",
            "what the child can access"
            .child().page("#isolation");
        /// The sources of values for `${NAME}`, in order; empty for the environment alone.
        pub secret_stores: Vec<SecretStore> => "secrets", "of `[defaults]`",
            "where `${NAME}` is looked up, in order: `\"env\"`, `\"keyring\"` and `\"dotenv:PATH\"`"
            .page("#secrets");
        /// `true` if a model provider may connect to the server itself. Its URL and headers, including secrets, are
        /// then sent to the provider. Only `HostedServers` of `mcp_bindgen::agents` uses this.
        pub hosted: bool => "hosted", "false",
            "`true` allows `HostedServers` to hand the server to the model's provider"
            .remote().page("agents.md#hosted-servers");
        => "type", "",
            "another name of `transport`"
            .form(Form::Words(transports));
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

pub(super) static RUST: [Key; 7] = [
    key("derive", Form::Texts, "[]", "derives beside the usual ones, where they hold"),
    key("rename", Form::TextMap, "{}", "names of tools and properties in Rust"),
    key("extern", Form::TextMap, "{}", "types of yours, with serde's traits, in place of definitions"),
    key("shared", Form::TextMap, "{}", "one type for every place with the same shape as the named one"),
    key("setters", Form::Boolean, "false", "chained setters for optional arguments"),
    key("named", Form::Boolean, "false", "a builder instead of `new` with positions"),
    key("checked", Form::Boolean, "false", "newtypes that check patterns, lengths, numbers of items and bounds"),
];

pub(super) static HINTS: [Key; 4] = [
    key("read_only", Form::Boolean, "", "`false`: the tool may change something"),
    key("destructive", Form::Boolean, "", "`true`: it may delete or overwrite something"),
    key("idempotent", Form::Boolean, "", "`false`: a second call may have a second effect"),
    key("open_world", Form::Boolean, "", "`true`: it may reach systems beyond the server"),
];

pub(super) static ISOLATION: [Key; 4] = [
    key("home", Form::Words(|| vec!["temp"]), "", "an empty home in memory, deleted when the server ends"),
    key(
        "network",
        Form::WordsOrTexts(|| vec!["none"]),
        "",
        "no network, and no connections to this machine; or the domains that it may reach, and nothing else",
    )
    .page("#domains"),
    key("read", Form::Texts, "[]", "files and folders that the child can read"),
    key("write", Form::Texts, "[]", "files and folders that the child can read and write"),
];

pub(super) static DRIFT: [Key; 3] = [
    key("mode", Form::Words(Drift::words), "of `[defaults]`", "as `drift` without a table"),
    key("class", Form::RuleMap(classes), "{}", "the class of a rule, by its id"),
    key("accept", Form::Tables(&ACCEPTANCE), "[]", "accepted changes; `rule` and `reason` are required")
        .page("drift.md#accept-a-change"),
];

pub(super) static ACCEPTANCE: [Key; 5] = [
    key("rule", Form::Words(|| ChangeKind::ALL.iter().map(|kind| kind.id()).collect()), "", "the id of the rule"),
    key("tool", Form::Text, "all", "a glob of tools; without it, changes of the server itself are covered too"),
    key("at", Form::Text, "all", "a JSON pointer into the tool: covers that place and every place below it"),
    key("until", Form::Date, "", "the last day, in UTC"),
    key("reason", Form::Text, "", "the reason, for reviewers"),
];

pub(super) static CONDITION: [Key; 6] = [
    key("equals", Form::Value, "", "the value"),
    key("prefix", Form::Text, "", "the beginning of a string"),
    key("pattern", Form::Text, "", "a regular expression that matches a part of a string"),
    key("min", Form::Number, "", "the least number"),
    key("max", Form::Number, "", "the greatest number"),
    key("present", Form::Boolean, "", "whether the argument is there"),
];

/// Returns every key of `mcp.toml` with its tables: `defaults.timeout`, `servers.*.isolation.home`. For tests that
/// show the effect of each.
///
/// ```
/// let keys = mcp_bindgen_model::config_keys();
/// assert!(keys.iter().any(|key| key == "servers.*.approve"));
/// ```
#[must_use]
pub fn config_keys() -> Vec<String> {
    fn below(prefix: &str, key: &Key) -> Vec<String> {
        let path = format!("{prefix}{}", key.name);
        match key.form {
            Form::TableMap(keys) => keys.iter().flat_map(|key| below(&format!("{path}.*."), key)).collect(),
            // They are listed for servers.
            Form::Table(_) if prefix == "defaults." => vec![path],
            Form::Table(keys) if prefix.is_empty() => {
                keys.iter().flat_map(|key| below(&format!("{path}."), key)).collect()
            }
            // The members of an accepted change have an effect together.
            Form::Tables(_) => vec![path],
            _ => once(path.clone()).chain(key.inner().iter().flat_map(|key| below(&format!("{path}."), key))).collect(),
        }
    }
    FILE.iter().flat_map(|key| below("", key)).collect()
}
