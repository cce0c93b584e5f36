//! A log of calls, each line chained to the one before.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use mcp_bindgen_model::{canonical_json, hex_digest, utc_timestamp};
use serde_json::{Map, Value};

use crate::lock::lock;

/// More than this is not kept in memory while the file cannot be written.
const LONGEST_PENDING: usize = 1024 * 1024;

/// A file with a line of JSON for each call: its time, caller, server, tool, outcome, duration, and the SHA-256 of its
/// arguments (of their canonical JSON). Each line has the hash of the one before in `previous`, and its own in `hash`,
/// so that a change, a removal or an insertion is found by [`verify`](Self::verify). Lines that are removed at the end
/// are not.
///
/// While the file cannot be written, calls are denied.
///
/// ```no_run
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_proxy::{CallLog, Proxy};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = CallLog::open("calls.jsonl")?;
/// let proxy = Proxy::builder().server(ServerConfig::stdio("files", "my-mcp-server")).log(log).build()?;
/// # drop(proxy);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CallLog(Arc<Mutex<Open>>);

struct Open {
    path: PathBuf,
    file: File,
    /// The hash of the last line.
    previous: String,
    /// Lines that could not be written yet.
    pending: Vec<u8>,
}

impl CallLog {
    /// Opens a log, or creates it. A last line that was not written to its end is removed.
    ///
    /// # Errors
    /// Fails if the file cannot be written, another process writes it, or its last line is not one of a log.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, CallLogError> {
        let path = path.into();
        let failed = |error: io::Error| CallLogError::new(&path, None, error.to_string());
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(failed)?;
        if fs4::FileExt::try_lock(&file).is_err() {
            return Err(CallLogError::new(&path, None, "another process writes this log"));
        }
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut text)).map_err(failed)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            tracing::warn!("{}: removed the last line, which is incomplete", path.display());
            file.set_len(u64::try_from(whole).unwrap_or(u64::MAX)).map_err(failed)?;
        }
        let last = text.get(..whole).unwrap_or_default().strip_suffix(b"\n");
        let last = last.and_then(|lines| lines.rsplit(|byte| *byte == b'\n').next());
        let previous = match last {
            Some(line) => {
                let hash = serde_json::from_slice(line)
                    .ok()
                    .and_then(|line: Value| Some(line.get("hash")?.as_str()?.to_owned()));
                hash.ok_or_else(|| CallLogError::new(&path, None, "the last line is not one of a log of calls"))?
            }
            None => String::new(),
        };
        Ok(Self(Arc::new(Mutex::new(Open { path, file, previous, pending: Vec::new() }))))
    }

    /// Checks a log, and returns the number of its lines.
    ///
    /// # Errors
    /// Fails with the first line that was changed, or that does not follow the line before it.
    pub fn verify(path: impl AsRef<Path>) -> Result<usize, CallLogError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| CallLogError::new(path, None, error.to_string()))?;
        let mut reader = BufReader::new(file);
        let (mut number, mut previous, mut text) = (0, String::new(), String::new());
        loop {
            text.clear();
            let wrong = |message: &str| CallLogError::new(path, Some(number + 1), message);
            let read = reader.read_line(&mut text).map_err(|error| wrong(&error.to_string()))?;
            if read == 0 {
                return Ok(number);
            }
            let line = text.strip_suffix('\n').ok_or_else(|| wrong("the line is incomplete"))?;
            let mut line: Map<String, Value> = serde_json::from_str(line).map_err(|_| wrong("the line is not JSON"))?;
            let hash = line.remove("hash");
            let hash = hash.as_ref().and_then(Value::as_str).ok_or_else(|| wrong("the line has no `hash`"))?;
            if line.get("previous").and_then(Value::as_str) != Some(&previous) {
                return Err(wrong("the line does not follow the one before it: a line was removed, added or moved"));
            }
            if hash_of(&line) != hash {
                return Err(wrong("the line was changed"));
            }
            hash.clone_into(&mut previous);
            number += 1;
        }
    }

    /// Returns an error while the file cannot be written.
    pub(super) fn check(&self) -> Result<(), CallLogError> {
        let mut open = lock(&self.0);
        open.flush().map_err(|error| CallLogError::new(&open.path, None, error.to_string()))
    }

    pub(super) fn write(&self, time: SystemTime, mut line: Map<String, Value>) {
        let mut open = lock(&self.0);
        line.insert("time".to_owned(), utc_timestamp(time).into());
        line.insert("previous".to_owned(), open.previous.as_str().into());
        let hash = hash_of(&line);
        line.insert("hash".to_owned(), hash.as_str().into());
        let text = Value::Object(line).to_string();
        if open.pending.len() + text.len() >= LONGEST_PENDING {
            tracing::error!("{}: a call is missing in the log, which cannot be written", open.path.display());
            return;
        }
        open.previous = hash;
        open.pending.extend_from_slice(text.as_bytes());
        open.pending.push(b'\n');
        // The check before the next call writes the rest, or reports why it cannot be written.
        let _ = open.flush();
    }
}

impl Open {
    /// Writes the pending lines.
    fn flush(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            match self.file.write(&self.pending) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.pending.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl fmt::Debug for CallLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallLog(..)")
    }
}

/// The error of a log of calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct CallLogError {
    path: PathBuf,
    line: Option<usize>,
    message: String,
}

impl CallLogError {
    fn new(path: &Path, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// Returns the hash of a line, of which its canonical JSON without the hash is the text.
fn hash_of(line: &Map<String, Value>) -> String {
    hex_digest(canonical_json(&Value::Object(line.clone())).as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::fs;
    use std::time::SystemTime;

    use serde_json::json;

    use super::*;

    #[test]
    fn changed_removed_or_added_log_line_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let write = |numbers: std::ops::Range<u32>| {
            let log = CallLog::open(&path).unwrap();
            for number in numbers {
                log.write(SystemTime::now(), Map::from_iter([("tool".to_owned(), json!(number.to_string()))]));
            }
        };
        write(0..2);
        // Another process goes on, past a line that broke off.
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"tool\":");
        fs::write(&path, text).unwrap();
        write(2..4);
        assert_eq!(CallLog::verify(&path), Ok(4));

        let whole = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let fault = |lines: &[&str]| {
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            CallLog::verify(&path).unwrap_err().to_string()
        };
        let changed = lines[1].replace("\"tool\":\"1\"", "\"tool\":\"9\"");
        assert!(fault(&[lines[0], &changed, lines[2], lines[3]]).contains(".jsonl:2: the line was changed"));
        assert!(fault(&[lines[0], lines[2], lines[3]]).contains(":2: the line does not follow"));
        assert!(fault(&[lines[1], lines[2], lines[3]]).contains(":1: the line does not follow"));
        assert!(fault(&[lines[0], lines[0], lines[1]]).contains(":2: the line does not follow"));
    }

    #[test]
    fn only_one_process_writes_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let log = CallLog::open(&path).unwrap();
        assert!(CallLog::open(&path).unwrap_err().to_string().contains("another process"));
        drop(log);
        assert!(CallLog::open(&path).is_ok());
    }
}
