//! `check` reports whether `sync` would change the snapshots, and whether they build as configured; `sync` makes these
//! changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, Date, DriftRules, FileError, ServerConfig, Snapshot, side_by_side};
use mcp_bindgen_runtime::ConnectError;
use mcp_bindgen_schema::drift::Change;
use serde_json::{Value, json};

use super::{faults, findings};
use crate::args::{self, Denied, Format};
use crate::exit::{Exit, Failure, Result};
use crate::output::{Output, joined, present};
use crate::plan::{self, Plan, SnapshotFile};
use crate::project::{self, CONFIGURATIONS, is_json};
use crate::report::{self, Difference, Entry, Fault, Since, Status, counted, tally};
use crate::{git, live};

pub(crate) async fn run(config: Option<&Path>, wanted: &args::Check, output: &mut Output) -> Result<Exit> {
    let checked = checked(config, wanted, output).await;
    if let Err(Failure { message, .. }) = &checked {
        // In JSON, every command reports its failure.
        post(|| report::failure_comment(message), || vec![report::failure_annotation(message)], output)?;
    }
    checked
}

async fn checked(config: Option<&Path>, wanted: &args::Check, output: &mut Output) -> Result<Exit> {
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
        live::snapshots(&config, servers, output, |output, server, live| {
            let compared = compared(&config, &server, Some(live), output.format);
            add(output, compared)
        })
        .await?;
    }
    entries.sort_by(|a, b| a.server.cmp(&b.server));
    if let Some(revision) = &wanted.base {
        let are_all = wanted.servers.servers.is_empty();
        exits.extend(compare(&config, &mut entries, (revision, wanted.denied), are_all, output));
    }
    for entry in &entries {
        warn_of_acceptances(&config, entry, wanted.offline, output);
    }
    output.report(&report::to_json(&entries))?;
    let denied = wanted.denied;
    post(|| report::comment(&entries, denied), || report::annotations(&entries, denied), output)?;
    output.status("Finished", &report::summary(&entries));
    Ok(Exit::of_all(exits))
}

/// Warns of accepted changes that have expired, and of those that do not occur in a comparison.
fn warn_of_acceptances(config: &Config, entry: &Entry, is_offline: bool, output: &mut Output) {
    let since = entry.since.as_ref().filter(|since| matches!(since.difference, Difference::Changes(_)));
    let is_compared = since.is_some() || (!is_offline && matches!(entry.status, Status::UpToDate | Status::OutOfDate));
    let Some(server) = config.servers.get(&entry.server).filter(|_| is_compared) else { return };
    let changes = || entry.changes.iter().chain(since.iter().flat_map(|since| since.changes()));
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
) -> Result<()> {
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

/// Plans the step from a snapshot to its live server; without one, to the snapshot as `sync` writes it. Returns the plan
/// with what does not fit the live server, or the reason why there is none.
fn planned(
    config: &Config,
    server: &ServerConfig,
    live: Option<Result<Snapshot, ConnectError>>,
) -> Result<(Plan, Vec<Fault>), (Exit, Fault)> {
    let failed = |error: FileError| (Exit::Failed, Fault::from(error));
    let live = live.transpose().map_err(|error| {
        let failure = live::failure(error, server);
        (failure.exit, failure.into())
    })?;
    let file = SnapshotFile::read(config, &server.name).map_err(failed)?;
    let misfits = live.as_ref().map(|live| faults::of_live(config, &server.name, live)).unwrap_or_default();
    let live = live.or_else(|| file.known()).unwrap_or_default();
    Ok((Plan::new(&server.drift_rules, file, live).map_err(failed)?, misfits))
}

/// Compares a snapshot with its live server; without one, with what `sync` would write of it.
fn compared(
    config: &Config,
    server: &ServerConfig,
    live: Option<Result<Snapshot, ConnectError>>,
    format: Format,
) -> (Entry, Exit) {
    let (name, is_offline) = (server.name.as_str(), live.is_none());
    let (plan, misfits) = match planned(config, server, live) {
        Ok(planned) => planned,
        Err((exit, fault)) => {
            let path = Some(config.snapshot_path(name).display().to_string());
            return (Entry { path, error: Some(fault), ..Entry::new(name, Status::Failed) }, exit);
        }
    };
    let (shown, exit) = (plan.file.shown(), plan.exit());
    let names = match is_offline {
        true => ["as it is", "as `sync` writes it"].map(|what| format!("{shown} ({what})")),
        false => [format!("{shown} (snapshot)"), format!("{name} (live)")],
    };
    let is_shown = format == Format::Text || format == Format::Json && plan.changes.is_empty();
    let diff = is_shown.then(|| plan.diff(names)).flatten();
    let Plan { file, status, error, changes, .. } = plan;
    let status = if is_offline && status == Status::UpToDate { Status::Valid } else { status };
    let (path, text, error) = (Some(shown), file.text, error.map(Fault::from));
    (Entry { path, text, error, changes, diff, misfits, ..Entry::new(name, status) }, exit)
}

/// Adds the changes of snapshots since the merge base with a revision, including those of removed servers.
fn compare(
    config: &Config,
    entries: &mut Vec<Entry>,
    (revision, denied): (&str, Denied),
    are_all: bool,
    output: &mut Output,
) -> Vec<Exit> {
    let base = match Base::of_config(config, revision) {
        Ok(base) => base,
        // Earlier results are still valid.
        Err(failure) => {
            for entry in entries {
                entry.since = Some(Since::new(revision, Difference::Unknown(failure.message.clone())));
            }
            return vec![output.failure(&failure)];
        }
    };
    if are_all {
        for server in base.removed(config) {
            let mut entry = Entry::new(&server, Status::Removed);
            entry.path = Some(base.place(&server, &config.snapshot_path(&server)).display().to_string());
            entry.since = Some(Since::new(revision, Difference::Removed));
            entries.push(entry);
        }
        entries.sort_by(|a, b| a.server.cmp(&b.server));
    }
    let mut exits = Vec::new();
    for entry in entries {
        if entry.since.is_none() {
            let read = SnapshotFile::read(config, &entry.server).map_err(Failure::from);
            let rules = config.servers.get(&entry.server).map(|server| &server.drift_rules);
            let read = read.and_then(|now| base.since(&entry.server, rules, &now.path, now.text.as_deref()));
            entry.since = match read {
                Ok(since) => Some(since),
                // Unreadable entries are already reported.
                Err(_) if entry.status == Status::Broken => None,
                Err(failure) => {
                    exits.push(output.failure(&failure));
                    Some(Since::new(revision, Difference::Unknown(failure.message)))
                }
            };
        }
        exits.push(findings::since(entry, denied, output));
    }
    exits
}

/// Runs `sync`: makes the changes that `check` reports.
pub(crate) async fn sync(config: Option<&Path>, servers: &args::Servers, output: &mut Output) -> Result<Exit> {
    let config = project::load(config, output)?;
    let servers = project::servers(&config, &servers.servers)?;
    let mut exits = Vec::new();
    let mut report: BTreeMap<String, (&str, Value)> = BTreeMap::new();
    live::snapshots(&config, servers, output, |output, server, live| {
        let entry = match synced(&config, &server, live) {
            Ok((plan, misfits)) => {
                // Misfits stop the next build.
                exits.push(if misfits.is_empty() { Exit::Done } else { Exit::Failed });
                told(&server.name, &plan, &misfits, output)
            }
            Err(failure) => {
                exits.push(output.failure(&failure));
                ("failed", json!({ "server": server.name, "status": "failed", "error": failure.message }))
            }
        };
        report.insert(server.name, entry);
        Ok(())
    })
    .await?;
    let count = |wanted| report.values().filter(|(status, _)| *status == wanted).count();
    let counts = tally(["created", "updated", "unchanged", "failed"].map(|status| (count(status), status)));
    output.status("Finished", &format!("{} asked: {counts}", counted(report.len(), "server")));
    output.report(&report.into_values().map(|(_, entry)| entry).collect())?;
    Ok(Exit::of_all(exits))
}

/// Writes the live snapshot, and returns the faults of bindings.
fn synced(config: &Config, server: &ServerConfig, live: Result<Snapshot, ConnectError>) -> Result<(Plan, Vec<Fault>)> {
    let failed = |(exit, fault): (Exit, Fault)| Failure { exit, message: fault.text };
    let (plan, misfits) = planned(config, server, Some(live)).map_err(failed)?;
    if plan.status != Status::UpToDate {
        project::still_has(config, &server.name)?;
    }
    plan.apply()?;
    Ok((plan, misfits))
}

/// Prints a step that was made, and returns its status and its report.
fn told(server: &str, plan: &Plan, misfits: &[Fault], output: &mut Output) -> (&'static str, Value) {
    let (word, status) = match plan.status {
        Status::UpToDate => ("Unchanged", "unchanged"),
        Status::Missing => ("Created", "created"),
        _ => ("Updated", "updated"),
    };
    let (path, tools) = (plan.file.shown(), plan.live.tools.len());
    output.status(word, &format!("{path} ({} of {server})", counted(tools, "tool")));
    findings::changes(&plan.changes, output);
    findings::misfits(server, misfits, output);
    let changes: Value = plan.changes.iter().map(report::change_json).collect();
    let entry = json!({ "server": server, "status": status, "path": path, "tools": tools, "changes": changes });
    let misfits = (!misfits.is_empty()).then(|| misfits.iter().map(|misfit| json!(misfit.text)).collect());
    (status, joined(entry, present([("misfits", misfits)])))
}

/// The commit that work is compared with.
struct Base {
    revision: String,
    commit: String,
    /// The configuration at that commit, if it is readable.
    config: Option<Config>,
}

impl Base {
    /// Finds the merge base with a revision.
    ///
    /// # Errors
    /// Fails if git finds none.
    fn of_config(config: &Config, revision: &str) -> Result<Self> {
        let mut base = Self::of_file(&config.snapshot_path("any"), revision)?;
        base.config = config.path.as_deref().and_then(|path| base.config_at(path));
        Ok(base)
    }

    fn of_file(path: &Path, revision: &str) -> Result<Self> {
        Ok(Self { revision: revision.to_owned(), commit: git::base(path, revision)?, config: None })
    }

    /// Returns the configuration at that commit, from its path or another usual one.
    fn config_at(&self, path: &Path) -> Option<Config> {
        let others = CONFIGURATIONS.iter().map(|name| path.with_file_name(name));
        [path.to_owned()].into_iter().chain(others).find_map(|path| {
            let text = git::text_of(&path, &self.commit, &self.revision).ok()??;
            let read =
                if is_json(&path) { Config::parse_mcp_json(&text, &path) } else { Config::parse_toml(&text, &path) };
            read.ok()
        })
    }

    /// Returns the path of a server's snapshot at that commit.
    fn place(&self, server: &str, path: &Path) -> PathBuf {
        let then = self.config.as_ref().filter(|config| config.servers.contains_key(server));
        then.map_or_else(|| path.to_owned(), |config| config.snapshot_path(server))
    }

    /// Returns the servers that there were, and that a configuration does not have any more.
    fn removed(&self, config: &Config) -> Vec<String> {
        let servers = self.config.iter().flat_map(|then| then.servers.keys());
        servers.filter(|name| !config.servers.contains_key(*name)).cloned().collect()
    }

    /// Compares the snapshot of a server, at this path and with these contents, with an earlier one.
    ///
    /// # Errors
    /// Fails if one of both cannot be read.
    fn since(&self, server: &str, rules: Option<&DriftRules>, path: &Path, now: Option<&str>) -> Result<Since> {
        let place = self.place(server, path);
        let then = git::text_of(&place, &self.commit, &self.revision)?;
        let read = |text: &str, path: &Path, what: &str| {
            Snapshot::parse(text).map_err(|error| Failure::new(format!("{} {what}: {error}", path.display())))
        };
        let at_base = format!("at `{}`", self.revision);
        let difference = match (then.as_deref(), now) {
            (Some(then), Some(now)) => {
                let (then, now) = (read(then, &place, &at_base)?, read(now, path, "as it is")?);
                Difference::Changes(plan::changes(&then, &now, rules.unwrap_or(&DriftRules::default())))
            }
            (None, Some(_)) => Difference::Added,
            (Some(_), None) => Difference::Removed,
            (None, None) => Difference::Changes(Vec::new()),
        };
        Ok(Since::new(&self.revision, difference))
    }
}

/// Compares the snapshot in a file, with these contents, with an earlier one.
///
/// # Errors
/// Fails if there is no such commit, or if either snapshot is unreadable.
pub(super) fn since_at(rules: Option<&DriftRules>, path: &Path, now: &str, revision: &str) -> Result<Since> {
    Base::of_file(path, revision)?.since("", rules, path, Some(now))
}
