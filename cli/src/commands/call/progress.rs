//! Shows the progress of a call.

use std::time::{Duration, Instant};

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::Progress;

use crate::output::Output;
use crate::text::{cut, terminal_width};

/// A terminal gets no more lines than can be seen, a log no more than can be read.
const EACH: Duration = Duration::from_millis(100);
const EACH_PLAIN: Duration = Duration::from_secs(1);
/// The maximum length of a message without a terminal.
const PLAIN_WIDTH: usize = 200;

#[derive(Default)]
pub(super) struct Shown {
    last: Option<Instant>,
}

impl Shown {
    pub(super) fn show(&mut self, report: &Progress, output: &mut Output) {
        let each = if output.is_watched() { EACH } else { EACH_PLAIN };
        if self.last.is_some_and(|last| last.elapsed() < each) {
            return;
        }
        self.last = Some(Instant::now());
        let text = described(report);
        if output.is_watched() {
            // One column stays free, or some terminals go on to the next line.
            output.transient(&cut(&format!("    Progress {text}"), terminal_width().saturating_sub(1)));
        } else {
            output.status("Progress", &cut(&text, PLAIN_WIDTH));
        }
    }
}

fn described(report: &Progress) -> String {
    let mut text = match report.total {
        Some(total) => format!("{}/{total}", report.progress),
        None => report.progress.to_string(),
    };
    if let Some(message) = &report.message {
        text.push(' ');
        text.push_str(&printable(message));
    }
    text
}
