//! Questions to the user at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use tokio::sync::oneshot;

use crate::exit::Failure;
use crate::output::lines_printable;

/// Returns `true` if the user can be asked.
pub(crate) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the user; returns `None` without a terminal.
pub(crate) fn asked(question: &str) -> io::Result<Option<bool>> {
    is_there().then(|| agrees(question)).transpose()
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

/// Tells something that cannot wait for the end of the command.
pub(crate) fn tell(text: &str) {
    // The terminal may be closed.
    let _ = writeln!(io::stderr(), "{}", lines_printable(text));
}

/// Runs blocking input on its own thread, which the end of the program does not wait for.
pub(crate) async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let (done, result) = oneshot::channel();
    std::thread::spawn(move || drop(done.send(work())));
    result.await.map_err(|_| Failure::new("the input ended early"))
}
