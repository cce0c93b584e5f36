//! A server as a child process that speaks JSON-RPC, one message a line, on its stdin and stdout.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::notes::Notes;
use super::process::{Pipes, ProcessTree, Program};
use super::raw::{self, Exchange};

const MAX_LINE: usize = 64 * 1024 * 1024;
const MAX_STDERR_LINE: u64 = 64 * 1024;
const PATIENCE_FOR_EXIT_STATUS: Duration = Duration::from_millis(500);
const PATIENCE_FOR_LAST_STDERR: Duration = Duration::from_millis(200);

/// The transport; dropping it kills the server with all that it started.
pub(crate) struct StdioTransport {
    process: ProcessTree,
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    lines: Lines,
    arrived: VecDeque<ServerJsonRpcMessage>,
    stderr: Option<tokio::task::JoinHandle<()>>,
    has_spoken: bool,
    exchange: Arc<Exchange>,
    notes: Notes,
}

impl StdioTransport {
    pub(crate) fn start(program: &Program<'_>, exchange: Arc<Exchange>, notes: Notes) -> io::Result<Self> {
        let (process, Pipes { stdin, stdout, stderr }) = ProcessTree::start(program)?;
        Ok(Self {
            process,
            stdin: Arc::new(Mutex::new(Some(stdin))),
            lines: Lines { stdout: BufReader::new(stdout), line: Vec::new() },
            arrived: VecDeque::new(),
            stderr: Some(tokio::spawn(note_stderr(stderr, notes.clone()))),
            has_spoken: false,
            exchange,
            notes,
        })
    }

    /// Reads one line; a batch (protocol 2025-03-26) holds several messages.
    fn take_line(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let messages = match raw::parse(line) {
            Some(Value::Array(batch)) => batch,
            Some(message @ Value::Object(_)) => vec![message],
            Some(_) | None => {
                self.notes.noise_line(&String::from_utf8_lossy(line));
                return;
            }
        };
        self.has_spoken = true;
        let exchange = &self.exchange;
        self.arrived.extend(messages.into_iter().filter_map(|message| exchange.received(message, None)));
    }

    async fn note_end(&mut self) {
        if !self.notes.has_exited()
            && let Some(status) = self.process.ended_within(PATIENCE_FOR_EXIT_STATUS).await
        {
            self.notes.exited(status.to_string());
        }
        if let Some(stderr) = self.stderr.take() {
            // A grandchild may hold stderr open for ever.
            let _ = tokio::time::timeout(PATIENCE_FOR_LAST_STDERR, stderr).await;
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.exchange.sending(&message);
        let stdin = self.stdin.clone();
        let has_spoken = self.has_spoken;
        async move {
            match write(&stdin, &message).await {
                // A server that ended at once is better explained by what it left on stderr: `receive` waits for it.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe && !has_spoken => Ok(()),
                outcome => outcome,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.arrived.pop_front() {
                return Some(message);
            }
            match self.lines.next().await {
                Ok(Some(line)) => self.take_line(&line),
                Ok(None) => {
                    self.note_end().await;
                    return None;
                }
                Err(error) => {
                    self.notes.problem(error.to_string());
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // A writer that is stuck holds the lock; then the process is ended without the courtesy.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            stdin.take();
        }
        self.process.shut_down().await;
        Ok(())
    }
}

async fn write(stdin: &Mutex<Option<ChildStdin>>, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut stdin = stdin.lock().await;
    let pipe = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    pipe.write_all(&line).await?;
    pipe.flush().await
}

/// Lines of stdout. `next` loses nothing when it is cancelled.
struct Lines {
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Lines {
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let available = self.stdout.fill_buf().await?;
            if available.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.is_empty()).then_some(rest));
            }
            let (part, ended) = match available.iter().position(|byte| *byte == b'\n') {
                Some(end) => (available.get(..=end).unwrap_or_default(), true),
                None => (available, false),
            };
            let length = part.len();
            self.line.extend_from_slice(part);
            self.stdout.consume(length);
            if ended {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
            if self.line.len() > MAX_LINE {
                let limit = MAX_LINE / (1024 * 1024);
                return Err(io::Error::other(format!("the server sent a line of more than {limit} MiB")));
            }
        }
    }
}

async fn note_stderr(stderr: ChildStderr, notes: Notes) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stderr).take(MAX_STDERR_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => notes.stderr_line(&String::from_utf8_lossy(&line)),
        }
    }
}
