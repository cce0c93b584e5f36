//! The options of `auth`.

use clap::{Args, Subcommand};

use super::Servers;

#[derive(Debug, Args)]
pub(crate) struct Auth {
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Authorize this program to use a server: in a browser, which opens.
    Login(Login),
    /// Show the stored tokens; exit code 1 if a server that is named has none.
    Status(Servers),
    /// Remove the stored tokens.
    Logout(Servers),
}

#[derive(Debug, Args)]
pub(crate) struct Login {
    /// A server of the configuration.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// Open no browser: open the address anywhere, and paste the address of the page that the browser ends at.
    #[arg(long)]
    pub(crate) no_browser: bool,
}
