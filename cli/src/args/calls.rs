//! The arguments of commands that send requests: `call`, `learn`, `resource`, `prompt` and `run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ColorChoice, Parser, Subcommand};

use super::Format;

#[derive(Debug, Args)]
#[command(
    override_usage = "mcp-bindgen call [OPTIONS] SERVER TOOL [--NAME VALUE]...",
    after_help = "The flags of a tool: `mcp-bindgen call SERVER TOOL --help`. They come from its schema, which also \
                  determines how a value is read. The options above are also accepted after TOOL."
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
    pub(crate) server: String,
    /// The tool's name on the server, and its flags.
    #[arg(value_name = "TOOL", required = true, num_args = 1.., trailing_var_arg = true)]
    pub(crate) words: Vec<OsString>,
}

/// The options of `call`, before the tool's name and behind it.
#[derive(Debug, Default, Args)]
pub(crate) struct CallOptions {
    /// How long all of it may take, connecting included: `500ms`, `30s`, `2m`; by default what the configuration says.
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
    /// Write images, audio and other data of the answer to files in this folder; by default they are only named.
    #[arg(short = 'o', value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// The options that may stand behind a name whose flags a server decides: those of every command, and some of its own.
#[derive(Debug, Default, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub(crate) struct Behind<O: Args> {
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
    #[arg(long)]
    pub(crate) format: Option<Format>,
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[arg(long, value_enum)]
    pub(crate) color: Option<ColorChoice>,
    #[arg(short, long)]
    pub(crate) help: bool,
    #[command(flatten)]
    pub(crate) options: O,
}

#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("results").required(true).multiple(true).args(["args", "from", "from_file"]),
    override_usage = "mcp-bindgen learn [OPTIONS] SERVER TOOL --args JSON|--from CASSETTE|--from-file RESULT..."
)]
pub(crate) struct Learn {
    /// A server of the configuration.
    pub(crate) server: String,
    /// The tool's name on the server.
    pub(crate) tool: String,
    /// Call the tool with these arguments, a JSON object: as text, `@FILE`, or `-` for stdin; repeatable.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// Take the results of the tool from a cassette; repeatable.
    #[arg(long, value_name = "CASSETTE")]
    pub(crate) from: Vec<PathBuf>,
    /// Take a result from a file: what `call --format json` prints, or a JSON value as the tool answers it; repeatable.
    #[arg(long, value_name = "RESULT")]
    pub(crate) from_file: Vec<PathBuf>,
    /// Put what is learned in place of the outputSchema that the server declares.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Require what every result has, also where fewer than three results were learned from.
    #[arg(long)]
    pub(crate) required: bool,
    /// Show the type and write nothing; `--args` calls the tool all the same.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How long each call may take, connecting included: `500ms`, `30s`, `2m`; by default what the configuration says.
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "args")]
    pub(crate) timeout: Option<Duration>,
    /// Call a tool that does not say that it only reads, or that the configuration wants approved.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResourceCommand {
    /// List the resources and resource templates that a server has now.
    List(OneServer),
    /// Read a resource: text to stdout.
    Read(ReadResource),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// List the prompts that a server has now, with their arguments.
    List(OneServer),
    /// Get a prompt: the texts of its messages to stdout.
    Get(GetPrompt),
}

#[derive(Debug, Args)]
pub(crate) struct OneServer {
    /// A server of the configuration.
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct ReadResource {
    /// A server of the configuration.
    pub(crate) server: String,
    /// The resource's URI.
    pub(crate) uri: String,
    #[command(flatten)]
    pub(crate) options: OfferOptions,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "mcp-bindgen prompt get [OPTIONS] SERVER NAME [--NAME VALUE | --args JSON]...",
    after_help = "The flags of a prompt: `mcp-bindgen prompt get SERVER NAME --help`. The options above are also \
                  accepted after NAME."
)]
pub(crate) struct GetPrompt {
    #[command(flatten)]
    pub(crate) options: OfferOptions,
    /// A server of the configuration.
    pub(crate) server: String,
    /// The prompt's name on the server, and its flags.
    #[arg(value_name = "NAME", required = true, num_args = 1.., trailing_var_arg = true)]
    pub(crate) words: Vec<OsString>,
}

/// The options for reading a resource and getting a prompt.
#[derive(Debug, Default, Args)]
pub(crate) struct OfferOptions {
    /// How long all of it may take, connecting included: `500ms`, `30s`, `2m`; by default what the configuration says.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Write images, audio and other data of the answer to files in this folder; by default they are only named.
    #[arg(short = 'o', value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The template, or `-` for stdin. What comes from stdin, or from a pipe such as `/dev/stdin` and `<(..)`, is no file of
    /// this machine: it may only call the tools that `remote_use` of their server names.
    pub(crate) template: String,
    /// A variable that the template uses, as text, or as JSON (`NAME:=JSON`).
    #[arg(long = "set", value_name = "NAME=TEXT", allow_hyphen_values = true)]
    pub(crate) variables: Vec<String>,
    /// The value of a completion slot, as text, or as JSON (`NAME:=JSON`).
    #[arg(long = "fill", value_name = "NAME=TEXT", allow_hyphen_values = true)]
    pub(crate) fillings: Vec<String>,
    /// Only check that the template is right and fits the tools; nothing is called, and no server with a snapshot asked.
    #[arg(long, conflicts_with_all = ["variables", "fillings", "yes", "timeout"])]
    pub(crate) check: bool,
    /// Take the template for one that is no file of this machine, as with `-`.
    #[arg(long)]
    pub(crate) remote: bool,
    /// How long each call may take, connecting included: `500ms`, `30s`, `2m`; by default what the configuration says.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Approve the calls of tools that the configuration wants approved.
    #[arg(long)]
    pub(crate) yes: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    mcp_bindgen_model::parse_duration(text).ok_or_else(|| "a whole number above zero with ms, s, m or h".to_owned())
}
