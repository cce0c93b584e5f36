//! The arguments of `serve`, `log` and `auth`.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use mcp_bindgen_agents::Host;

use super::Servers;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Serve streamable HTTP here instead of stdin and stdout: `127.0.0.1:8080`, or a port of this machine's loopback; 0 is
    /// any that is free. The URL is printed.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
    /// The environment variable with the token that requests have to bear.
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) bearer_env: Option<String>,
    /// A file with named tokens, one of which requests have to bear; `auth token` adds one.
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "bearer_env")]
    pub(crate) tokens: Option<PathBuf>,
    /// How requests are authenticated: `jwt` for access tokens of an authorization server.
    #[arg(long, value_parser = ["jwt"], requires_all = ["http", "issuer", "audience"], conflicts_with_all = ["bearer_env", "tokens"])]
    pub(crate) auth: Option<String>,
    /// The authorization server whose access tokens are accepted.
    #[arg(long, value_name = "URL", requires = "auth")]
    pub(crate) issuer: Option<String>,
    /// The audience that access tokens must have: the URL of the proxy for its clients.
    #[arg(long, value_name = "URL", requires = "auth")]
    pub(crate) audience: Option<String>,
    /// A scope that access tokens must have.
    #[arg(long, value_name = "SCOPE", requires = "auth")]
    pub(crate) scope: Vec<String>,
    /// Write a line of JSON for each call to a file; `log verify` checks it.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// How many child processes all sessions may have together: it limits sessions, each of which may start every server that is
    /// one and not `shared`; 256 by default.
    #[arg(long, value_name = "NUMBER", requires = "http")]
    pub(crate) max_children: Option<NonZeroUsize>,
    /// Share approvals, sessions and rates with other instances, in Redis or Valkey: `redis://host:6379`, `rediss://` with TLS,
    /// `redis+cluster://`. `${NAME}` in it is an environment variable.
    #[arg(long, value_name = "URL", requires_all = ["http", "keys"])]
    pub(crate) state: Option<String>,
    /// The environment variable with the key of all instances that sign approvals: 32 bytes or more. A second line is a key that
    /// is still accepted.
    #[arg(long, value_name = "NAME", group = "keys", requires = "state")]
    pub(crate) key_env: Option<String>,
    /// A file with that key, instead of a variable.
    #[arg(long, value_name = "FILE", group = "keys", requires = "state")]
    pub(crate) key_file: Option<PathBuf>,
    /// Read the configuration and the snapshots again when they change, as at SIGHUP.
    #[arg(long)]
    pub(crate) watch: bool,
    /// An origin whose pages may call from a browser, such as `https://app.example.com`; those of loopback always may.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// A name under which clients may ask for it (`Host`), beside the address itself and those of loopback.
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) allow_host: Vec<String>,
    /// Serve an address that other machines can reach.
    #[arg(long, requires = "http")]
    pub(crate) public: bool,
    /// Ask nobody for a token at such an address, because something before it does.
    #[arg(long, requires = "public", conflicts_with_all = ["bearer_env", "tokens", "auth"])]
    pub(crate) no_auth: bool,
    /// Serve nothing, and print what a host needs to start this command, or to reach it with `--http`.
    #[arg(long, value_name = "HOST", value_parser = host(), conflicts_with_all = ["allow_origin", "allow_host", "public", "no_auth", "tokens", "auth", "log", "max_children", "state", "watch"])]
    pub(crate) print_config: Option<Host>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Check that no line of a log was changed, removed, added or moved.
    Verify {
        /// The log.
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Authorize this program to use a server: in a browser, which opens.
    Login {
        /// A server of the configuration.
        server: String,
        /// Open no browser: open the address anywhere, and paste the address of the page that the browser ends at.
        #[arg(long)]
        no_browser: bool,
    },
    /// Show the stored tokens; exit code 1 if a server that is named has none.
    Status(Servers),
    /// Remove the stored tokens.
    Logout(Servers),
    /// Create a token for a client of `serve --tokens`, and print it; the file only has its digest.
    Token(Token),
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// The name of the client, by which `[access]` and policies know it.
    pub(crate) name: String,
    /// The file with the tokens, which is created if it does not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: PathBuf,
    /// A group of the client.
    #[arg(long)]
    pub(crate) group: Vec<String>,
    /// A scope of the client.
    #[arg(long)]
    pub(crate) scope: Vec<String>,
    /// Remove the token instead.
    #[arg(long, conflicts_with_all = ["group", "scope"])]
    pub(crate) revoke: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    port.or_else(|_| text.parse()).map_err(|_| "an address with a port, such as 127.0.0.1:8080, or a port".to_owned())
}

/// Returns the parser of the programs whose configuration `--print-config` knows.
fn host() -> impl TypedValueParser<Value = Host> {
    PossibleValuesParser::new(["claude", "cursor", "vscode"]).map(|name| match name.as_str() {
        "claude" => Host::Claude,
        "cursor" => Host::Cursor,
        _ => Host::VsCode,
    })
}
