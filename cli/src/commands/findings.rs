//! Printing findings for people, line by line.

use mcp_bindgen_schema::drift::{self, Change};

use crate::args::Denied;
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::report::{Difference, Entry, Fault, Status, classes};

/// The maximum number of listed changes.
const MOST_TOLD: usize = 100;

/// Prints the state of one snapshot, with the next step at the end. Differences are an error if they fail the check.
pub(super) fn entry(entry: &Entry, exit: Exit, output: &mut Output) -> Result<()> {
    let server = &entry.server;
    let path = entry.path.as_deref().unwrap_or_default();
    let error = entry.error.as_ref().map(|error| error.text.as_str()).unwrap_or_default();
    match entry.status {
        Status::UpToDate => output.status("Up to date", path),
        // Its faults are printed instead.
        Status::Valid if !entry.faults.is_empty() => {}
        Status::Valid => output.status("Valid", path),
        Status::Missing => {
            output.error(&format!("{server} has no snapshot\n --> {path}\n  = help: run `mcp-bindgen sync {server}`"))
        }
        Status::Broken => {
            output.error(&format!("{server}: {error}\n  = help: run `mcp-bindgen sync {server}` to write it again"));
        }
        Status::Failed => output.error(error),
        Status::Removed => {}
        Status::OutOfDate => {
            if let Some(diff) = entry.diff.as_deref().filter(|_| output.is_text()) {
                output.data(diff)?;
            }
            let (said, help) = match entry.changes.as_slice() {
                [] => ("is not formatted as `sync` writes it", "review the changes and run"),
                _ if entry.is_accepted() => {
                    ("differs from its snapshot, only in changes that mcp.toml accepts", "to update the snapshot, run")
                }
                _ => ("differs from its snapshot", "review the changes and run"),
            };
            let mut error = format!("{server} {said}\n --> {path}");
            error.push_str(&within(&entry.changes));
            error.push_str(&format!("\n  = help: {help} `mcp-bindgen sync {server}`"));
            output.diagnostic(if exit == Exit::Done { "warning" } else { "error" }, &error);
            misfits(server, &entry.misfits, output);
        }
    }
    Ok(())
}

/// Tells what became of a snapshot since another commit, and returns the exit code. Denied changes are an error.
pub(super) fn since(entry: &Entry, denied: Denied, output: &mut Output) -> Exit {
    let Some(since) = &entry.since else { return Exit::Done };
    let server = &entry.server;
    let said = match &since.difference {
        Difference::Removed if entry.status == Status::Removed => format!("server {server} was removed"),
        Difference::Removed => format!("the snapshot of {server} was removed"),
        Difference::Added => format!("server {server} was added"),
        Difference::Changes(changes) if !changes.is_empty() => format!("{server} has {}", classes(changes)),
        Difference::Changes(_) | Difference::Unknown(_) => return Exit::Done,
    };
    match denied.deny.filter(|_| since.is_refused(denied)) {
        Some(class) => {
            let help = match since.difference {
                Difference::Removed => "restore it, or check without `--deny`".to_owned(),
                _ => format!("undo the denied changes, or accept them in `[servers.{server}.drift]`"),
            };
            let mut error = format!("{said} since {}, which `--deny {}` forbids", since.revision, class.name());
            if let Some(path) = &entry.path {
                error.push_str(&format!("\n --> {path}"));
            }
            output.error(&format!("{error}{}\n  = help: {help}", within(since.changes())));
            Exit::OutOfDate
        }
        None => {
            output.status("Since", &format!("{}: {said}", since.revision));
            changes(since.changes(), output);
            Exit::Done
        }
    }
}

/// Prints the parts of the configuration and the overrides that do not match the live server.
pub(super) fn misfits(server: &str, misfits: &[Fault], output: &mut Output) {
    for misfit in misfits {
        output.error(&format!("the current tools of {server} do not fit: {}", misfit.text));
    }
}

pub(super) fn changes(changes: &[Change], output: &mut Output) {
    for line in told(changes) {
        output.status("", &line);
    }
}

/// Formats changes as a part of an error, so that they appear with `--quiet` too.
fn within(changes: &[Change]) -> String {
    told(changes).iter().map(|line| format!("\n{:>12} {line}", "")).collect()
}

/// Formats a line for each change, up to the limit.
fn told(changes: &[Change]) -> Vec<String> {
    let mut lines = drift::told(changes, MOST_TOLD);
    let more = drift::untold(changes, MOST_TOLD);
    if more > 0 {
        lines.push(format!("and {more} more changes; use `--format json` for all"));
    }
    lines
}
