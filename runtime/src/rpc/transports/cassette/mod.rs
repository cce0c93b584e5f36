//! Cassettes: a connection's messages are kept in a file, and replayed without a server.

mod difference;
mod error;
mod exchange;
mod player;
mod recorder;
mod replay;
mod tape;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub use self::difference::Difference;
pub use self::error::CassetteError;
pub(crate) use self::player::Player;
use self::recorder::Recorder;
pub(crate) use self::replay::replay;
use self::tape::Tape;
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
pub struct Cassette {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    mode: Mode,
}

enum Mode {
    Record(Mutex<Recording>),
    Replay(Arc<Player>),
}

/// The recording so far.
struct Recording {
    tape: Tape,
    /// `true` if the file is out of date.
    is_dirty: bool,
}

impl Cassette {
    /// Creates a cassette that records and replaces the file. Connections that fail without a response are not
    /// recorded.
    ///
    /// # Errors
    /// Fails if there can be no such file.
    pub fn record(path: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let path = path.into();
        let cannot = |message: String| CassetteError::Write { path: path.clone(), message };
        if path.is_dir() {
            return Err(cannot("it is a folder".to_owned()));
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| cannot(error.to_string()))?;
        }
        let recording = Recording { tape: Tape::default(), is_dirty: true };
        Ok(Self { inner: Arc::new(Inner { path, mode: Mode::Record(Mutex::new(recording)) }) })
    }

    /// Creates a cassette that replays a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is truncated, or has a newer format than this version knows.
    pub fn replay(path: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        let path = path.into();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| CassetteError::Read { path: path.clone(), message: error.to_string() })?;
        let player = Player::new(Tape::read(&path, &text)?, path.clone());
        Ok(Self { inner: Arc::new(Inner { path, mode: Mode::Replay(Arc::new(player)) }) })
    }

    /// Returns the path of the cassette file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
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
        self.player().map(|player| player.results(tool)).unwrap_or_default()
    }

    /// Returns the name of the recorded server, if anything was recorded.
    #[must_use]
    pub fn server(&self) -> Option<String> {
        match &self.inner.mode {
            Mode::Record(recording) => lock(recording).tape.server.clone(),
            Mode::Replay(player) => Some(player.server.clone()),
        }
    }

    /// Writes the recording so far, replacing the file atomically; does nothing on replay. Closing a client, or
    /// dropping its last clone, does the same, but can only log errors.
    ///
    /// # Errors
    /// Fails if the file cannot be written; the old one is then still there.
    pub fn save(&self) -> Result<(), CassetteError> {
        self.inner.save()
    }

    /// Saves the cassette with [`save`](Self::save), and logs an error.
    pub(crate) fn save_or_log(&self) {
        self.inner.save_or_log();
    }

    /// Returns `true` if a recording replaces the server.
    pub(crate) fn replays(&self) -> bool {
        matches!(self.inner.mode, Mode::Replay(_))
    }

    /// Makes it the cassette of a server.
    ///
    /// # Errors
    /// Fails if it is another's.
    pub(crate) fn insert_for(&self, server: &str) -> Result<(), CassetteError> {
        let recorded = match &self.inner.mode {
            Mode::Record(recording) => lock(recording).tape.server.get_or_insert_with(|| server.to_owned()).clone(),
            Mode::Replay(player) => player.server.clone(),
        };
        if recorded == server {
            return Ok(());
        }
        Err(CassetteError::OtherServer { path: self.inner.path.clone(), recorded, server: server.to_owned() })
    }

    /// Returns the recorder of one connection, if it records.
    pub(crate) fn witness(&self, redactor: &Redactor) -> Option<Arc<dyn Witness>> {
        let Mode::Record(_) = self.inner.mode else { return None };
        Some(Arc::new(Recorder::new(self.clone(), redactor.clone())))
    }

    pub(crate) fn player(&self) -> Option<Arc<Player>> {
        match &self.inner.mode {
            Mode::Record(_) => None,
            Mode::Replay(player) => Some(player.clone()),
        }
    }

    /// Changes the tape, if the cassette records.
    fn change<T: Default>(&self, change: impl FnOnce(&mut Tape) -> T) -> T {
        let Mode::Record(recording) = &self.inner.mode else { return T::default() };
        let mut recording = lock(recording);
        recording.is_dirty = true;
        change(&mut recording.tape)
    }
}

impl Inner {
    fn save(&self) -> Result<(), CassetteError> {
        let Mode::Record(recording) = &self.mode else { return Ok(()) };
        let mut recording = lock(recording);
        if recording.tape.server.is_none() || !recording.is_dirty {
            return Ok(());
        }
        mcp_bindgen_model::write_if_changed(&self.path, recording.tape.print().as_bytes())
            .map_err(|error| CassetteError::Write { path: self.path.clone(), message: error.to_string() })?;
        recording.is_dirty = false;
        Ok(())
    }

    fn save_or_log(&self) {
        if let Err(error) = self.save() {
            tracing::error!("{error}");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.save_or_log();
    }
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.replays() { "replay" } else { "record" };
        f.debug_struct("Cassette").field("path", &self.inner.path).field("mode", &mode).finish()
    }
}
