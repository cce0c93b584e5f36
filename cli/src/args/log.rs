//! The options of `log`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Log {
    #[command(subcommand)]
    pub(crate) command: LogCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Check that no line of a log was changed, removed, added or moved.
    Verify {
        /// The log.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}
