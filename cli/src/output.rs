//! Where results and remarks go: data to stdout, everything else to stderr, in cargo's manner.

use std::io::{self, IsTerminal, Write};

use mcp_model::printable;
use serde_json::Value;

use crate::args::Format;

const GREEN: &str = "\x1b[1;32m";
const YELLOW: &str = "\x1b[1;33m";
const RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// The two streams.
pub(crate) struct Output {
    pub(crate) format: Format,
    data: Box<dyn Write>,
    remarks: Box<dyn Write>,
    data_on_terminal: bool,
    remarks_on_terminal: bool,
    colours: bool,
    /// Whether the last line of the remarks is one that goes away again.
    has_transient: bool,
}

impl Output {
    pub(crate) fn standard(format: Format) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            format,
            data_on_terminal: io::stdout().is_terminal(),
            remarks_on_terminal: io::stderr().is_terminal(),
            has_transient: false,
            colours: io::stderr().is_terminal() && !no_colour,
            data: Box::new(io::stdout()),
            remarks: Box::new(io::stderr()),
        }
    }

    pub(crate) fn json(&self) -> bool {
        self.format == Format::Json
    }

    /// A line on what is being done, its first word right-aligned.
    pub(crate) fn status(&mut self, word: &str, text: &str) {
        self.remark(GREEN, &format!("{word:>12}"), &format!(" {}", lines_printable(text)));
    }

    pub(crate) fn warning(&mut self, text: &str) {
        self.remark(YELLOW, "warning", &format!(": {}", lines_printable(text)));
    }

    pub(crate) fn error(&mut self, text: &str) {
        self.remark(RED, "error", &format!(": {}", lines_printable(text)));
    }

    /// What is wrong at some place, of its own severity.
    pub(crate) fn diagnostic(&mut self, severity: &str, text: &str) {
        let colour = if severity.starts_with("error") { RED } else { YELLOW };
        self.remark(colour, severity, &format!(": {}", lines_printable(text)));
    }

    /// Whether somebody watches the remarks as they come.
    pub(crate) fn is_watched(&self) -> bool {
        self.remarks_on_terminal
    }

    /// A line that the next one takes the place of; only for who watches.
    pub(crate) fn transient(&mut self, text: &str) {
        self.end_transient();
        self.has_transient = write!(self.remarks, "{}", printable(text)).is_ok();
        let _ = self.remarks.flush();
    }

    pub(crate) fn end_transient(&mut self) {
        if std::mem::take(&mut self.has_transient) {
            let _ = write!(self.remarks, "\r\x1b[K");
        }
    }

    fn remark(&mut self, colour: &str, head: &str, rest: &str) {
        self.end_transient();
        // A remark that nobody can read is not worth failing for.
        let _ = if self.colours {
            writeln!(self.remarks, "{colour}{head}{PLAIN}{rest}")
        } else {
            writeln!(self.remarks, "{head}{rest}")
        };
    }

    /// A result as it is; on a terminal without what could command it.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        let written = if self.data_on_terminal {
            writeln!(self.data, "{}", lines_printable(text))
        } else {
            writeln!(self.data, "{text}")
        };
        match written.and_then(|()| self.data.flush()) {
            // Whoever read it has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    pub(crate) fn data_json(&mut self, value: &Value) -> io::Result<()> {
        self.data(&format!("{value:#}"))
    }
}

/// Text of strangers, made safe line by line.
pub(crate) fn lines_printable(text: &str) -> String {
    text.split('\n')
        .map(|line| line.split('\t').map(printable).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}
