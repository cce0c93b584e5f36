//! Where results and remarks go: data to stdout, everything else to stderr, in cargo's manner.

use std::borrow::Cow;
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
    colours: bool,
    /// Whether what is printed is read by a runner of GitHub's, which obeys lines that begin with `::`.
    is_obeyed: bool,
}

impl Output {
    pub(crate) fn standard(format: Format) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            format,
            data_on_terminal: io::stdout().is_terminal(),
            is_obeyed: std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true"),
            colours: io::stderr().is_terminal() && !no_colour,
            data: Box::new(io::stdout()),
            remarks: Box::new(io::stderr()),
        }
    }

    pub(crate) fn json(&self) -> bool {
        self.format == Format::Json
    }

    /// Whether results are for people.
    pub(crate) fn is_text(&self) -> bool {
        self.format == Format::Text
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

    fn remark(&mut self, colour: &str, head: &str, rest: &str) {
        // A remark that nobody can read is not worth failing for.
        let rest = self.commanding_nobody(rest);
        let _ = if self.colours {
            writeln!(self.remarks, "{colour}{head}{PLAIN}{rest}")
        } else {
            writeln!(self.remarks, "{head}{rest}")
        };
    }

    /// A result as it is; on a terminal without what could command it, and where a runner of GitHub's reads it likewise.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        if self.is_text() && !self.data_on_terminal {
            let text = self.commanding_nobody(text).into_owned();
            return self.written(&text);
        }
        self.exact(text)
    }

    /// The same of what is code, or meant for the runner.
    pub(crate) fn exact(&mut self, text: &str) -> io::Result<()> {
        if self.data_on_terminal { self.written(&lines_printable(text)) } else { self.written(text) }
    }

    fn written(&mut self, text: &str) -> io::Result<()> {
        match writeln!(self.data, "{text}").and_then(|()| self.data.flush()) {
            // Whoever read it has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Adds to the summary of a job of GitHub's, where the program runs in one: others may have written there before.
    pub(crate) fn job_summary(&self, text: &str) -> io::Result<()> {
        let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return Ok(()) };
        std::fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
    }

    /// The text, of which a runner of GitHub's obeys no line.
    fn commanding_nobody<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_obeyed { commanding_nobody(text) } else { Cow::Borrowed(text) }
    }

    pub(crate) fn data_json(&mut self, value: &Value) -> io::Result<()> {
        self.data(&format!("{value:#}"))
    }
}

/// Runners look behind leading blanks for `::`, and anywhere for the older `##[`: a backslash makes neither of it.
fn commanding_nobody(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##[") {
        return Cow::Borrowed(text);
    }
    let line = |line: &str| {
        let line = line.replace("##[", "##\\[");
        let start = line.len() - line.trim_start().len();
        match line.split_at_checked(start) {
            Some((blanks, rest)) if rest.starts_with("::") => format!("{blanks}\\{rest}"),
            _ => line,
        }
    };
    Cow::Owned(text.split('\n').map(line).collect::<Vec<_>>().join("\n"))
}

/// Text of strangers, made safe line by line.
pub(crate) fn lines_printable(text: &str) -> String {
    text.split('\n')
        .map(|line| line.split('\t').map(printable).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_obey_no_stranger() {
        let said = "::stop-commands::x\n  ::add-mask::y\nfine :: here\nx ##[add-mask]z";
        let safe = "\\::stop-commands::x\n  \\::add-mask::y\nfine :: here\nx ##\\[add-mask]z";
        assert_eq!(commanding_nobody(said), safe);
        assert_eq!(commanding_nobody("plain"), "plain");
    }
}
