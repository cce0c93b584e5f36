//! Facts about a server besides its messages, for errors.

use std::sync::{Arc, Mutex};

use crate::ground::redact::{LONGEST_MESSAGE, Redactor};
use crate::ground::sync::lock;
use crate::{ConnectError, ConnectErrorKind, Evidence};

const LINES_KEPT: usize = 20;
const LINE_LENGTH_KEPT: usize = 500;

/// Notes on one connection, shared by its transport and the code that reports its failure.
#[derive(Clone, Default)]
pub(crate) struct Notes {
    inner: Arc<Mutex<Inner>>,
    server: Arc<str>,
    redactor: Redactor,
}

#[derive(Default)]
struct Inner {
    evidence: Evidence,
    problem: Option<String>,
}

impl Notes {
    /// Creates notes on a connection to this server; the redactor removes secrets.
    pub(crate) fn new(server: &str, redactor: Redactor) -> Self {
        Self { inner: Arc::default(), server: server.into(), redactor }
    }

    /// Returns the redactor of every text of the connection.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns untrusted text for a message.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.redactor.shown(text, LONGEST_MESSAGE)
    }

    /// Records a line that the server wrote to stderr.
    pub(crate) fn stderr_line(&self, line: &str) {
        let line = self.redactor.shown_line(line, LINE_LENGTH_KEPT);
        tracing::debug!(target: "mcp_bindgen::server_stderr", server = &*self.server, "{line}");
        keep(&mut lock(&self.inner).evidence.stderr, line);
    }

    /// Records a line on stdout that is not a protocol message.
    pub(crate) fn noise_line(&self, line: &str) {
        let line = self.redactor.shown_line(line, LINE_LENGTH_KEPT);
        tracing::debug!(server = &*self.server, "ignoring a line on stdout that is not JSON-RPC: {line}");
        keep(&mut lock(&self.inner).evidence.stray_output, line);
    }

    /// Records how the server's process ended.
    pub(crate) fn exited(&self, status: String) {
        lock(&self.inner).evidence.exit_status = Some(status);
    }

    /// Records why the connection cannot continue.
    pub(crate) fn problem(&self, problem: String) {
        let problem = self.redact(&problem);
        lock(&self.inner).problem = Some(problem);
    }

    /// Clears the problem, because the connection continues.
    pub(crate) fn problem_is_over(&self) {
        lock(&self.inner).problem = None;
    }

    /// Returns `true` if the server's process is known to have ended.
    pub(crate) fn has_exited(&self) -> bool {
        lock(&self.inner).evidence.exit_status.is_some()
    }

    /// Returns the last lines that the server wrote to stderr.
    pub(crate) fn stderr(&self) -> String {
        lock(&self.inner).evidence.stderr.iter().fold(String::new(), |text, line| text + line + "\n")
    }

    /// Returns `message` without secrets, followed by the notes.
    pub(crate) fn explain(&self, message: &str) -> String {
        let mut text = self.redact(message);
        let inner = lock(&self.inner);
        if let Some(problem) = inner.problem.as_ref().filter(|problem| !text.contains(problem.as_str())) {
            text += &format!(": {problem}");
        }
        let Evidence { exit_status, stderr, stray_output, .. } = &inner.evidence;
        if let Some(exit) = exit_status {
            text += &format!("; the server's process ended ({exit})");
        }
        let lists = [("its last lines on stderr", stderr), ("lines on its stdout that are not JSON-RPC", stray_output)];
        for (heading, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            text += &format!("\n  {heading}:\n    {}", lines.join("\n    "));
        }
        text
    }

    /// Returns the error of a connection, with the notes.
    pub(crate) fn error(&self, kind: ConnectErrorKind, message: &str) -> ConnectError {
        ConnectError::new(&self.server, kind, self.explain(message)).with_evidence(self.evidence())
    }

    /// Returns the notes about the server, without secrets.
    pub(crate) fn evidence(&self) -> Evidence {
        lock(&self.inner).evidence.clone()
    }
}

fn keep(lines: &mut Vec<String>, line: String) {
    if line.trim().is_empty() {
        return;
    }
    if lines.len() == LINES_KEPT {
        lines.remove(0);
    }
    lines.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::redact::PrivateValues;

    fn notes() -> Notes {
        let mut values = PrivateValues::default();
        values.secret("hunter22");
        Notes::new("server", Redactor::new(&values))
    }

    #[test]
    fn explanation_quotes_recent_stderr_and_redacts_secrets() {
        let notes = notes();
        for number in 0..30 {
            notes.stderr_line(&format!("line {number} hunter22\u{1b}[31m"));
        }
        assert!(!notes.has_exited());
        notes.exited("exit status: 3".to_owned());
        assert!(notes.has_exited());
        #[cfg(feature = "stdio")]
        assert!(notes.stderr().ends_with("line 29 [redacted]\\u{1b}[31m\n"), "{:?}", notes.stderr());
        let text = notes.explain("no answer, hunter22");
        assert!(text.starts_with("no answer, [redacted]; the server's process ended (exit status: 3)"), "{text}");
        assert!(text.contains("line 29") && !text.contains("line 9 "), "{text}");
        assert!(!text.contains("hunter22") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn explanation_has_the_present_problem_and_stray_output() {
        let notes = notes();
        notes.problem("it broke with hunter22 inside".to_owned());
        assert_eq!(notes.explain("no answer"), "no answer: it broke with [redacted] inside");
        let repeated = "no answer, since it broke with [redacted] inside";
        assert_eq!(notes.explain(repeated), repeated);
        notes.problem_is_over();
        assert_eq!(notes.explain("no answer"), "no answer");
        notes.noise_line("  ");
        notes.noise_line("Listening on hunter22");
        let expected = "no answer\n  lines on its stdout that are not JSON-RPC:\n    Listening on [redacted]";
        assert_eq!(notes.explain("no answer"), expected);
        assert_eq!(notes.evidence().stray_output, ["Listening on [redacted]"]);
    }
}
