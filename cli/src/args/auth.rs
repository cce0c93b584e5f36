//! The options of `auth`.

use std::path::PathBuf;

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
    /// Create a token for a client of `serve --tokens`, and print it; the file only has its digest.
    Token(Token),
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    /// The name of the client, by which `[access]` and policies know it.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The file with the tokens, which is created if it does not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: PathBuf,
    /// A group of the client.
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Vec<String>,
    /// A scope of the client.
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Remove the token instead.
    #[arg(long, conflicts_with_all = ["group", "scope"])]
    pub(crate) revoke: bool,
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
