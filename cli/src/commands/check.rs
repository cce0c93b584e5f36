//! `check`: whether the snapshots are what `sync` would write now, and whether they build as they are configured.

use std::path::Path;

use mcp_model::{Config, ServerConfig, Snapshot, side_by_side};
use mcp_schema::drift;

use super::{faults, tell};
use crate::args::{self, Format};
use crate::exit::{Exit, Failure};
use crate::git;
use crate::live;
use crate::output::Output;
use crate::plan::{self, Plan, SnapshotFile, Step};
use crate::project;
use crate::report::{self, Entry, Since, Status};

pub(crate) async fn run(config: Option<&Path>, wanted: &args::Check, output: &mut Output) -> Result<Exit, Failure> {
    let config = project::load(config, output)?;
    let servers = project::servers(&config, &wanted.servers.servers)?;
    let mut found = faults::find(&config, &servers, output);
    let mut exits: Vec<Exit> = found.values().map(|_| Exit::Failed).collect();
    let mut entries: Vec<Entry> = Vec::new();
    if wanted.offline {
        for (entry, exit) in side_by_side(&servers, 1, |server| offline(&config, server)) {
            tell::entry(&entry, output)?;
            exits.push(exit);
            entries.push(entry);
        }
    } else {
        live::snapshots(&config, servers, output, |output, live| {
            let (entry, exit) = online(&config, live);
            tell::entry(&entry, output)?;
            exits.push(exit);
            entries.push(entry);
            Ok(())
        })
        .await?;
    }
    entries.sort_by(|a, b| a.server.cmp(&b.server));
    for entry in &mut entries {
        entry.faults = found.remove(&entry.server).unwrap_or_default();
        if let Some(revision) = &wanted.base {
            entry.since = Some(since(&config, &entry.server, revision)?);
            tell::since(entry, output);
        }
    }
    print(&entries, output)?;
    output.status("Finished", &report::summary(&entries));
    Ok(Exit::of_all(exits))
}

fn print(entries: &[Entry], output: &mut Output) -> Result<(), Failure> {
    match output.format {
        Format::Json => output.data_json(&report::to_json(entries))?,
        Format::Markdown => output.data(report::comment(entries).trim_end())?,
        Format::Github => {
            for line in report::annotations(entries) {
                output.exact(&line)?;
            }
            output.job_summary(&report::comment(entries))?;
        }
        _ => {}
    }
    Ok(())
}

/// How a snapshot stands to what its server says.
fn online(config: &Config, found: live::Found) -> (Entry, Exit) {
    let name = found.server.name.clone();
    let planned = found.live.map_err(|error| live::failure(error, &found.server)).and_then(|live| {
        let file = SnapshotFile::read(config, &name)?;
        Ok((Plan::new(&name, &file, live)?, file))
    });
    let (plan, file) = match planned {
        Ok(planned) => planned,
        Err(failure) => return failed(config, &name, &failure),
    };
    let exit = plan.exit();
    let status = match &plan.step {
        Step::Keep => Status::UpToDate,
        Step::Create => Status::Missing,
        Step::Replace(_) => Status::Broken,
        Step::Update { .. } => Status::OutOfDate,
    };
    let mut entry = Entry::new(&name, status);
    entry.path = Some(file.shown());
    entry.misfits = plan.misfits.into_iter().filter(|misfit| misfit.is_new).map(|misfit| misfit.text).collect();
    match plan.step {
        Step::Update { changes, diff } => (entry.changes, entry.diff) = (changes, Some(diff)),
        Step::Replace(error) => entry.error = Some(error.to_string()),
        Step::Keep | Step::Create => {}
    }
    entry.text = file.text;
    (entry, exit)
}

/// What can be said of a snapshot without its server.
fn offline(config: &Config, server: &ServerConfig) -> (Entry, Exit) {
    let name = &server.name;
    let file = match SnapshotFile::read(config, name) {
        Ok(file) => file,
        Err(error) => return failed(config, name, &error.into()),
    };
    let mut entry = Entry::new(name, Status::Valid);
    entry.path = Some(file.shown());
    let Some(text) = file.text else {
        entry.status = Status::Missing;
        return (entry, Exit::OutOfDate);
    };
    match Snapshot::parse(&text) {
        Err(error) if Snapshot::is_newer(&text) => return failed(config, name, &error.in_file(&file.path).into()),
        Err(error) => {
            entry.status = Status::Broken;
            entry.error = Some(error.in_file(&file.path).to_string());
        }
        Ok(snapshot) => {
            let written = snapshot.to_text();
            if !plan::is_same(&text, &written) {
                entry.status = Status::OutOfDate;
                let names = (
                    format!("{} (as it is)", file.path.display()),
                    format!("{} (as `sync` writes it)", file.path.display()),
                );
                entry.diff = Some(plan::diff(&text, &names.0, &written, &names.1));
            }
        }
    }
    let exit = if entry.status.is_good() { Exit::Done } else { Exit::OutOfDate };
    entry.text = Some(text);
    (entry, exit)
}

fn failed(config: &Config, server: &str, failure: &Failure) -> (Entry, Exit) {
    let mut entry = Entry::new(server, Status::Failed);
    entry.path = Some(config.snapshot_path(server).display().to_string());
    entry.error = Some(failure.message.clone());
    (entry, failure.exit)
}

/// What became of a snapshot since this work left a branch.
fn since(config: &Config, server: &str, revision: &str) -> Result<Since, Failure> {
    let now = SnapshotFile::read(config, server)?.text;
    since_at(&config.snapshot_path(server), now.as_deref(), revision)
}

/// The same of the file at this path, which says this now.
pub(super) fn since_at(path: &Path, now: Option<&str>, revision: &str) -> Result<Since, Failure> {
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let commit = git::base(folder, revision)?;
    let then = git::text_at(path, &commit)?;
    let read = |text: &str, what: &str| {
        Snapshot::parse(text).map_err(|error| Failure::new(format!("{} {what}: {error}", path.display())))
    };
    let changes = match (then.as_deref(), now) {
        (Some(then), Some(now)) => drift::diff(&read(then, &format!("at `{revision}`"))?, &read(now, "as it is")?),
        _ => Vec::new(),
    };
    Ok(Since { revision: revision.to_owned(), is_new: then.is_none() && now.is_some(), changes })
}
