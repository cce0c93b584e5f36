//! `check`: reports whether `sync` would change the snapshots, and whether they build as configured.

use std::path::Path;

use mcp_bindgen_model::{Config, Date, FileError, ServerConfig, Snapshot, side_by_side};
use mcp_bindgen_runtime::ConnectError;
use mcp_bindgen_schema::drift::Change;

use super::since::Base;
use super::{faults, findings};
use crate::args::{self, Format};
use crate::exit::{Exit, Failure};
use crate::live;
use crate::output::Output;
use crate::plan::{Plan, SnapshotFile, Step};
use crate::project;
use crate::report::{self, Entry, Fault, Since, Status};

pub(crate) async fn run(config: Option<&Path>, wanted: &args::Check, output: &mut Output) -> Result<Exit, Failure> {
    let checked = checked(config, wanted, output).await;
    if let Err(Failure { message, .. }) = &checked {
        // In JSON, every command reports its failure.
        post(|| report::failure_comment(message), || vec![report::failure_annotation(message)], output)?;
    }
    checked
}

async fn checked(config: Option<&Path>, wanted: &args::Check, output: &mut Output) -> Result<Exit, Failure> {
    let (config, servers) = project::load_servers(config, &wanted.servers.servers, output)?;
    let mut found = faults::find(&config, &servers, output);
    let mut exits: Vec<Exit> = found.values().map(|_| Exit::Failed).collect();
    let mut entries: Vec<Entry> = Vec::new();
    let mut add = |output: &mut Output, (mut entry, mut exit): (Entry, Exit)| {
        if !entry.changes.is_empty() {
            exit = wanted.denied.exit(&entry.changes, exit);
        }
        entry.faults = found.remove(&entry.server).unwrap_or_default();
        entry.misfits.retain(|misfit| !entry.faults.contains(misfit));
        findings::entry(&entry, exit, output)?;
        exits.push(exit);
        entries.push(entry);
        Ok(())
    };
    if wanted.offline {
        let compared = side_by_side(&servers, 1, |server| compared(&config, server, None, Format::Text));
        compared.into_iter().try_for_each(|compared| add(output, compared))?;
    } else {
        live::snapshots(&config, servers, output, |output, live::Found { server, live }| {
            let compared = compared(&config, &server, Some(live), output.format);
            add(output, compared)
        })
        .await?;
    }
    entries.sort_by(|a, b| a.server.cmp(&b.server));
    if let Some(revision) = &wanted.base {
        let are_all = wanted.servers.servers.is_empty();
        exits.extend(compare(&config, &mut entries, revision, are_all, output));
        let since = entries.iter().filter_map(|entry| entry.since.as_ref());
        exits.extend(since.map(|since| match wanted.denied.deny {
            // All that was offered is gone.
            Some(_) if since.is_gone => Exit::OutOfDate,
            _ => wanted.denied.exit(&since.changes, Exit::Done),
        }));
    }
    for entry in &entries {
        warn_of_acceptances(&config, entry, wanted.offline, output);
    }
    output.report(&report::to_json(&entries))?;
    post(|| report::comment(&entries), || report::annotations(&entries), output)?;
    output.status("Finished", &report::summary(&entries));
    Ok(Exit::of_all(exits))
}

/// Warns of accepted changes that have expired, and of those that do not occur in a comparison.
fn warn_of_acceptances(config: &Config, entry: &Entry, is_offline: bool, output: &mut Output) {
    let since = entry.since.as_ref().filter(|since| since.error.is_none() && !since.is_new && !since.is_gone);
    let is_compared = since.is_some() || (!is_offline && matches!(entry.status, Status::UpToDate | Status::OutOfDate));
    let Some(server) = config.servers.get(&entry.server).filter(|_| is_compared) else { return };
    let changes = || entry.changes.iter().chain(since.iter().flat_map(|since| &since.changes));
    for accepted in &server.drift_rules.accept {
        let covers = |change: &Change| accepted.covers(change.kind, &change.tool, &change.pointer);
        let (fact, help) = if !changes().any(covers) {
            ("accepted change no longer exists", "remove the entry")
        } else if accepted.is_expired(Date::today()) {
            ("acceptance has expired", "review the change, then extend `until` or remove the entry")
        } else {
            continue;
        };
        let fact = format!("{}: {fact}: {}", entry.server, accepted.rule.id());
        output.warning(&accepted.place.error(fact).with_help(help).to_string());
    }
}

/// Posts a report: as a comment, or as annotations and the summary of a job.
fn post(
    comment: impl FnOnce() -> String,
    annotations: impl FnOnce() -> Vec<String>,
    output: &mut Output,
) -> Result<(), Failure> {
    match output.format {
        Format::Markdown => output.data(comment().trim_end())?,
        Format::Github => {
            annotations().iter().try_for_each(|line| output.exact(line))?;
            output.job_summary(&comment());
        }
        _ => {}
    }
    Ok(())
}

/// Compares a snapshot with its live server; without one, with what `sync` would write of it.
fn compared(
    config: &Config,
    server: &ServerConfig,
    live: Option<Result<Snapshot, ConnectError>>,
    format: Format,
) -> (Entry, Exit) {
    let (name, is_offline) = (server.name.as_str(), live.is_none());
    let failed = |error: FileError| (Exit::Failed, Fault::from(error));
    let unreached = |error| {
        let failure = live::failure(error, server);
        (failure.exit, failure.into())
    };
    let planned = live.transpose().map_err(unreached).and_then(|live| {
        let file = SnapshotFile::read(config, name).map_err(failed)?;
        let misfits = live.as_ref().map(|live| faults::of_live(config, name, live)).unwrap_or_default();
        let live = live.or_else(|| file.known()).unwrap_or_default();
        Ok((Plan::new(name, &server.drift_rules, &file, live).map_err(failed)?, file, misfits))
    });
    let (plan, file, misfits) = match planned {
        Ok(planned) => planned,
        Err((exit, fault)) => {
            let path = Some(config.snapshot_path(name).display().to_string());
            return (Entry { path, error: Some(fault), ..Entry::new(name, Status::Failed) }, exit);
        }
    };
    let exit = plan.exit();
    let names = match is_offline {
        true => ["as it is", "as `sync` writes it"].map(|what| format!("{} ({what})", file.shown())),
        false => [format!("{} (snapshot)", file.shown()), format!("{name} (live)")],
    };
    let is_shown = format == Format::Text || format == Format::Json && plan.changes().is_empty();
    let diff = is_shown.then(|| plan.diff(&file, names)).flatten();
    let (status, error, changes) = match plan.step {
        Step::Keep if is_offline => (Status::Valid, None, Vec::new()),
        Step::Keep => (Status::UpToDate, None, Vec::new()),
        Step::Create => (Status::Missing, None, Vec::new()),
        Step::Replace(error) => (Status::Broken, Some(error.into()), Vec::new()),
        Step::Update { changes } => (Status::OutOfDate, None, changes),
    };
    let (path, text) = (Some(file.shown()), file.text);
    (Entry { path, text, error, changes, diff, misfits, ..Entry::new(name, status) }, exit)
}

/// Adds the changes of snapshots since the merge base with a revision, including those of removed servers.
fn compare(
    config: &Config,
    entries: &mut Vec<Entry>,
    revision: &str,
    are_all: bool,
    output: &mut Output,
) -> Option<Exit> {
    let base = match Base::of_config(config, revision) {
        Ok(base) => base,
        // Earlier results are still valid.
        Err(failure) => {
            for entry in entries {
                entry.since = Some(Since::unknown(revision, &failure.message));
            }
            return Some(output.failure(&failure));
        }
    };
    if are_all {
        for server in base.removed(config) {
            let mut entry = Entry::new(&server, Status::Removed);
            entry.path = Some(base.place(&server, &config.snapshot_path(&server)).display().to_string());
            entry.since = Some(Since { is_gone: true, ..Since::new(revision, Vec::new()) });
            entries.push(entry);
        }
        entries.sort_by(|a, b| a.server.cmp(&b.server));
    }
    let mut exit = None;
    for entry in entries {
        if entry.since.is_none() {
            let read = SnapshotFile::read(config, &entry.server).map_err(Failure::from);
            // Unreadable entries are already reported.
            let rules = config.servers.get(&entry.server).map(|server| server.drift_rules.clone()).unwrap_or_default();
            let read = read.and_then(|now| base.since((&entry.server, &rules), &now.path, now.text.as_deref()));
            entry.since = match read {
                Ok(since) => Some(since),
                Err(_) if entry.status == Status::Broken => None,
                Err(failure) => {
                    exit = Some(output.failure(&failure));
                    Some(Since::unknown(revision, &failure.message))
                }
            };
        }
        findings::since(entry, output);
    }
    exit
}
