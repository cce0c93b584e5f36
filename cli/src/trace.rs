//! What `-v` shows of what is done.

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, filter::Targets, fmt};

/// What servers write to stderr.
const SERVER_STDERR: &str = "mcp_bindgen::server_stderr";

/// Shows nothing, what servers say, all that the program does, or all.
pub(crate) fn begin(verbosity: u8) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::WARN,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // Other crates of the network say much that helps nobody.
    let shown = Targets::new()
        .with_target("mcp_runtime", level)
        .with_target("mcp_agents", level)
        .with_target(SERVER_STDERR, LevelFilter::DEBUG)
        .with_default(if verbosity > 2 { LevelFilter::DEBUG } else { LevelFilter::WARN });
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false).without_time().with_target(false);
    // There is no other: this is the program.
    let _ = tracing_subscriber::registry().with(lines.with_filter(shown)).try_init();
}
