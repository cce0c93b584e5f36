//! What can be said on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Typed Rust for MCP servers: snapshots, checks, bindings, calls.
#[derive(Debug, Parser)]
#[command(name = "mcp-bindgen", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// The configuration; by default mcp.toml or .mcp.json of this folder, its crate or its workspace.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How results are printed.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the tool answered with an error, 4 out of date, \
                          5 could not connect";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask servers what they offer and write it to their snapshots.
    Sync(Servers),
    /// Ask servers what they offer and compare it with their snapshots; exit code 4 where they differ.
    Check(Servers),
    /// List tools, prompts and resource templates, and the names of their bindings, from snapshots.
    List(List),
    /// Print the generated Rust, formatted.
    Expand(Expand),
    /// Call a tool.
    Call(Call),
    /// Run a template: text whose actions call tools.
    Run(Run),
}

#[derive(Debug, Args)]
pub(crate) struct Servers {
    /// The servers; all of the configuration by default.
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// A server of the configuration.
    #[arg(value_name = "SERVER", conflicts_with = "snapshot")]
    pub(crate) server: Option<String>,
    /// A snapshot, without a configuration.
    #[arg(long, value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,
    /// The server's name for the bindings of `--snapshot`; by default the one in the file.
    #[arg(long = "server", value_name = "NAME", id = "name", requires = "snapshot")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) source: Selection,
    /// List the places of one shape instead, which `shared` in `[servers.NAME.rust]` can make one type.
    #[arg(long)]
    pub(crate) shapes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Expand {
    #[command(flatten)]
    pub(crate) source: Selection,
    /// Write to a file, where it changes.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// A server of the configuration.
    pub(crate) server: String,
    /// The tool's name on the server.
    pub(crate) tool: String,
    /// The arguments, a JSON object: as text, `@FILE`, or `-` for stdin.
    #[arg(long, value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    pub(crate) args: String,
    /// How long to wait for the answer: `500ms`, `30s`, `2m`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Approve the call of a tool that the configuration wants approved.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The template, or `-` for stdin. What comes from stdin is no file of this machine: it may only call the tools that
    /// `remote_use` of their server names.
    pub(crate) template: String,
    /// A variable that the template uses, as text, or as JSON (`NAME:=JSON`).
    #[arg(long = "set", value_name = "NAME=TEXT", allow_hyphen_values = true)]
    pub(crate) variables: Vec<String>,
    /// What a completion slot is filled with, as text, or as JSON (`NAME:=JSON`).
    #[arg(long = "fill", value_name = "NAME=TEXT", allow_hyphen_values = true)]
    pub(crate) fillings: Vec<String>,
    /// Only check that the template is right and fits the tools; nothing is called, and no server with a snapshot asked.
    #[arg(long, conflicts_with_all = ["variables", "fillings", "yes", "timeout"])]
    pub(crate) check: bool,
    /// Take the template for one that is no file of this machine, as with `-`.
    #[arg(long)]
    pub(crate) remote: bool,
    /// How long to wait for the answer of each call: `500ms`, `30s`, `2m`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Approve the calls of tools that the configuration wants approved.
    #[arg(long)]
    pub(crate) yes: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    mcp_model::parse_duration(text).ok_or_else(|| "a whole number above zero with ms, s, m or h".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        super::Arguments::command().debug_assert();
    }
}
