//! `sync`: from live servers to snapshots.

use std::path::Path;

use mcp_model::{Config, FileError, Snapshot, read_text};
use mcp_schema::drift;
use serde_json::{Value, json};

use super::check::{change_json, tell_changes, tell_misfits};
use super::source;
use crate::args::Servers;
use crate::exit::{Exit, Failure};
use crate::live::{self, Found};
use crate::output::Output;
use crate::project;

pub(crate) async fn run(config: Option<&Path>, servers: &Servers, output: &mut Output) -> Result<Exit, Failure> {
    let config = project::load(config, output)?;
    let servers = project::servers(&config, &servers.servers)?;
    let mut exits = Vec::new();
    let mut report: Vec<(String, Value)> = Vec::new();
    live::snapshots(&config, servers, output, |output, found| {
        let name = found.server.name.clone();
        let entry = match save(&config, found) {
            Ok(saved) => {
                // They stop the next build.
                exits.extend((!saved.misfits.is_empty()).then_some(Exit::Failed));
                saved.tell(&name, output)
            }
            Err(failure) => {
                output.error(&failure.message);
                exits.push(failure.exit);
                json!({ "server": name, "status": "failed", "error": failure.message })
            }
        };
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

struct Saved {
    path: String,
    tools: usize,
    existed: bool,
    written: bool,
    changes: Vec<drift::Change>,
    /// What of the overrides does not fit the new snapshot.
    misfits: Vec<String>,
}

fn save(config: &Config, found: Found) -> Result<Saved, Failure> {
    let live = found.live.map_err(|error| live::failure(error, &found.server))?;
    let path = config.snapshot_path(&found.server.name);
    let current = read_text(&path).ok();
    if current.as_deref().is_some_and(Snapshot::is_newer) {
        let error = match Snapshot::load(&path) {
            Err(error) => error,
            Ok(_) => FileError::new("the snapshot changed while it was read").in_file(&path),
        };
        return Err(error.into());
    }
    Ok(Saved {
        tools: live.tools.len(),
        existed: current.is_some(),
        changes: found.known.as_ref().map(|known| drift::diff(known, &live)).unwrap_or_default(),
        written: live.save(&path)?,
        misfits: source::override_faults(&path, &live).iter().map(ToString::to_string).collect(),
        path: path.display().to_string(),
    })
}

impl Saved {
    fn tell(&self, server: &str, output: &mut Output) -> Value {
        let Self { path, tools, .. } = self;
        let (word, status) = match (self.written, self.existed) {
            (false, _) => ("Unchanged", "unchanged"),
            (true, false) => ("Created", "created"),
            (true, true) => ("Updated", "updated"),
        };
        output.status(word, &format!("{path} ({tools} tools of {server})"));
        tell_changes(&self.changes, output);
        tell_misfits(server, &self.misfits, output);
        let changes: Value = self.changes.iter().map(change_json).collect();
        let mut entry = json!({ "server": server, "status": status, "path": path, "tools": tools, "changes": changes });
        if let Value::Object(entry) = &mut entry
            && !self.misfits.is_empty()
        {
            entry.insert("misfits".to_owned(), json!(self.misfits));
        }
        entry
    }
}
