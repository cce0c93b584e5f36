//! The arguments of the command line.

mod calls;
mod serve;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use mcp_bindgen_schema::drift::{Change, Class};

use crate::exit::{EXIT_CODES, Exit, Failure};
use crate::text::in_ticks;

pub(crate) use calls::{
    Behind, Call, CallOptions, GetPrompt, Learn, OfferOptions, OneServer, PromptCommand, ReadResource, ResourceCommand,
    Run,
};
pub(crate) use serve::{AuthCommand, LogCommand, Serve, Token};

/// Typed Rust for MCP servers: snapshots, checks, bindings, calls.
#[derive(Debug, Parser)]
#[command(name = "mcp-bindgen", version, arg_required_else_help = true, after_help = EXIT_CODES)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Arguments {
    /// The configuration; by default mcp.toml or .mcp.json of this folder, its crate or its workspace.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How results are printed: text or json; `check` has markdown and github as well, `list` markdown and html.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text, hide_possible_values = true)]
    pub(crate) format: Format,
    /// Say what failed and nothing else.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more: what servers write to stderr, and with -vv everything that is done.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Colours; `auto`: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[value(alias = "table")]
    Text,
    Json,
    // For a comment on a pull request: `check`; for a document: `list`.
    Markdown,
    // One page that needs nothing beside it: `list`.
    Html,
    // Annotations of a GitHub workflow, and a summary of its job: `check`.
    Github,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write an mcp.toml with comments, a folder for snapshots, and add the library to the crate; what is there stays.
    Init(Init),
    /// Add a server to mcp.toml, ask it what it offers, and write its snapshot.
    Add(Add),
    /// Remove servers from mcp.toml, with their snapshots and overrides.
    Remove {
        /// Servers of mcp.toml.
        #[arg(value_name = "SERVER", required = true)]
        servers: Vec<String>,
        /// Remove without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Rename a server in mcp.toml, with its snapshot and its overrides.
    Rename {
        /// A server of mcp.toml.
        old: String,
        /// Its new name.
        #[arg(value_name = "NEW")]
        name: String,
    },
    /// Set or remove keys of a server in mcp.toml.
    Set(Set),
    /// Take servers over into mcp.toml from programs that are configured with them already; secrets stay where they are.
    Import(Import),
    /// Ask servers what they offer and write it to their snapshots.
    Sync(Servers),
    /// Ask servers what they offer and compare it with their snapshots; exit code 4 where they differ.
    Check(Check),
    /// Compare two lists: snapshots, files, revisions of git, live servers; exit code 4 where they differ.
    Diff(Diff),
    /// List tools, prompts and resource templates, and the names of their bindings, from snapshots.
    List(List),
    /// Look for what stands in the way of servers and builds on this machine, and say what mends it.
    Doctor {
        #[command(flatten)]
        servers: Servers,
        /// Also start or reach the servers, as they are configured, and explain what fails.
        #[arg(long)]
        connect: bool,
    },
    /// Print the generated Rust, formatted.
    Expand(Expand),
    /// Call a tool.
    Call(Call),
    /// Learn the type of a tool's result from results, and write it to the server's overrides.
    Learn(Learn),
    /// List or read the resources of a server.
    #[command(subcommand)]
    Resource(ResourceCommand),
    /// List or get the prompts of a server.
    #[command(subcommand)]
    Prompt(PromptCommand),
    /// Run a template: text whose actions call tools.
    Run(Run),
    /// Serve the tools of servers again as one MCP server, over stdin and stdout or over HTTP.
    Serve(Serve),
    /// Log in to servers that use OAuth, show what is stored, and log out.
    #[command(subcommand)]
    Auth(AuthCommand),
    /// Check the log that `serve --log` writes.
    #[command(subcommand)]
    Log(LogCommand),
    /// Print the line that teaches a shell to complete commands, servers, tools and their flags.
    Completions {
        /// The shell whose start-up file the line belongs into.
        #[arg(value_parser = ["bash", "zsh", "fish", "powershell", "elvish"])]
        shell: String,
    },
    /// Write the man pages to a folder: for packages.
    #[command(hide = true)]
    Man {
        /// The folder; it is made where it is not there.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

impl Command {
    /// Refuses the formats that this command does not have.
    pub(crate) fn takes(&self, format: Format) -> Result<(), Failure> {
        let known: &[Format] = match self {
            Self::Check(_) => &[Format::Text, Format::Json, Format::Markdown, Format::Github],
            Self::List(list) if !list.shapes => &[Format::Text, Format::Json, Format::Markdown, Format::Html],
            Self::Completions { .. } | Self::Man { .. } => &[Format::Text],
            _ => &[Format::Text, Format::Json],
        };
        if known.contains(&format) {
            return Ok(());
        }
        let name = |format: &Format| format.to_possible_value().map(|value| value.get_name().to_owned());
        let names = in_ticks(known.iter().filter_map(name));
        let format = name(&format).unwrap_or_default();
        Err(Failure::usage(format!("this command has no format `{format}`; it has {names}")))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Leave Cargo.toml alone.
    #[arg(long)]
    pub(crate) no_dependency: bool,
    /// Take the library from a folder, such as a clone of its repository, where no registry has it.
    #[arg(long, value_name = "PATH", conflicts_with = "no_dependency")]
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(override_usage = "mcp-bindgen add [OPTIONS] NAME --npm|--uvx|--command|--url SOURCE [-- ARGS...]")]
pub(crate) struct Add {
    /// The server's name: what bindings and commands call it.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) source: Source,
    /// A variable of the server's environment, `NAME='${VARIABLE}'` or NAME for the variable of that name; repeatable.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A variable that the server gets as it is set where it is started; repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) inherit_env: Vec<String>,
    /// A header of the requests to a server at a URL, `'NAME: VALUE'`; repeatable.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// The tools that the program may call, by name or `list_*`; repeatable. By default all.
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Do not ask the server: for one that is not there yet.
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// The arguments of the server's program.
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// A server of mcp.toml.
    pub(crate) server: String,
    /// A key and its value, as TOML or as text: `timeout=60s`, `'tools=["list_*"]'`, `'env.TOKEN=${TOKEN}'`.
    #[arg(value_name = "KEY=VALUE", required_unless_present = "unset")]
    pub(crate) keys: Vec<String>,
    /// Remove a key; repeatable.
    #[arg(long, value_name = "KEY")]
    pub(crate) unset: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The servers: NAME, NAME@HOST where two programs have different ones, either of them with =NEW for another name here.
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// One of claude-desktop, claude-code, cursor, vscode, windsurf, codex, zed, gemini, or a file. By default all of them.
    #[arg(long, value_name = "HOST|FILE")]
    pub(crate) from: Option<String>,
    /// Every server that is not switched off.
    #[arg(long)]
    pub(crate) all: bool,
    /// Write nothing: print what would be added to mcp.toml; without servers, what there is.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Where the server comes from.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Source {
    /// A package of npm, run by npx.
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) npm: Option<String>,
    /// A package of PyPI, run by uvx.
    #[arg(long, value_name = "PACKAGE")]
    pub(crate) uvx: Option<String>,
    /// A program.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) command: Option<String>,
    /// The address of a server over HTTP.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Servers {
    /// The servers; all of the configuration by default.
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Ask no server: look at what is there, whether it can be used, and whether bindings of it can be made.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Also tell what became of the snapshots since this work left a branch, a tag or a commit.
    #[arg(long, value_name = "REVISION")]
    pub(crate) base: Option<String>,
    #[command(flatten)]
    pub(crate) denied: Denied,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// FILE, SERVER, either of them with @REVISION, or live:SERVER.
    pub(crate) old: String,
    /// The same.
    pub(crate) new: String,
    #[command(flatten)]
    pub(crate) denied: Denied,
}

/// Which changes fail a command.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Denied {
    /// Exit with 4 only for changes of this class and of those before it.
    #[arg(long, value_name = "CLASS", value_parser = class())]
    pub(crate) deny: Option<Class>,
}

impl Denied {
    pub(crate) fn refuses(self, change: &Change) -> bool {
        self.deny.is_some_and(|class| change.class <= class)
    }

    /// The exit code for changes; `otherwise` where no class was named.
    pub(crate) fn exit(self, changes: &[Change], otherwise: Exit) -> Exit {
        match self.deny {
            None => otherwise,
            Some(_) if changes.iter().any(|change| self.refuses(change)) => Exit::OutOfDate,
            Some(_) => Exit::Done,
        }
    }
}

fn class() -> impl TypedValueParser<Value = Class> {
    let named = |name: String| Class::ALL.into_iter().find(|class| class.name() == name).unwrap_or(Class::Breaking);
    PossibleValuesParser::new(Class::ALL.map(Class::name)).map(named)
}

#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// A server of the configuration.
    #[arg(value_name = "SERVER", conflicts_with = "snapshot")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) file: SnapshotOptions,
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotOptions {
    /// A snapshot, without a configuration.
    #[arg(long, value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,
    /// The server's name for the bindings of `--snapshot`; by default the one in the file.
    #[arg(long = "server", value_name = "NAME", id = "name", requires = "snapshot")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Servers of the configuration; all of it by default.
    #[arg(value_name = "SERVER", conflicts_with = "snapshot")]
    pub(crate) servers: Vec<String>,
    #[command(flatten)]
    pub(crate) file: SnapshotOptions,
    /// Also tell what became of the snapshots since this work left a branch, a tag or a commit.
    #[arg(long, value_name = "REVISION", conflicts_with = "shapes")]
    pub(crate) base: Option<String>,
    /// Write to a file, where it changes; by default to stdout.
    #[arg(short, long, value_name = "FILE", conflicts_with = "shapes")]
    pub(crate) output: Option<PathBuf>,
    /// List the places of one shape instead, which `shared` in `[servers.NAME.rust]` can make one type.
    #[arg(long)]
    pub(crate) shapes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Expand {
    #[command(flatten)]
    pub(crate) source: Selection,
    /// Write to a file, where it changes; without a SERVER to a folder, a file for each. By default to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write nothing: exit code 4 and a difference where the file is not what would be written.
    #[arg(long, requires = "output")]
    pub(crate) check: bool,
    /// Bind these tools alone, by name or `list_*`; repeatable. By default all that the configuration lets through.
    #[arg(long = "tool", value_name = "GLOB")]
    pub(crate) tools: Vec<String>,
    /// The prefix of the names; by default the configuration's, or the server's name.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) prefix: Option<String>,
    /// Have names begin with nothing.
    #[arg(long, conflicts_with = "prefix")]
    pub(crate) no_prefix: bool,
}
