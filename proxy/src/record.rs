//! Records calls: in metrics in the text format of Prometheus, and in a log whose lines are chained.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use mcp_bindgen_model::{canonical_object, digest, hex_digest, printable, utc_timestamp};
use mcp_bindgen_runtime::events::CallOutcome;
use mcp_bindgen_runtime::{CallError, ToolCall, ToolResult};
use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, TextEncoder};
use serde_json::{Map, Value, json};

use crate::lock::lock;

/// Upper bounds of durations, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 120.0];

/// The longest reason of a denied call in the log, in characters.
const LONGEST_REASON: usize = 2000;

/// The names of the gauges, with their descriptions.
const GAUGES: [(&str, &str); 4] = [
    ("mcp_proxy_sessions", "Open sessions of clients"),
    ("mcp_proxy_children", "Connected child processes"),
    ("mcp_proxy_requests", "Open requests"),
    ("mcp_proxy_approvals", "Approvals that wait for an answer"),
];

/// The metrics and the log of a proxy.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) metrics: Metrics,
    pub(crate) log: Option<CallLog>,
}

impl Records {
    /// Begins the record of a call, which is written when it ends or is dropped.
    ///
    /// # Errors
    /// Fails if the log cannot be written: then no call is made.
    pub(crate) fn begin(&self, call: &ToolCall) -> Result<Record<'_>, CallError> {
        let (server, tool) = (call.server.to_string(), call.tool.to_string());
        let mut line = None;
        if let Some(log) = &self.log {
            log.check().map_err(|error| {
                tracing::error!("calls are denied, because the log of calls cannot be written: {error}");
                CallError::denied(&*call.server, &*call.tool, "the log of calls cannot be written")
            })?;
            let caller = call.caller().map(|caller| {
                json!({
                    "principal": caller.principal, "session": caller.session, "client": caller.client,
                    "address": caller.address,
                })
            });
            let arguments = digest(&Value::Object(call.arguments.clone()));
            line = Some(json!({ "caller": caller, "server": server, "tool": tool, "arguments": arguments }));
        }
        Ok(Record {
            records: self,
            server,
            tool,
            line,
            begun: Instant::now(),
            outcome: CallOutcome::Dropped,
            reason: None,
        })
    }
}

/// The record of one call, which is written on drop.
pub(crate) struct Record<'a> {
    records: &'a Records,
    server: String,
    tool: String,
    line: Option<Value>,
    begun: Instant,
    outcome: CallOutcome,
    /// The reason of a denied call.
    reason: Option<String>,
}

impl Record<'_> {
    pub(crate) fn end(mut self, outcome: &Result<ToolResult, CallError>) {
        self.outcome = CallOutcome::of(outcome);
        if let Err(CallError::Denied { reason, .. }) = outcome {
            let reason: String = reason.chars().take(LONGEST_REASON).collect();
            self.reason = Some(printable(&reason).chars().take(LONGEST_REASON).collect());
        }
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        let (outcome, duration) = (self.outcome.as_str(), self.begun.elapsed());
        self.records.metrics.call_ended(&self.server, &self.tool, outcome, duration);
        if let (Some(log), Some(Value::Object(mut line))) = (&self.records.log, self.line.take()) {
            line.insert("outcome".to_owned(), outcome.into());
            line.extend(self.reason.take().map(|reason| ("reason".to_owned(), reason.into())));
            let milliseconds = (duration.as_secs_f64() * 1e6).round() / 1e3;
            line.insert("duration_ms".to_owned(), milliseconds.into());
            log.write(SystemTime::now(), line);
        }
    }
}

/// The metrics of calls: their counts and durations. `None` means that the library rejected a name, which a test
/// excludes.
pub(crate) struct Metrics(Option<(IntCounterVec, HistogramVec)>);

impl Default for Metrics {
    fn default() -> Self {
        let calls = Opts::new("mcp_proxy_calls_total", "Calls of tools by server, tool and outcome");
        let calls = IntCounterVec::new(calls, &["server", "tool", "outcome"]);
        let durations = HistogramOpts::new("mcp_proxy_call_duration_seconds", "Duration of calls of tools by server");
        let durations = HistogramVec::new(durations.buckets(BUCKETS.to_vec()), &["server"]);
        Self(calls.ok().zip(durations.ok()))
    }
}

impl Metrics {
    fn call_ended(&self, server: &str, tool: &str, outcome: &str, duration: Duration) {
        if let Some((calls, durations)) = &self.0 {
            calls.with_label_values(&[server, tool, outcome]).inc();
            durations.with_label_values(&[server]).observe(duration.as_secs_f64());
        }
    }

    /// Returns all metrics as text, with the current counts in the order of [`GAUGES`].
    pub(crate) fn text(&self, counts: [usize; GAUGES.len()]) -> String {
        let families = self.0.as_ref().map(|(calls, durations)| [calls.collect(), durations.collect()].concat());
        let mut families = families.unwrap_or_default();
        // A metric without calls has no line.
        families.retain(|family| !family.get_metric().is_empty());
        let calls = TextEncoder::new().encode_to_string(&families).unwrap_or_default();
        let gauges = GAUGES.iter().zip(counts);
        let gauges =
            gauges.map(|((name, help), count)| format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {count}\n"));
        gauges.fold(calls, |text, gauge| text + &gauge)
    }
}

/// More than this is not kept in memory while the file cannot be written.
const LONGEST_PENDING: usize = 1024 * 1024;

/// A file with a line of JSON for each call: its time, caller, server, tool, outcome, duration, the reason if it was
/// denied, and the SHA-256 of its arguments (of their canonical JSON). Each line has the hash of the one before in
/// `previous`, and its own in `hash`, so that a change, a removal or an insertion is found by [`verify`](Self::verify).
/// Lines that are removed at the end are not.
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
        let hash = |line| Some(serde_json::from_slice::<Value>(line).ok()?.get("hash")?.as_str()?.to_owned());
        let previous = last.map_or(Some(String::new()), hash);
        let previous =
            previous.ok_or_else(|| CallLogError::new(&path, None, "the last line is not one of a log of calls"))?;
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
        let (mut number, mut previous) = (0, String::new());
        loop {
            let mut text = String::new();
            let wrong = |message: &str| CallLogError::new(path, Some(number + 1), message);
            if reader.read_line(&mut text).map_err(|error| wrong(&error.to_string()))? == 0 {
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
    hex_digest(canonical_object(line).as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::fs;

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

    #[test]
    fn denied_call_has_its_bounded_reason_in_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.jsonl");
        let records = Records { log: Some(CallLog::open(&path).unwrap()), ..Records::default() };
        let call = ToolCall::new("git", "push", Map::new());
        let long = format!("never\u{1b}[2J {}", "x".repeat(9000));
        for denied in [
            Some(CallError::denied("git", "push", "on Sundays")),
            Some(CallError::denied("git", "push", long)),
            Some(CallError::tool_not_found("git", "push")),
            None,
        ] {
            let record = records.begin(&call).unwrap();
            if let Some(denied) = denied {
                record.end(&Err(denied));
            }
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |line: &Value| (line["outcome"].as_str().unwrap().to_owned(), line.get("reason").cloned());
        let mut found: Vec<_> = lines.iter().map(of).collect();
        let (_, long) = found.remove(1);
        let long = long.unwrap().as_str().unwrap().to_owned();
        assert!(long.starts_with(r"never\u{1b}[2J xxx") && long.len() < 3000, "{long}");
        let expected = [("denied", Some(json!("on Sundays"))), ("tool_not_found", None), ("dropped", None)];
        assert_eq!(found, expected.map(|(outcome, reason)| (outcome.to_owned(), reason)));
        assert_eq!(CallLog::verify(&path), Ok(4));
    }

    #[test]
    fn metrics_text_contains_calls_and_counts() {
        let metrics = Metrics::default();
        metrics.call_ended("git", "diff", "success", Duration::from_millis(3));
        let text = metrics.text([2, 0, 0, 0]);
        for line in [
            "# TYPE mcp_proxy_calls_total counter",
            "mcp_proxy_calls_total{outcome=\"success\",server=\"git\",tool=\"diff\"} 1",
            "mcp_proxy_call_duration_seconds_bucket{server=\"git\",le=\"0.0025\"} 0",
            "mcp_proxy_call_duration_seconds_count{server=\"git\"} 1",
            "mcp_proxy_sessions 2",
            "mcp_proxy_children 0",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}: {text}");
        }
    }
}
