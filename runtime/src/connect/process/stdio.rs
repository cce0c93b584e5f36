//! A server as a child process that speaks JSON-RPC on its stdin and stdout.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStderr;

use super::Program;
use super::isolation::{Refusal, Sandbox};
use super::tree::ProcessTree;
use crate::ground::task::task;
use crate::rpc::ledger::Ledger;
use crate::rpc::messages::MAX_MESSAGE;
use crate::rpc::notes::Notes;
use crate::rpc::transports::Sides;
use crate::rpc::transports::lines::{FarEnd, connect};
use crate::rpc::transports::pipe::Sink;

const MAX_STDERR_LINE: u64 = 64 * 1024;
const PATIENCE_FOR_EXIT_STATUS: Duration = Duration::from_millis(500);
const PATIENCE_FOR_LAST_STDERR: Duration = Duration::from_millis(200);

/// The server; dropping it kills it with all that it started.
pub(crate) struct Child {
    process: ProcessTree,
    stderr: Option<tokio::task::JoinHandle<()>>,
}

/// Starts a program, and returns both sides of a transport to it, and its sandbox.
pub(crate) fn start(
    program: &Program<'_>,
    ledger: Arc<Ledger>,
    notes: Notes,
) -> Result<(Sides, Option<Arc<Sandbox>>), Refusal> {
    let (process, (stdin, stdout, stderr)) = ProcessTree::start(program)?;
    let stderr = Some(tokio::spawn(task(note_stderr(stderr, notes.clone()))));
    let sandbox = process.sandbox.clone();
    let sides = Sink::child(stdin)
        .and_then(|sink| connect(Child { process, stderr }, (stdout, sink), ledger, Some(notes), MAX_MESSAGE));
    Ok((sides.map_err(|error| program.not_started(&error))?, sandbox))
}

impl FarEnd for Child {
    async fn end_with_server(&mut self) -> Infallible {
        self.process.end_with_server().await
    }

    async fn note_end(&mut self, notes: &Notes) {
        if !notes.has_exited() {
            match self.process.ended_within(PATIENCE_FOR_EXIT_STATUS).await {
                Some(status) => notes.exited(status.to_string()),
                None => notes.problem("the server closed its stdout but is still running".to_owned()),
            }
        }
        if let Some(stderr) = &mut self.stderr {
            // A grandchild may hold stderr open forever.
            let _ = tokio::time::timeout(PATIENCE_FOR_LAST_STDERR, stderr).await;
            self.stderr = None;
        }
    }

    async fn shut_down(&mut self) {
        self.process.shut_down().await;
    }
}

/// Records each line of stderr, until it ends. Dropping the future loses a line that was read in part.
pub(super) async fn note_stderr(stderr: ChildStderr, notes: Notes) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    let mut is_rest = false;
    loop {
        line.clear();
        match (&mut stderr).take(MAX_STDERR_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            // The rest of a cut line may contain half a secret.
            Ok(_) if is_rest => {}
            Ok(_) => notes.stderr_line(&String::from_utf8_lossy(&line)),
        }
        is_rest = !line.ends_with(b"\n");
    }
}
