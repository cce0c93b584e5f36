//! Asks a server once in a build: the first process asks, and stores the answer for the others.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fs4::TryLockError;
use mcp_bindgen_model::{Config, FileError, ServerConfig, Snapshot, digest, write_private};
use mcp_bindgen_runtime::{Client, ClientOptions, ConnectErrorKind};
use serde_json::{Value, json};

use super::build::{self, Build};
use super::{Door, place};

/// The default time for asking, if the server's configuration sets none.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// The extra time of the first who asks, until the others hear of it.
const GRACE: Duration = Duration::from_secs(10);
/// How often it is looked whether the build goes on.
const TICK: Duration = Duration::from_millis(200);
const SERVERS_VARIABLE: &str = "MCP_SERVERS";

/// The context of a build that asks servers.
#[derive(Debug)]
pub(crate) struct Asking {
    kept: Kept,
    build: Build,
    /// The folder in which a build script keeps a copy.
    out_dir: Option<PathBuf>,
}

/// The answer of a server.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The text that `sync` would write.
    pub(crate) text: String,
    /// The path of the stored text.
    pub(crate) path: PathBuf,
}

impl Asking {
    /// Returns `None` outside a build: an editor expands macros in its own process.
    pub(super) fn of(door: Door) -> Option<Self> {
        let (folder, out_dir): (PathBuf, Option<PathBuf>) = match door {
            #[cfg(feature = "build-script")]
            Door::BuildScript(out_dir) => (place::of_build_script(&out_dir), Some(out_dir)),
            Door::Macro => {
                (place::of_rustc(std::env::args_os().map(|word| word.to_string_lossy().into_owned()))?, None)
            }
        };
        if build::is_of_editor() {
            return None;
        }
        let build = Build::current();
        Some(Self { kept: Kept::new(folder, build.clone()), build, out_dir })
    }

    /// Returns `true` if this build has not yet reported that the variable names an unknown server.
    pub(super) fn is_first_to_say(&self, config: &Config, name: &str) -> bool {
        let said = digest(&json!([config.path.as_ref().map(|path| path.to_string_lossy()), name]));
        let Ok(Some(question)) = self.kept.take(&stem("unknown", &said), GRACE) else {
            return true;
        };
        let is_first = question.answer().is_none();
        if is_first {
            // If this fails, the error is reported again.
            let _ = question.keep(&Err(String::new()));
        }
        is_first
    }

    pub(super) fn ask(&self, config: &Config, name: &str, known: Option<&Snapshot>) -> Result<Captured, String> {
        let server = configured(config, name)?;
        let patience = server.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
        let stem = stem(name, &identity(config, &server, known));
        let question = self.kept.take(&stem, patience + GRACE).map_err(|error| error.to_string())?;
        let Some(question) = question else {
            return Err(format!("another process of this build has been connecting to it for more than {patience:?}"));
        };
        let kept_text = question.text();
        let answer = match question.answer() {
            Some(answer) => answer,
            None => {
                let options = ClientOptions::new().connect_timeout(patience);
                let client = Client::for_snapshot(config, &server, known, options);
                let mut kept = Ok(());
                let answer = answer_of(client, patience, self.build.clone(), |answer| kept = question.keep(answer))?;
                kept.map_err(|error| error.to_string())?;
                answer
            }
        };
        let text = answer?;
        let path = match &self.out_dir {
            Some(out_dir) => {
                let copy = out_dir.join("mcp_bindgen").join(format!("{name}.live.json"));
                keep_copy(&copy, &text)?;
                copy
            }
            None => kept_text,
        };
        Ok(Captured { text, path })
    }
}

/// Returns the configuration of the server: as at run time and on the command line, `MCP_SERVERS` precedes the file.
fn configured(config: &Config, name: &str) -> Result<ServerConfig, String> {
    let named = std::env::var(SERVERS_VARIABLE).ok().map(|text| Config::from_env_json(&text));
    let named = named.transpose().map_err(|error| error.to_string())?;
    let has = |named: &&Config| named.has(name);
    let config = named.as_ref().filter(has).unwrap_or(config);
    config.server(name).cloned().map_err(|error| error.to_string())
}

/// Returns the identity of a question about a server. Placeholders represent secrets, whose values do not change during
/// a build.
fn identity(config: &Config, server: &ServerConfig, known: Option<&Snapshot>) -> String {
    let capabilities = known.and_then(|known| known.client_capabilities.as_ref());
    let folder = server.folder.as_ref().map(|folder| folder.to_string_lossy());
    let timeout = config.defaults.timeout.as_millis().to_string();
    digest(&json!([server.name, server.to_json(), folder, capabilities, timeout]))
}

fn stem(name: &str, digest: &str) -> String {
    format!("{name}-{}", digest.get(..16).unwrap_or(digest))
}

fn keep_copy(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(|error| format!("failed to create {}: {error}", folder.display()))?;
    write_private(path, text.as_bytes()).map_err(|error| error.to_string())
}

/// Asks on a separate thread, because the caller may be inside another runtime. `keep` receives the answer before the
/// connection is closed, because closing may take longer than others should wait.
fn answer_of(
    client: Client,
    patience: Duration,
    build: Build,
    keep: impl FnOnce(&Result<String, String>),
) -> Result<Result<String, String>, String> {
    let (sender, receiver) = mpsc::channel();
    let asking = std::thread::Builder::new().name("mcp-bindgen live".to_owned()).spawn(move || {
        on_a_runtime(async {
            // rustc kills itself on a broken pipe; the end of a server must not do that.
            #[cfg(unix)]
            let _pipes = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::pipe())?;
            // The receiver is gone only if the build is being given up.
            let _ = sender.send(snapshot(&client, patience, &build).await);
            client.close().await;
            Ok(())
        })?
    });
    let asking = asking.map_err(|error| format!("failed to start a thread: {error}"))?;
    let answer = receiver.recv().ok();
    if let Some(answer) = &answer {
        keep(answer);
    }
    let ended: std::io::Result<()> =
        asking.join().map_err(|_| "internal error while connecting; please report it".to_owned())?;
    match (answer, ended) {
        (Some(answer), _) => Ok(answer),
        (None, Err(error)) => Err(format!("failed to create a runtime: {error}")),
        (None, Ok(())) => Err("nobody answered".to_owned()),
    }
}

/// Runs a future without waiting for leftover work: a host look-up may take minutes and cannot be cancelled.
fn on_a_runtime<T>(asking: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(asking);
    runtime.shutdown_background();
    Ok(outcome)
}

/// Returns the text of a server's snapshot, in time and while the build goes on.
async fn snapshot(client: &Client, patience: Duration, build: &Build) -> Result<String, String> {
    let begun = Instant::now();
    let mut asking = pin!(client.snapshot());
    loop {
        let left = patience.saturating_sub(begun.elapsed());
        match tokio::time::timeout(left.min(TICK), asking.as_mut()).await {
            Ok(Ok(snapshot)) => return Ok(snapshot.to_text()),
            Ok(Err(error)) if error.kind == ConnectErrorKind::Timeout => {
                return Err(late(&error.message, client.name()));
            }
            Ok(Err(error)) => return Err(error.message),
            Err(_) if build.is_over() => return Err("the build was interrupted".to_owned()),
            Err(_) if begun.elapsed() >= patience => {
                return Err(late(&format!("it did not list its tools within {patience:?}"), client.name()));
            }
            Err(_) => {}
        }
    }
}

fn late(message: &str, server: &str) -> String {
    format!("{message}\n  = help: increase `connect_timeout` of server `{server}`")
}

const PAUSE: Duration = Duration::from_millis(20);

/// The folder in which a build stores the answers of servers for its other processes.
#[derive(Debug)]
pub(super) struct Kept {
    folder: PathBuf,
    build: Build,
}

/// A locked question: other processes of the build cannot answer it meanwhile.
pub(super) struct Question<'k> {
    kept: &'k Kept,
    stem: String,
    /// Given back when it is closed, however this process ends.
    _lock: File,
}

impl Kept {
    pub(super) fn new(folder: PathBuf, build: Build) -> Self {
        Self { folder, build }
    }

    /// Waits for the lock on a question. Returns `None` if another process still holds it in the end.
    ///
    /// # Errors
    /// Fails if the folder is not writable.
    pub(super) fn take(&self, stem: &str, patience: Duration) -> Result<Option<Question<'_>>, FileError> {
        let path = self.folder.join(format!("{stem}.lock"));
        let wrong = |error: std::io::Error| FileError::new(format!("failed to store it: {error}")).in_file(&path);
        make_private(&self.folder).map_err(wrong)?;
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(wrong)?;
        let begun = Instant::now();
        loop {
            match fs4::FileExt::try_lock(&lock) {
                Ok(()) => return Ok(Some(Question { kept: self, stem: stem.to_owned(), _lock: lock })),
                Err(TryLockError::Error(error)) => return Err(wrong(error)),
                Err(TryLockError::WouldBlock) if begun.elapsed() < patience => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Ok(None),
            }
        }
    }
}

impl Question<'_> {
    /// Returns the answer that this build already has: a text, or an error.
    pub(super) fn answer(&self) -> Option<Result<String, String>> {
        let record: Value = serde_json::from_str(&fs::read_to_string(self.file("answer")).ok()?).ok()?;
        let age = now().saturating_sub(Duration::from_secs(record.get("at")?.as_u64()?));
        if !self.kept.build.did(record.get("build")?.as_str()?, age) {
            return None;
        }
        match record.get("failure").and_then(Value::as_str) {
            Some(failure) => Some(Err(failure.to_owned())),
            None => fs::read_to_string(self.text()).ok().map(Ok),
        }
    }

    /// Keeps the answer for the rest of the build, and gives the question back.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub(super) fn keep(self, answer: &Result<String, String>) -> Result<(), FileError> {
        // The record comes last: it vouches for the text.
        if let Ok(text) = answer {
            write_private(&self.text(), text.as_bytes())?;
        }
        let record = json!({ "build": self.kept.build.name, "at": now().as_secs(), "failure": answer.as_ref().err() });
        write_private(&self.file("answer"), format!("{record}\n").as_bytes())
    }

    /// Returns the file of the text.
    pub(super) fn text(&self) -> PathBuf {
        self.file("json")
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.kept.folder.join(format!("{}.{extension}", self.stem))
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Creates a folder that only its owner can read.
fn make_private(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Another process was quicker.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocking_task_does_not_delay_the_build() {
        let (begun, (sender, looked_up)) = (Instant::now(), mpsc::channel());
        let outcome = on_a_runtime(async {
            tokio::task::spawn_blocking(move || {
                let _ = sender.send(());
                std::thread::sleep(Duration::from_secs(120));
            });
            looked_up.recv()
        });
        assert_eq!(outcome.unwrap(), Ok(()));
        assert!(begun.elapsed() < Duration::from_secs(60), "it was waited for");
    }

    fn kept(folder: &Path) -> Kept {
        Kept::new(folder.join("kept"), Build::current())
    }

    fn taken<'k>(kept: &'k Kept) -> Question<'k> {
        kept.take("x", Duration::from_secs(60)).unwrap().unwrap()
    }

    #[test]
    fn result_is_stored_for_its_build() {
        let folder = tempfile::tempdir().unwrap();
        let kept = kept(folder.path());
        assert_eq!(taken(&kept).answer(), None);
        for answer in [Ok("text".to_owned()), Err("why".to_owned()), Ok("other".to_owned())] {
            taken(&kept).keep(&answer).unwrap();
            assert_eq!(taken(&kept).answer(), Some(answer));
        }
        let other = Kept::new(kept.folder.clone(), Build::of_parent(1));
        assert_eq!(taken(&other).answer(), None, "of another build");
        mcp_bindgen_model::write_if_changed(&kept.folder.join("x.answer"), b"{\"build\":").unwrap();
        assert_eq!(taken(&kept).answer(), None, "half a record");
    }

    #[test]
    fn second_process_waits_for_the_result() {
        let folder = tempfile::tempdir().unwrap();
        let kept = kept(folder.path());
        let first = taken(&kept);
        assert!(kept.take("x", Duration::from_millis(30)).unwrap().is_none());
        assert!(kept.take("y", Duration::ZERO).unwrap().is_some(), "another question");
        std::thread::scope(|scope| {
            let second = scope.spawn(|| taken(&kept).answer());
            std::thread::sleep(Duration::from_millis(30));
            // Before the one that asked is done with closing.
            first.keep(&Ok("text".to_owned())).unwrap();
            assert_eq!(second.join().unwrap(), Some(Ok("text".to_owned())));
        });
    }

    #[cfg(unix)]
    #[test]
    fn stored_results_are_readable_only_by_their_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let kept = kept(folder.path());
        taken(&kept).keep(&Ok("text".to_owned())).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&kept.folder), 0o700);
        assert_eq!((mode(&kept.folder.join("x.json")), mode(&kept.folder.join("x.answer"))), (0o600, 0o600));
    }

    #[test]
    fn unusable_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        mcp_bindgen_model::write_if_changed(&folder.path().join("kept"), b"a file").unwrap();
        let error = kept(folder.path()).take("x", Duration::ZERO).err().unwrap();
        assert!(error.to_string().starts_with("failed to store it: "), "{error}");
    }
}
