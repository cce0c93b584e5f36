//! `check`: reports whether `sync` would change the snapshots, and whether they build as configured.

use std::path::Path;

use mcp_bindgen_model::{Config, Date, ServerConfig, side_by_side};
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
    if wanted.offline {
        for (mut entry, exit) in side_by_side(&servers, 1, |server| offline(&config, server)) {
            entry.faults = found.remove(&entry.server).unwrap_or_default();
            findings::entry(&entry, exit, output)?;
            exits.push(exit);
            entries.push(entry);
        }
    } else {
        live::snapshots(&config, servers, output, |output, live| {
            let known = found.remove(&live.server.name).unwrap_or_default();
            let (mut entry, mut exit) = online(&config, live, &known, output.format);
            if !entry.changes.is_empty() {
                exit = wanted.denied.exit(&entry.changes, exit);
            }
            entry.faults = known;
            findings::entry(&entry, exit, output)?;
            exits.push(exit);
            entries.push(entry);
            Ok(())
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

/// Compares a snapshot with its live server; `known` lists the faults that were found offline.
fn online(config: &Config, found: live::Found, known: &[Fault], format: Format) -> (Entry, Exit) {
    let name = found.server.name.clone();
    let planned = found.live.map_err(|error| live::failure(error, &found.server)).and_then(|live| {
        let file = SnapshotFile::read(config, &name)?;
        let mut misfits = faults::of_live(config, &name, &live);
        misfits.retain(|misfit| !known.contains(misfit));
        Ok((Plan::new(&name, &found.server.drift_rules, &file, live)?, file, misfits))
    });
    let (plan, file, misfits) = match planned {
        Ok(planned) => planned,
        Err(failure) => return failed(config, &name, failure.exit, failure.into()),
    };
    let names = [format!("{} (snapshot)", file.shown()), format!("{name} (live)")];
    let is_shown = format == Format::Text || format == Format::Json && plan.changes().is_empty();
    let (mut entry, exit) = of_plan(plan, file, names, is_shown);
    entry.misfits = misfits;
    (entry, exit)
}

/// Checks a snapshot without its server: its plan is to write it as `sync` would.
fn offline(config: &Config, server: &ServerConfig) -> (Entry, Exit) {
    let planned = SnapshotFile::read(config, &server.name).and_then(|file| {
        let plan = Plan::new(&server.name, &server.drift_rules, &file, file.known().unwrap_or_default())?;
        Ok((plan, file))
    });
    let (plan, file) = match planned {
        Ok(planned) => planned,
        Err(error) => return failed(config, &server.name, Exit::Failed, error.into()),
    };
    let names = ["as it is", "as `sync` writes it"].map(|what| format!("{} ({what})", file.shown()));
    let (mut entry, exit) = of_plan(plan, file, names, true);
    if entry.status == Status::UpToDate {
        entry.status = Status::Valid;
    }
    (entry, exit)
}

/// Reports a plan, with the diff under these names if `is_shown`.
fn of_plan(plan: Plan, file: SnapshotFile, names: [String; 2], is_shown: bool) -> (Entry, Exit) {
    let exit = plan.exit();
    let status = match &plan.step {
        Step::Keep => Status::UpToDate,
        Step::Create => Status::Missing,
        Step::Replace(_) => Status::Broken,
        Step::Update { .. } => Status::OutOfDate,
    };
    let mut entry = Entry::new(&plan.server, status);
    entry.path = Some(file.shown());
    entry.diff = is_shown.then(|| plan.diff(&file, names)).flatten();
    match plan.step {
        Step::Update { changes } => entry.changes = changes,
        Step::Replace(error) => entry.error = Some(error.into()),
        Step::Keep | Step::Create => {}
    }
    entry.text = file.text;
    (entry, exit)
}

fn failed(config: &Config, server: &str, exit: Exit, fault: Fault) -> (Entry, Exit) {
    let mut entry = Entry::new(server, Status::Failed);
    entry.path = Some(config.snapshot_path(server).display().to_string());
    entry.error = Some(fault);
    (entry, exit)
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
