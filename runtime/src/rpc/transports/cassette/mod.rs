//! Cassettes: files with the messages of a connection, which are replayed without a server.

mod difference;
mod error;
mod recorder;
mod replay;
mod tape;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::{fmt, fs, io};

pub use self::difference::Difference;
pub use self::error::CassetteError;
use self::recorder::Recorder;
pub(crate) use self::replay::replay;
use self::tape::{Exchange, Outcome, Tape};
use crate::ToolResult;
use crate::ground::redact::Redactor;
use crate::ground::sync::lock;
use crate::rpc::ledger::Witness;

/// Requests to a server and its responses, recorded in a file and replayed without the server. The file has a JSON
/// object on each line, no times, and no secrets of the server's configuration: it is made for git.
///
/// On replay, a request gets the response of the recorded one with the same method and parameters; several equal ones
/// are used in order. Any other request fails, and the [`source`](std::error::Error::source) of the error is a
/// [`CassetteError`] with the differences. Redacted values match anything.
///
/// ```no_run
/// # async fn run(config: mcp_bindgen_model::ServerConfig) -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_bindgen_runtime::{Cassette, Client, ClientOptions};
///
/// // Once, with the server there; the file is written when the client is closed, or by `save`.
/// let cassette = Cassette::record("tests/cassettes/issues.jsonl")?;
/// let client = Client::with_options(config.clone(), ClientOptions::new().cassette(cassette.clone()));
/// client.call("list_issues", Default::default()).await?;
/// client.close().await;
/// cassette.save()?;
///
/// // From then on: nothing is started, no secret is needed.
/// let cassette = Cassette::replay("tests/cassettes/issues.jsonl")?;
/// let client = Client::with_options(config, ClientOptions::new().cassette(cassette));
/// client.call("list_issues", Default::default()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cassette(Arc<Inner>);

struct Inner {
    path: PathBuf,
    /// `true` if the tape replaces the server; otherwise, it is recorded.
    replays: bool,
    tape: Mutex<Tape>,
}

impl Cassette {
    /// Creates a cassette that records and replaces the file. Connections that fail without a response are not
    /// recorded.
    ///
    /// # Errors
    /// Fails if there can be no such file.
    pub fn record(path: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let path = path.into();
        let made = match path.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => path.parent().map_or(Ok(()), fs::create_dir_all),
        };
        made.map_err(|error| CassetteError::Write { path: path.clone(), message: error.to_string() })?;
        Ok(Self(Arc::new(Inner { path, replays: false, tape: Mutex::default() })))
    }

    /// Creates a cassette that replays a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is truncated, or has a newer format than this version knows.
    pub fn replay(path: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let path = path.into();
        let text = fs::read_to_string(&path)
            .map_err(|error| CassetteError::Read { path: path.clone(), message: error.to_string() })?;
        let tape = Mutex::new(Tape::read(&path, &text)?);
        Ok(Self(Arc::new(Inner { path, replays: true, tape })))
    }

    /// Returns the path of the cassette file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the results of a tool in a replayed cassette, in the order of the calls, for any arguments and without
    /// protocol errors. Empty while recording.
    ///
    /// ```no_run
    /// let cassette = mcp_bindgen_runtime::Cassette::replay("tests/cassettes/issues.jsonl")?;
    /// for result in cassette.results("list_issues") {
    ///     println!("{}", result.text());
    /// }
    /// # Ok::<(), mcp_bindgen_runtime::CassetteError>(())
    /// ```
    #[must_use]
    pub fn results(&self, tool: &str) -> Vec<ToolResult> {
        if !self.replays() {
            return Vec::new();
        }
        let tape = lock(&self.0.tape);
        let server = tape.server.as_deref().unwrap_or_default();
        let is_call =
            |exchange: &&Exchange| exchange.request.method == "tools/call" && exchange.request.subject() == Some(tool);
        let result = |exchange: &Exchange| match &exchange.response {
            Some(Outcome::Result(result)) => Some(ToolResult::from_json(server, tool, result.clone())),
            Some(Outcome::Error(_)) | None => None,
        };
        tape.exchanges.iter().filter(is_call).filter_map(result).collect()
    }

    /// Returns the name of the recorded server, if anything was recorded.
    #[must_use]
    pub fn server(&self) -> Option<String> {
        lock(&self.0.tape).server.clone()
    }

    /// Writes the recording so far, replacing the file atomically; does nothing on replay. Closing a client, or
    /// dropping its last clone, does the same, but can only log errors.
    ///
    /// # Errors
    /// Fails if the file cannot be written; the old one is then still there.
    pub fn save(&self) -> Result<(), CassetteError> {
        self.0.save()
    }

    /// Returns `true` if a recording replaces the server.
    pub(crate) fn replays(&self) -> bool {
        self.0.replays
    }

    /// Makes it the cassette of a server.
    ///
    /// # Errors
    /// Fails if it is the cassette of another server.
    pub(crate) fn insert_for(&self, server: &str) -> Result<(), CassetteError> {
        let mut tape = lock(&self.0.tape);
        let recorded = tape.server.get_or_insert_with(|| server.to_owned()).clone();
        if recorded == server {
            return Ok(());
        }
        Err(CassetteError::OtherServer { path: self.0.path.clone(), recorded, server: server.to_owned() })
    }

    /// Returns the recorder of one connection, if it records.
    pub(crate) fn witness(&self, redactor: &Redactor) -> Option<Arc<dyn Witness>> {
        (!self.replays()).then(|| Arc::new(Recorder::new(self.clone(), redactor.clone())) as _)
    }

    /// Returns the tape, which the caller changes.
    fn tape_to_change(&self) -> MutexGuard<'_, Tape> {
        let mut tape = lock(&self.0.tape);
        tape.is_saved = false;
        tape
    }
}

impl Inner {
    fn save(&self) -> Result<(), CassetteError> {
        let mut tape = lock(&self.tape);
        if tape.is_saved || tape.server.is_none() {
            return Ok(());
        }
        mcp_bindgen_model::write_if_changed(&self.path, tape.print().as_bytes())
            .map_err(|error| CassetteError::Write { path: self.path.clone(), message: error.to_string() })?;
        tape.is_saved = true;
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Err(error) = self.save() {
            tracing::error!("{error}");
        }
    }
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cassette").field("path", &self.0.path).field("replays", &self.0.replays).finish_non_exhaustive()
    }
}
