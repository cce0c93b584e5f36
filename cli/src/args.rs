//! What can be said on the command line.

use std::ffi::OsString;
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
#[command(
    override_usage = "mcp-bindgen call [OPTIONS] SERVER TOOL [--NAME VALUE]...",
    after_help = "The flags of a tool: `mcp-bindgen call SERVER TOOL --help`. They come from its schema, which also says how a \
                  value is read. The options above can stand behind TOOL as well."
)]
pub(crate) struct Call {
    /// The arguments, a JSON object: as text, `@FILE`, or `-` for stdin. Flags override single places of it.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// One argument, `NAME=VALUE` or `NAME:=JSON`, by any name: also one that an option of this program has.
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub(crate) arg: Vec<String>,
    #[command(flatten)]
    pub(crate) options: CallOptions,
    /// A server of the configuration.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// The tool's name on the server, and its flags.
    #[arg(value_name = "TOOL", required = true, num_args = 1.., trailing_var_arg = true)]
    pub(crate) words: Vec<OsString>,
}

/// What `call` takes before the tool's name and behind it.
#[derive(Debug, Default, Args)]
pub(crate) struct CallOptions {
    /// How long to wait for the answer: `500ms`, `30s`, `2m`.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Approve the call of a tool that the configuration wants approved.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Ask on the terminal for each argument that is not given.
    #[arg(short = 'i')]
    pub(crate) interactive: bool,
    /// Print the request, and send nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write images, audio and other data of the answer to files in this folder.
    #[arg(short = 'o', value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// The options that may stand behind the name of a tool.
#[derive(Debug, Default, Parser)]
#[command(name = "mcp-bindgen call", no_binary_name = true, disable_help_flag = true)]
pub(crate) struct Behind {
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    #[arg(short, long)]
    pub(crate) help: bool,
    #[command(flatten)]
    pub(crate) options: CallOptions,
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
        super::Behind::command().debug_assert();
    }
}
