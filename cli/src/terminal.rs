//! Questions that somebody at the terminal answers.

use std::io::{self, BufRead, IsTerminal, Write};

/// Returns `true` if there is somebody to ask.
pub(crate) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks, and waits for a line. Only a yes is one.
pub(crate) fn agrees(question: &str) -> io::Result<bool> {
    let mut terminal = io::stderr();
    write!(terminal, "{question} [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
