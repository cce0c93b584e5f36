//! The log of `-v`.

use std::io::{self, Write};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, filter::Targets, fmt};

use crate::output::{commanding_nobody, is_obeyed};

/// The target of servers' stderr.
const SERVER_STDERR: &str = "mcp_bindgen::server_stderr";

/// Shows nothing, what servers say, all that the program does, or all.
pub(crate) fn begin(verbosity: u8) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::WARN,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // Other network crates log much irrelevant detail.
    let shown = Targets::new()
        .with_target("mcp_bindgen", level)
        .with_target(SERVER_STDERR, LevelFilter::DEBUG)
        .with_default(if verbosity > 2 { LevelFilter::DEBUG } else { LevelFilter::WARN });
    let lines = fmt::layer().with_writer(|| Remarks).with_ansi(false).without_time().with_target(false);
    // This is the program, so no other subscriber is set.
    let _ = tracing_subscriber::registry().with(lines.with_filter(shown)).try_init();
}

/// Stderr, to which a runner of GitHub's may listen.
struct Remarks;

impl Write for Remarks {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        if is_obeyed() {
            io::stderr().write_all(commanding_nobody(&String::from_utf8_lossy(event)).as_bytes())?;
        } else {
            io::stderr().write_all(event)?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
