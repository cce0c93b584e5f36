//! `diff`: how two lists differ, wherever they are.

use std::path::Path;

use mcp_bindgen_model::{DriftRules, Snapshot, read_text};
use mcp_bindgen_runtime::ClientOptions;
use serde_json::{Value, json};

use super::findings;
use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::report::{self, classes};
use crate::{args, git, live, plan, project};

/// One side.
struct Side {
    text: String,
    snapshot: Snapshot,
    /// The rules of the server that it belongs to.
    rules: Option<DriftRules>,
}

pub(crate) async fn run(config: Option<&Path>, wanted: &args::Diff, output: &mut Output) -> Result<Exit> {
    let (old, new) = (Place::of(&wanted.old), Place::of(&wanted.new));
    if config.is_some() && matches!((&old, &new), (Place::File(..), Place::File(..))) {
        return Err(Failure::usage("comparing files does not use a configuration: remove `--config`"));
    }
    let (old_name, new_name) = (&wanted.old, &wanted.new);
    let old = side(config, old, old_name, output).await?;
    let new = side(config, new, new_name, output).await?;
    // Two files belong to no server.
    let rules = new.rules.or(old.rules).unwrap_or_default();
    let changes = plan::changes(&old.snapshot, &new.snapshot, &rules);
    let is_same = plan::is_same(&old.text, &new.text);
    let json: Value = changes.iter().map(report::change_json).collect();
    output.report(&json!({ "format": 1, "old": old_name, "new": new_name, "same": is_same, "changes": json }))?;
    if !is_same && output.is_text() {
        output.data(&plan::diff(&old.text, old_name, &new.text, new_name))?;
    }
    findings::changes(&changes, output);
    let said = match (is_same, changes.is_empty()) {
        (true, _) => "no difference".to_owned(),
        // The case in which `check` would rewrite the file.
        (false, true) => "same tools, different text".to_owned(),
        (false, false) => classes(&changes),
    };
    output.status("Finished", &format!("{old_name} to {new_name}: {said}"));
    Ok(wanted.denied.exit(&changes, if is_same { Exit::Done } else { Exit::OutOfDate }))
}

/// The meaning of a word on the command line: a file, `SERVER`, `SERVER@REVISION`, `FILE@REVISION`, `live:SERVER`.
enum Place<'w> {
    Live(&'w str),
    Server(&'w str, Option<&'w str>),
    File(&'w Path, Option<&'w str>),
}

impl<'w> Place<'w> {
    fn of(word: &'w str) -> Self {
        if let Some(server) = word.strip_prefix("live:") {
            return Self::Live(server);
        }
        let (place, revision) = if Path::new(word).is_file() { (word, None) } else { without_revision(word) };
        if is_path(place) || (revision.is_none() && Path::new(place).is_file()) {
            Self::File(Path::new(place), revision)
        } else {
            Self::Server(place, revision)
        }
    }
}

fn is_path(word: &str) -> bool {
    word.contains(['/', '\\']) || word.ends_with(".json")
}

/// Takes the revision from the end of a word. Both may have an `@`: `s@main@{1}`, `@scope/s.json@main`; a file may be gone
/// since the revision that it is asked of, and the name of a server has none.
fn without_revision(word: &str) -> (&str, Option<&str>) {
    let cuts = || {
        let cuts = word.match_indices('@').filter_map(|(at, _)| word.split_at_checked(at));
        cuts.filter(|(place, _)| !place.is_empty() && !place.ends_with(['/', '\\']))
    };
    let is_place = |place: &str| !is_path(place) || place.ends_with(".json");
    let cut = cuts()
        .find(|(place, _)| Path::new(place).is_file())
        .or_else(|| cuts().find(|(place, _)| is_place(place)))
        .or_else(|| cuts().next_back());
    match cut {
        Some((place, revision)) => (place, revision.strip_prefix('@')),
        None => (word, None),
    }
}

async fn side(config: Option<&Path>, place: Place<'_>, word: &str, output: &mut Output) -> Result<Side> {
    let (text, rules) = match place {
        Place::Live(server) => {
            let config = project::load(config, output)?;
            let server = config.server(server)?;
            output.status("Asking", &format!("{} what it offers", server.name));
            let client = live::client(&config, server, ClientOptions::new());
            let snapshot = live::snapshot(&client).await.map_err(|error| live::failure(error, server))?;
            (snapshot.to_text(), Some(server.drift_rules.clone()))
        }
        Place::Server(server, revision) => {
            let config = project::load(config, output)?;
            let server = config.server(server)?;
            (text(&config.snapshot_path(&server.name), revision)?, Some(server.drift_rules.clone()))
        }
        Place::File(path, revision) => (text(path, revision)?, None),
    };
    let snapshot = Snapshot::parse(&text).map_err(|error| error.in_file(word))?;
    Ok(Side { text, snapshot, rules })
}

/// Returns the text of a file, at a revision if there is one.
fn text(path: &Path, revision: Option<&str>) -> Result<String> {
    let Some(revision) = revision else { return Ok(read_text(path)?) };
    let missing = || Failure::new(format!("{} does not exist at `{revision}`", path.display()));
    git::text_at(path, revision)?.ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_is_separated_from_names_and_files_with_an_at_sign() {
        for (word, place, revision) in [
            ("s", "s", None),
            ("s@main", "s", Some("main")),
            ("s@main@{0}", "s", Some("main@{0}")),
            ("s@@{u}", "s", Some("@{u}")),
            ("s@user@x", "s", Some("user@x")),
            ("s@feature/x", "s", Some("feature/x")),
            ("mcp/s.json@v1", "mcp/s.json", Some("v1")),
            ("mcp/s.json@main@{1}", "mcp/s.json", Some("main@{1}")),
            ("pkgs/@scope/s.json", "pkgs/@scope/s.json", None),
            ("@scope/s.json", "@scope/s.json", None),
            ("pkgs/@scope/s.json@user@x", "pkgs/@scope/s.json", Some("user@x")),
            ("old@2/s.txt", "old", Some("2/s.txt")),
            ("mcp/gone.txt@main", "mcp/gone.txt", Some("main")),
        ] {
            assert_eq!(without_revision(word), (place, revision), "{word}");
        }
    }
}
