//! The options of `resource` and `prompt`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::duration;

#[derive(Debug, Args)]
pub(crate) struct Resource {
    #[command(subcommand)]
    pub(crate) command: ResourceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResourceCommand {
    /// List the resources and resource templates that a server has now.
    List(OneServer),
    /// Read a resource: text to stdout.
    Read(ReadResource),
}

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    #[command(subcommand)]
    pub(crate) command: PromptCommand,
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
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
}

#[derive(Debug, Args)]
pub(crate) struct ReadResource {
    /// A server of the configuration.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// The resource's URI.
    #[arg(value_name = "URI")]
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
    #[arg(value_name = "SERVER")]
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
