//! The arguments of commands that change servers of `mcp.toml`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Servers of mcp.toml.
    #[arg(value_name = "SERVER", required = true)]
    pub(crate) servers: Vec<String>,
    /// Remove without asking.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Rename {
    /// A server of mcp.toml.
    #[arg(value_name = "OLD")]
    pub(crate) old: String,
    /// Its new name.
    #[arg(value_name = "NEW")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// A server of mcp.toml.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// A key and its value, as TOML or as text: `timeout=60s`, `'tools=["list_*"]'`, `'env.TOKEN=${TOKEN}'`.
    #[arg(value_name = "KEY=VALUE", required_unless_present = "unset")]
    pub(crate) keys: Vec<String>,
    /// Remove a key; repeatable.
    #[arg(long, value_name = "KEY")]
    pub(crate) unset: Vec<String>,
}
