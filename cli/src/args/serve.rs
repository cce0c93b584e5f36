//! The arguments of `serve`.

use std::net::{Ipv4Addr, SocketAddr};

use clap::{Args, ValueEnum};

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
    #[arg(long, requires = "public", conflicts_with = "bearer_env")]
    pub(crate) no_auth: bool,
    /// Serve nothing, and print what a host needs to start this command, or to reach it with `--http`.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["allow_origin", "allow_host", "public", "no_auth"])]
    pub(crate) print_config: Option<Host>,
}

/// The programs whose configuration `--print-config` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Host {
    // Claude Code: `.mcp.json`.
    Claude,
    // Cursor: `.cursor/mcp.json`.
    Cursor,
    // Visual Studio Code: `.vscode/mcp.json`.
    Vscode,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    port.or_else(|_| text.parse()).map_err(|_| "an address with a port, such as 127.0.0.1:8080, or a port".to_owned())
}
