//! `diff`: how two lists differ, wherever they are.

use std::path::{Path, PathBuf};

use mcp_model::{Snapshot, read_text};
use mcp_schema::drift;
use serde_json::{Value, json};

use super::tell;
use crate::args;
use crate::exit::{Exit, Failure};
use crate::git;
use crate::live;
use crate::output::Output;
use crate::plan;
use crate::project;
use crate::report::{self, classes};

/// One side.
struct Side {
    /// As it is shown.
    name: String,
    text: String,
    snapshot: Snapshot,
}

pub(crate) async fn run(config: Option<&Path>, wanted: &args::Diff, output: &mut Output) -> Result<Exit, Failure> {
    let old = side(config, &wanted.old, output).await?;
    let new = side(config, &wanted.new, output).await?;
    let changes = drift::diff(&old.snapshot, &new.snapshot);
    if output.json() {
        let changes: Value = changes.iter().map(report::change_json).collect();
        output.data_json(&json!({ "format": 1, "old": old.name, "new": new.name, "changes": changes }))?;
    } else if !plan::is_same(&old.text, &new.text) {
        output.data(&plan::diff(&old.text, &old.name, &new.text, &new.name))?;
    }
    tell::changes(&changes, output);
    let said = if changes.is_empty() { "no difference".to_owned() } else { classes(&changes) };
    output.status("Finished", &format!("{} to {}: {said}", old.name, new.name));
    Ok(if changes.is_empty() { Exit::Done } else { Exit::OutOfDate })
}

/// What a word on the command line means: a file, `SERVER`, `SERVER@REVISION`, `FILE@REVISION`, `live:SERVER`.
async fn side(config: Option<&Path>, word: &str, output: &mut Output) -> Result<Side, Failure> {
    if let Some(server) = word.strip_prefix("live:") {
        let config = project::load(config, output)?;
        let server = config.server(server)?.clone();
        let known = Snapshot::load(config.snapshot_path(&server.name)).ok();
        output.status("Asking", &format!("{} what it offers", server.name));
        let client = live::client(&config, &server, known.as_ref());
        let asked = live::closing(client.clone(), async { client.snapshot().await }).await;
        let snapshot = asked.map_err(|error| live::failure(error, &server))?;
        return Ok(Side { name: word.to_owned(), text: snapshot.to_text(), snapshot });
    }
    if Path::new(word).is_file() {
        return read(word, read_text(word)?);
    }
    let (place, revision) = match word.rsplit_once('@') {
        Some((place, revision)) => (place, Some(revision)),
        None => (word, None),
    };
    let path = place_of(place, config, output)?;
    let Some(revision) = revision else { return read(word, read_text(&path)?) };
    match git::text_at(&path, revision)? {
        Some(text) => read(word, text),
        None => Err(Failure::new(format!("there is no {} at `{revision}`", path.display()))),
    }
}

/// A file, or the snapshot of a server. A file may be gone since the revision that it is asked of.
fn place_of(place: &str, config: Option<&Path>, output: &mut Output) -> Result<PathBuf, Failure> {
    if place.contains(['/', '\\']) || place.ends_with(".json") {
        return Ok(PathBuf::from(place));
    }
    let config = project::load(config, output)?;
    Ok(config.snapshot_path(&config.server(place)?.name))
}

fn read(name: &str, text: String) -> Result<Side, Failure> {
    let snapshot = Snapshot::parse(&text).map_err(|error| error.in_file(name))?;
    Ok(Side { name: name.to_owned(), text, snapshot })
}
