//! `check`: whether the snapshots are what `sync` would write now, and whether they build as they are configured.

use std::path::Path;

use mcp_model::{Config, FileError, Snapshot, read_text};
use mcp_schema::drift::{self, Class, Witness};
use serde_json::{Value, json};
use similar::TextDiff;

use super::{faults, source};
use crate::args::Servers;
use crate::exit::{Exit, Failure};
use crate::live::{self, Found};
use crate::output::{Output, lines_printable};
use crate::project;

pub(crate) async fn run(config: Option<&Path>, servers: &Servers, output: &mut Output) -> Result<Exit, Failure> {
    let config = project::load(config, output)?;
    let servers = project::servers(&config, &servers.servers)?;
    let faults = faults::tell(&config, &servers, output);
    let mut exits: Vec<Exit> = faults.values().map(|_| Exit::Failed).collect();
    let mut report: Vec<(String, Value)> = Vec::new();
    live::snapshots(&config, servers, output, |output, found| {
        let name = found.server.name.clone();
        let mut entry = match compare(&config, found) {
            Ok(state) => {
                exits.push(state.exit());
                state.tell(&name, output)?
            }
            Err(failure) => {
                output.error(&failure.message);
                exits.push(failure.exit);
                json!({ "server": name, "status": "failed", "error": failure.message })
            }
        };
        if let (Some(faults), Value::Object(entry)) = (faults.get(&name), &mut entry) {
            entry.insert("faults".to_owned(), json!(faults));
        }
        report.push((name, entry));
        Ok(())
    })
    .await?;
    if output.json() {
        report.sort_by(|a, b| a.0.cmp(&b.0));
        output.data_json(&report.into_iter().map(|(_, entry)| entry).collect())?;
    }
    Ok(Exit::of_all(exits))
}

/// How a snapshot stands to its server.
enum State {
    UpToDate {
        path: String,
    },
    Missing {
        path: String,
    },
    /// It cannot be read.
    Broken {
        path: String,
        error: FileError,
    },
    Differs {
        path: String,
        changes: Vec<drift::Change>,
        diff: String,
        /// What of the overrides would not fit a new snapshot, and fits this one.
        misfits: Vec<String>,
    },
}

fn compare(config: &Config, found: Found) -> Result<State, Failure> {
    let live = found.live.map_err(|error| live::failure(error, &found.server))?;
    let path = config.snapshot_path(&found.server.name);
    let shown = path.display().to_string();
    if !path.exists() {
        return Ok(State::Missing { path: shown });
    }
    let (current, live_text) = (read_text(&path)?, live.to_text());
    if current == live_text {
        return Ok(State::UpToDate { path: shown });
    }
    if let Err(error) = Snapshot::parse(&current) {
        let error = error.in_file(&path);
        if Snapshot::is_newer(&current) {
            return Err(error.into());
        }
        return Ok(State::Broken { path: shown, error });
    }
    let told = found.known.as_ref().map(|known| source::override_faults(&path, known)).unwrap_or_default();
    let misfits = source::override_faults(&path, &live);
    let misfits = misfits.iter().filter(|fault| !told.contains(fault)).map(ToString::to_string).collect();
    let changes = found.known.map(|known| drift::diff(&known, &live)).unwrap_or_default();
    let diff = TextDiff::from_lines(current.as_str(), live_text.as_str())
        .unified_diff()
        .header(&format!("{shown} (snapshot)"), &format!("{} (live)", found.server.name))
        .to_string();
    Ok(State::Differs { path: shown, changes, diff: lines_printable(diff.trim_end()), misfits })
}

impl State {
    fn exit(&self) -> Exit {
        match self {
            Self::UpToDate { .. } => Exit::Done,
            Self::Missing { .. } | Self::Broken { .. } | Self::Differs { .. } => Exit::OutOfDate,
        }
    }

    fn tell(&self, server: &str, output: &mut Output) -> Result<Value, Failure> {
        let (status, path, changes) = match self {
            Self::UpToDate { path } => {
                output.status("Up to date", path);
                ("up-to-date", path, &[][..])
            }
            Self::Missing { path } => {
                output.error(&format!(
                    "{server} has no snapshot\n --> {path}\n  = help: run `mcp-bindgen sync {server}`"
                ));
                ("missing", path, &[][..])
            }
            Self::Broken { path, error } => {
                let error = error.clone().with_help(format!("run `mcp-bindgen sync {server}` to take it anew"));
                output.error(&format!("{server}: {error}"));
                ("broken", path, &[][..])
            }
            Self::Differs { path, changes, diff, misfits } => {
                if !output.json() {
                    output.data(diff)?;
                }
                output.error(&format!("{server} is not what its snapshot says\n --> {path}"));
                tell_changes(changes, output);
                tell_misfits(server, misfits, output);
                output.status("", &format!("review the changes and run `mcp-bindgen sync {server}`"));
                ("out-of-date", path, changes.as_slice())
            }
        };
        let changes: Value = changes.iter().map(change_json).collect();
        let mut entry = json!({ "server": server, "status": status, "path": path, "changes": changes });
        if let (Self::Differs { misfits, .. }, Value::Object(entry)) = (self, &mut entry)
            && !misfits.is_empty()
        {
            entry.insert("misfits".to_owned(), json!(misfits));
        }
        Ok(entry)
    }
}

/// Tells what of the overrides does not fit what the server says now.
pub(crate) fn tell_misfits(server: &str, misfits: &[String], output: &mut Output) {
    for misfit in misfits {
        output.error(&format!("the overrides of {server} do not hold for what it offers now: {misfit}"));
    }
}

/// More than this many tell nobody more than their number.
const MOST_TOLD: usize = 100;

pub(crate) fn tell_changes(changes: &[drift::Change], output: &mut Output) {
    for line in drift::told(changes, MOST_TOLD) {
        output.status("", &line);
    }
    if let Some(more) = changes.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
        output.status("", &format!("and {more} more changes, all of them with `--format json`"));
    }
}

pub(crate) fn change_json(change: &drift::Change) -> Value {
    json!({
        "tool": change.tool,
        "kind": change.kind.name(),
        "class": change.class.name(),
        "breaking": change.class == Class::Breaking,
        "pointer": change.pointer,
        "detail": change.detail,
        "witness": change.witness.as_ref().map(witness_json),
    })
}

/// `{"sent": ARGUMENTS}`, or `{"answered": RESULT}`.
fn witness_json(witness: &Witness) -> Value {
    match witness {
        Witness::Sent(value) => json!({ "sent": value }),
        Witness::Answered(value) => json!({ "answered": value }),
        other => json!({ "value": other.value() }),
    }
}
