//! Every key of `mcp.toml`: its name, the type of its value, its default and its help. The parser, the JSON Schema
//! and the reference in the book use these tables. Unlisted keys are an error.

use std::iter::once;

use crate::server::{Drift, GrantType, Live, Pin, PolicyEffect, Types, UnknownKeys};
use crate::{ChangeKind, Class};

/// A key of a table.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// The servers that it is for.
    pub(super) reach: Reach,
    /// The default as JSON, or in words; empty if there is none.
    pub(crate) default: &'static str,
    /// Its effect, in Markdown without links.
    pub(crate) help: &'static str,
    /// The page of the book about it.
    pub(crate) page: &'static str,
}

/// The form of a value.
pub(crate) enum Form {
    Text,
    Boolean,
    Number,
    /// A value of any type.
    Value,
    /// A port of this machine.
    Port,
    /// A number with a unit: `"30s"`.
    Duration,
    /// A number of calls in a time: `"10/s"`.
    Rate,
    /// A date: `"2027-01-31"`.
    Date,
    /// A word for names, or `false`.
    Prefix,
    Words(fn() -> Vec<&'static str>),
    Texts,
    /// Codes of diagnostics: `"MCP0006"`.
    Codes,
    /// Places of secrets: `"env"`, `"keyring"`, `"dotenv:.env"`.
    Stores,
    /// Texts by names.
    TextMap,
    /// Words by ids of rules.
    RuleMap(fn() -> Vec<&'static str>),
    /// Values of any type by names.
    ValueMap,
    /// One of the words, or texts.
    WordsOrTexts(fn() -> Vec<&'static str>),
    /// One of the words, or a table.
    WordsOrTable(fn() -> Vec<&'static str>, &'static [Key]),
    Table(&'static [Key]),
    Tables(&'static [Key]),
    /// Tables by names.
    TableMap(&'static [Key]),
}

/// The servers that a key is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Any,
    /// Only child processes.
    Child,
    /// Only servers with a `url`.
    Remote,
}

const fn key(name: &'static str, form: Form, default: &'static str, help: &'static str) -> Key {
    Key { name, form, reach: Reach::Any, default, help, page: "" }
}

impl Key {
    const fn child(self) -> Self {
        Self { reach: Reach::Child, ..self }
    }

    const fn remote(self) -> Self {
        Self { reach: Reach::Remote, ..self }
    }

    const fn page(self, page: &'static str) -> Self {
        Self { page, ..self }
    }

    /// Returns the keys of the tables below it.
    pub(crate) const fn inner(&self) -> &'static [Self] {
        match self.form {
            Form::Table(keys) | Form::Tables(keys) | Form::TableMap(keys) | Form::WordsOrTable(_, keys) => keys,
            _ => &[],
        }
    }
}

fn drift_words() -> Vec<&'static str> {
    Drift::ALL.map(Drift::name).to_vec()
}

fn pin_words() -> Vec<&'static str> {
    Pin::ALL.map(Pin::name).to_vec()
}

fn classes() -> Vec<&'static str> {
    Class::ALL.map(Class::name).to_vec()
}

/// The transports as they are written: `transport`, or `type` as other programs name it.
pub(super) const TRANSPORTS: [&str; 5] = ["stdio", "http", "sse", "streamable-http", "streamableHttp"];

pub(crate) static FILE: [Key; 7] = [
    key("defaults", Form::Table(&DEFAULTS), "", "values that servers inherit"),
    key("servers", Form::TableMap(&SERVER), "", "the servers by name: a name has 1 to 64 of `a-z`, `0-9`, `_` and `-`"),
    key("tools", Form::TableMap(&JOINED), "", "tools for models that stand for like tools of several servers, by name")
        .page("agents.md#one-tool-for-several-servers"),
    key("policy", Form::Tables(&POLICY), "[]", "rules about calls, with each tool as `\"server/tool\"`")
        .page("governance.md#policies-in-mcptoml"),
    key(
        "access",
        Form::TableMap(&ACCESS),
        "",
        "servers and tools that callers see through a proxy, by name; others see nothing",
    )
    .page("proxy.md#access"),
    key("deny", Form::Codes, "[]", "diagnostic codes that are errors").page("diagnostics.md"),
    key("allow", Form::Codes, "[]", "diagnostic codes that are hidden").page("diagnostics.md"),
];

pub(super) static JOINED: [Key; 1] =
    [key("of", Form::Texts, "", "the tools, each as `\"server/tool\"`; an argument says which server is meant")];

pub(super) static DEFAULTS: [Key; 7] = [
    key("snapshots", Form::Text, "\"mcp\"", "folder of the snapshots, relative to the file"),
    key("timeout", Form::Duration, "\"30s\"", "`timeout` of servers that set none"),
    key("drift", Form::Words(drift_words), "\"warn\"", "`drift` of servers that set none"),
    key("pin", Form::Words(pin_words), "\"schema\"", "`pin` of servers that set none"),
    key(
        "live",
        Form::Words(|| Live::ALL.map(Live::name).to_vec()),
        "\"ask\"",
        "`\"never\"`: no build connects to a server, whatever `MCP_BINDGEN_LIVE` says",
    )
    .page("drift.md"),
    key("isolation", Form::Table(&ISOLATION), "", "`isolation` of child processes whose servers set none")
        .page("#isolation"),
    key("secrets", Form::Stores, "[\"env\"]", "`secrets` of servers that set none").page("#secrets"),
];

pub(super) static SERVER: [Key; 37] = [
    key(
        "command",
        Form::Text,
        "",
        "a child process; a command with a `/` is relative to the file, others are found on `PATH`",
    ),
    key("args", Form::Texts, "[]", "arguments of the child").child(),
    key(
        "cwd",
        Form::Text,
        "",
        "working directory of the child, relative to the file; by default that of the program, and for the command line the folder \
         of the file",
    )
    .child(),
    key("npm", Form::Text, "", "a package instead of `command`: `npx -y PACKAGE`"),
    key("uvx", Form::Text, "", "a package instead of `command`: `uvx PACKAGE`"),
    key("env", Form::TextMap, "{}", "variables of the child, in addition to a short list")
        .child()
        .page("#environment-of-a-server"),
    key("inherit_env", Form::Texts, "[]", "variables passed on to the child").child(),
    key("url", Form::Text, "", "an HTTP endpoint instead of `command`"),
    key("headers", Form::TextMap, "{}", "headers of every request to `url`").remote(),
    key(
        "ca",
        Form::Text,
        "the system's",
        "certificate authorities to trust for `url`, instead of the system's: a PEM file relative to the file, or its text",
    )
    .remote()
    .page("#tls-and-proxies"),
    key("client_cert", Form::Text, "", "certificate and private key of this client: a PEM file relative to the file, or its text")
        .remote()
        .page("#tls-and-proxies"),
    key("proxy", Form::Text, "of the environment", "the HTTP proxy to `url`: `\"http://user:${PROXY_PASSWORD}@proxy.example:3128\"`")
        .remote()
        .page("#tls-and-proxies"),
    key("auth", Form::Table(&AUTH), "", "OAuth settings, beyond those that the server announces").remote().page("#oauth"),
    key(
        "transport",
        Form::Words(|| TRANSPORTS.to_vec()),
        "by `command` or `url`",
        "`\"sse\"` is the HTTP+SSE of 2024; the others are implied",
    ),
    key("tools", Form::Texts, "all", "globs of the tools to bind; a call of any other tool is `CallError::Denied`"),
    key(
        "exclude",
        Form::Texts,
        "[]",
        "globs of tools to leave out, applied after `tools`; they can be neither bound nor called",
    ),
    key(
        "approve",
        Form::Texts,
        "[]",
        "globs of tools that need an approval; on the command line a confirmation or `--yes`",
    )
    .page("governance.md#approvals"),
    key("resources", Form::Texts, "all", "globs of the URIs of resources to read and list"),
    key("prompts", Form::Texts, "all", "globs of the prompts to get and list"),
    key("policy", Form::Tables(&POLICY), "[]", "rules about calls of this server")
        .page("governance.md#policies-in-mcptoml"),
    key("shared", Form::Boolean, "false", "`true`: sessions of a proxy share one connection, because the server keeps nothing")
        .page("proxy.md#shared-servers"),
    key("remote_use", Form::Texts, "[]", "globs of tools that non-local templates may call")
        .page("templates.md"),
    key("prefix", Form::Prefix, "the name", "prefix of functions, types and prefixed names; `false` for none"),
    key(
        "types",
        Form::Words(|| Types::ALL.map(Types::name).to_vec()),
        "\"native\"",
        "`\"typify\"` for the typify backend (feature `typify`)",
    ),
    key(
        "unknown",
        Form::Words(|| UnknownKeys::ALL.map(UnknownKeys::name).to_vec()),
        "\"ignore\"",
        "`\"keep\"` keeps undeclared keys in a field `extra`",
    ),
    key("view", Form::TableMap(&VIEW), "", "what programs and models see of a tool, by its name on the server")
        .page("#views"),
    key("rust", Form::Table(&RUST), "", "changes of the generated code").page("generated-code.md#change-the-generated-code"),
    key("description", Form::Text, "", "purpose of the server: `client.config().description`"),
    key(
        "timeout",
        Form::Duration,
        "of `[defaults]`",
        "limit of a call on an open connection, restarted by progress: `\"500ms\"`, `\"30s\"`, `\"2m\"`, `\"1h\"`",
    ),
    key("limit", Form::Rate, "", "calls in a time; further calls wait: `\"10/s\"`, `\"100/m\"`, `\"1000/h\"`")
        .page("#limits"),
    key("connect_timeout", Form::Duration, "\"60s\"", "limit of connecting, including the download of a package"),
    key(
        "drift",
        Form::WordsOrTable(drift_words, &DRIFT),
        "of `[defaults]`",
        "reaction to a live server that differs: `\"ignore\"`, `\"warn\"` or `\"deny\"`, or a table",
    )
    .page("drift.md#at-run-time"),
    key(
        "pin",
        Form::Words(pin_words),
        "of `[defaults]`",
        "`\"schema\"`, or `\"all\"`: descriptions and annotations may not change either",
    ),
    key("isolation", Form::Table(&ISOLATION), "", "what the child can access").child().page("#isolation"),
    key(
        "secrets",
        Form::Stores,
        "of `[defaults]`",
        "where `${NAME}` is looked up, in order: `\"env\"`, `\"keyring\"` and `\"dotenv:PATH\"`",
    )
    .page("#secrets"),
    key("hosted", Form::Boolean, "false", "`true` allows `HostedServers` to hand the server to the model's provider")
        .remote()
        .page("agents.md#hosted-servers"),
    key("type", Form::Words(|| TRANSPORTS.to_vec()), "", "another name of `transport`"),
];

pub(super) static AUTH: [Key; 6] = [
    key("issuer", Form::Text, "of the server", "URL of the only authorization server to use"),
    key("client", Form::Text, "registered on demand", "id of a client that is registered at `issuer`"),
    key("client_secret", Form::Text, "", "secret of `client` as a placeholder; requires `issuer`"),
    key("scopes", Form::Texts, "of the server", "scopes to ask for"),
    key(
        "grant",
        Form::Words(|| GrantType::ALL.map(GrantType::name).to_vec()),
        "\"authorization_code\"",
        "who is authorized: a user in a browser, or the program itself with `client_secret`",
    ),
    key("redirect_port", Form::Port, "any", "port of 127.0.0.1 that the browser returns to, at `/callback`"),
];

pub(super) static RUST: [Key; 7] = [
    key("derive", Form::Texts, "[]", "derives beside the usual ones, where they hold"),
    key("rename", Form::TextMap, "{}", "names of tools and properties in Rust"),
    key("extern", Form::TextMap, "{}", "types of yours, with serde's traits, in place of definitions"),
    key("shared", Form::TextMap, "{}", "one type for every place with the same shape as the named one"),
    key("setters", Form::Boolean, "false", "chained setters for optional arguments"),
    key("named", Form::Boolean, "false", "a builder instead of `new` with positions"),
    key("checked", Form::Boolean, "false", "newtypes that check patterns, lengths, numbers of items and bounds"),
];

pub(super) static VIEW: [Key; 7] = [
    key("name", Form::Text, "", "the name instead of the tool's own, in snake case"),
    key("title", Form::Text, "", "the title instead of the server's"),
    key("description", Form::Text, "", "the description instead of the server's"),
    key("hints", Form::Table(&HINTS), "", "hints that are stricter than the server's"),
    key("fixed", Form::ValueMap, "{}", "arguments that every call has, with their values; nobody sees or changes them"),
    key("default", Form::ValueMap, "{}", "values of arguments that a call does not have"),
    key(
        "hide",
        Form::Texts,
        "[]",
        "arguments that nobody sees or sends; with a value in `default`, every call has that",
    ),
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
    key("mode", Form::Words(drift_words), "of `[defaults]`", "as `drift` without a table"),
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

pub(super) static POLICY: [Key; 6] = [
    key("tools", Form::Texts, "", "globs of tools"),
    key("when", Form::TableMap(&CONDITION), "{}", "conditions on arguments, by name or JSON pointer; all must hold"),
    key("then", Form::Words(|| PolicyEffect::ALL.map(PolicyEffect::name).to_vec()), "", "the effect on the calls"),
    key("reason", Form::Text, "", "the reason, for whoever makes the call"),
    key("rate", Form::Rate, "", "calls of a principal in a time; further calls are denied"),
    key("for", Form::Texts, "all", "principals, or names in `[access]`; calls without a known principal count too"),
];

pub(super) static CONDITION: [Key; 6] = [
    key("equals", Form::Value, "", "the value"),
    key("prefix", Form::Text, "", "the beginning of a string"),
    key("pattern", Form::Text, "", "a regular expression that matches a part of a string"),
    key("min", Form::Number, "", "the least number"),
    key("max", Form::Number, "", "the greatest number"),
    key("present", Form::Boolean, "", "whether the argument is there"),
];

pub(super) static ACCESS: [Key; 5] = [
    key("principals", Form::Texts, "the name", "names of principals"),
    key("groups", Form::Texts, "[]", "groups of principals"),
    key("scopes", Form::Texts, "[]", "scopes of tokens"),
    key("servers", Form::Texts, "[]", "servers with all their tools, prompts and resources"),
    key("tools", Form::Texts, "[]", "globs of tools, each as `\"server/tool\"`"),
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
            // They are shown where a server sets them.
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

/// Returns `true` if one of the keys has a name.
pub(super) fn has(keys: &[Key], name: &str) -> bool {
    keys.iter().any(|key| key.name == name)
}
