//! A question on the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

/// What somebody at the terminal says, where somebody is; whatever is no yes is a no.
pub(super) fn on_terminal(question: &str) -> io::Result<Option<bool>> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(None);
    }
    let mut stderr = io::stderr();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")))
}
