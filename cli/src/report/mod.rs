//! The findings of `check` and `diff`, for people and for machines.

mod github;
mod json;
mod markdown;

use std::path::{Path, PathBuf};

use mcp_bindgen_model::FileError;
use mcp_bindgen_schema::drift::{Change, Class};

use crate::args::Denied;
use crate::exit::Failure;

pub(crate) use github::{annotations, failure_annotation};
pub(crate) use json::{change as change_json, entries as to_json};
pub(crate) use markdown::{code, comment, failure_comment};

/// The findings about one server.
#[derive(Default)]
pub(crate) struct Entry {
    pub(crate) server: String,
    pub(crate) status: Status,
    /// The path of its snapshot, even if it does not exist.
    pub(crate) path: Option<String>,
    /// The text of the snapshot, for finding lines.
    pub(crate) text: Option<String>,
    /// Why nothing could be found out.
    pub(crate) error: Option<Fault>,
    pub(crate) changes: Vec<Change>,
    /// The text diff, if it is shown.
    pub(crate) diff: Option<String>,
    /// The parts of the configuration and the overrides that fit the snapshot, and no longer the server.
    pub(crate) misfits: Vec<Fault>,
    /// The faults that would stop a build.
    pub(crate) faults: Vec<Fault>,
    /// The changes of the snapshot since another commit.
    pub(crate) since: Option<Since>,
}

/// Something that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// All of it, as people read it.
    pub(crate) text: String,
    /// The file that it is in.
    pub(crate) path: Option<PathBuf>,
    /// The line in there, from 1.
    pub(crate) line: Option<usize>,
}

impl Fault {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), path: None, line: None }
    }

    pub(crate) fn at(self, path: &Path, line: Option<usize>) -> Self {
        Self { path: Some(path.to_owned()), line, ..self }
    }
}

impl From<FileError> for Fault {
    fn from(error: FileError) -> Self {
        let line = error.path.as_ref().and(error.position).map(|(line, _)| line);
        Self { text: error.to_string(), path: error.path, line }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::new(failure.message)
    }
}

/// The state of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Status {
    #[default]
    UpToDate,
    /// It can be used; the server was not asked.
    Valid,
    OutOfDate,
    Missing,
    Broken,
    Failed,
    /// The configuration has no such server any more.
    Removed,
}

impl Status {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UpToDate => "up-to-date",
            Self::Valid => "valid",
            Self::OutOfDate => "out-of-date",
            Self::Missing => "missing",
            Self::Broken => "broken",
            Self::Failed => "failed",
            Self::Removed => "removed",
        }
    }

    pub(crate) fn is_good(self) -> bool {
        matches!(self, Self::UpToDate | Self::Valid | Self::Removed)
    }
}

impl Entry {
    pub(crate) fn new(server: &str, status: Status) -> Self {
        Self { server: server.to_owned(), status, ..Self::default() }
    }

    /// Returns `true` if the server differs from its snapshot only in changes that the configuration accepts.
    pub(crate) fn is_accepted(&self) -> bool {
        let are_accepted =
            !self.changes.is_empty() && self.changes.iter().all(|change| change.class == Class::Accepted);
        self.status == Status::OutOfDate && are_accepted && self.misfits.is_empty()
    }

    /// Returns `true` if the snapshot is fine, but would not build.
    fn is_faulty(&self) -> bool {
        self.status.is_good() && !self.faults.is_empty()
    }

    /// Returns `true` if there is nothing to do.
    pub(crate) fn is_fine(&self) -> bool {
        (self.status.is_good() || self.is_accepted()) && self.faults.is_empty()
    }
}

/// Formats a summary: `3 servers checked: 1 up to date, 1 out of date, 1 failed`.
pub(crate) fn summary(entries: &[Entry]) -> String {
    let state = |entry: &Entry| match entry.status {
        _ if entry.is_faulty() => Some("with faults"),
        Status::UpToDate => Some("up to date"),
        Status::Valid => Some("valid"),
        Status::OutOfDate | Status::Missing | Status::Broken => Some("out of date"),
        Status::Failed => Some("failed"),
        // A server that is no more was not asked.
        Status::Removed => None,
    };
    let states: Vec<&str> = entries.iter().filter_map(state).collect();
    let words = ["up to date", "valid", "out of date", "with faults", "failed"];
    let counts = words.map(|word| (states.iter().filter(|state| **state == word).count(), word));
    format!("{} checked: {}", counted(states.len(), "server"), tally(counts))
}

/// Formats `1 server` or `2 servers`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Formats `and 3 more servers`, or nothing if there are no more.
fn and_more(count: usize, what: &str) -> Option<String> {
    (count > 0).then(|| format!("and {}", counted(count, &format!("more {what}"))))
}

/// Formats the counts that are not zero: `2 breaking, 1 compatible`.
pub(crate) fn tally<'w>(counts: impl IntoIterator<Item = (usize, &'w str)>) -> String {
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

/// Formats `2 breaking, 1 compatible`; empty without changes.
pub(crate) fn classes(changes: &[Change]) -> String {
    let count = |class| changes.iter().filter(|change| change.class == class).count();
    tally(Class::ALL.into_iter().chain([Class::Accepted]).map(|class| (count(class), class.name())))
}

/// The difference between a snapshot and the one of a commit.
pub(crate) struct Since {
    /// The revision as the user wrote it.
    pub(crate) revision: String,
    pub(crate) difference: Difference,
}

/// The changes of a snapshot since a commit.
pub(crate) enum Difference {
    Added,
    /// The snapshot or its server was removed.
    Removed,
    Changes(Vec<Change>),
    /// The reason why the changes are unknown.
    Unknown(String),
}

impl Since {
    pub(crate) fn new(revision: &str, difference: Difference) -> Self {
        Self { revision: revision.to_owned(), difference }
    }

    /// Returns the known changes.
    pub(crate) fn changes(&self) -> &[Change] {
        if let Difference::Changes(changes) = &self.difference { changes } else { &[] }
    }

    /// Returns `true` if the check fails for this difference.
    pub(crate) fn is_refused(&self, denied: Denied) -> bool {
        match &self.difference {
            // All that was offered is gone.
            Difference::Removed => denied.deny.is_some(),
            _ => self.changes().iter().any(|change| denied.refuses(change)),
        }
    }

    /// Formats `new` or `2 breaking`, or returns `none` without a difference.
    pub(crate) fn in_words(&self, none: &str) -> String {
        match &self.difference {
            Difference::Added => "new".to_owned(),
            Difference::Removed => "removed".to_owned(),
            Difference::Changes(changes) if changes.is_empty() => none.to_owned(),
            Difference::Changes(changes) => classes(changes),
            Difference::Unknown(_) => "unknown".to_owned(),
        }
    }
}

/// Formats the changes since a revision, to be reviewed even if nothing is out of date. For example: ``2 breaking
/// changes, 1 snapshot removed since `main` ``. `shown` formats the revision.
fn to_review(entries: &[Entry], shown: impl Fn(&str) -> String) -> Option<String> {
    let all: Vec<&Since> = entries.iter().filter_map(|entry| entry.since.as_ref()).collect();
    let changes = |class| all.iter().flat_map(|since| since.changes()).filter(|change| change.class == class).count();
    let snapshots = |is: fn(&Difference) -> bool| all.iter().filter(|since| is(&since.difference)).count();
    let parts = [
        (changes(Class::Breaking), "breaking change", ""),
        (changes(Class::Silent), "silent change", ""),
        (snapshots(|difference| matches!(difference, Difference::Removed)), "snapshot", " removed"),
        (snapshots(|difference| matches!(difference, Difference::Unknown(_))), "snapshot", " that cannot be compared"),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what, more)| format!("{}{more}", counted(count, what))).collect();
    let revision = &all.first()?.revision;
    (!parts.is_empty()).then(|| format!("{} since {}", parts.join(", "), shown(revision)))
}
