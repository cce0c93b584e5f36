//! The findings of `check` and `diff`, for people and for machines.

mod github;
mod json;
mod markdown;

use std::path::{Path, PathBuf};

use mcp_bindgen_model::FileError;
use mcp_bindgen_schema::drift::{Change, Class};

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

    /// Returns `true` if there is nothing to do.
    pub(crate) fn is_fine(&self) -> bool {
        (self.status.is_good() || self.is_accepted()) && self.faults.is_empty()
    }
}

/// Formats a summary: `3 servers checked: 1 up to date, 1 out of date, 1 failed`.
pub(crate) fn summary(entries: &[Entry]) -> String {
    // Those that are no more were not asked.
    let entries: Vec<&Entry> = entries.iter().filter(|entry| entry.status != Status::Removed).collect();
    let count = |wanted: &[Status]| entries.iter().filter(|entry| wanted.contains(&entry.status)).count();
    let faulty = entries.iter().filter(|entry| entry.status.is_good() && !entry.faults.is_empty()).count();
    let good = entries.iter().filter(|entry| entry.status.is_good() && entry.faults.is_empty()).count();
    let is_offline = entries.iter().any(|entry| entry.status == Status::Valid);
    let parts = [
        (good, if is_offline { "valid" } else { "up to date" }),
        (count(&[Status::OutOfDate, Status::Missing, Status::Broken]), "out of date"),
        (faulty, "with faults"),
        (count(&[Status::Failed]), "failed"),
    ];
    let said: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    format!("{} checked: {}", counted(entries.len(), "server"), said.join(", "))
}

/// Formats `1 server` or `2 servers`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Formats `2 breaking, 1 compatible`; empty without changes.
pub(crate) fn classes(changes: &[Change]) -> String {
    let count = |class| changes.iter().filter(|change| change.class == class).count();
    let counts = Class::ALL.into_iter().chain([Class::Accepted]).map(|class| (count(class), class.name()));
    let parts: Vec<String> =
        counts.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    parts.join(", ")
}

/// The changes of a snapshot since a commit.
#[derive(Clone)]
pub(crate) struct Since {
    /// The revision as the user wrote it.
    pub(crate) revision: String,
    /// `true` if the snapshot is new since then.
    pub(crate) is_new: bool,
    /// `true` if the snapshot or its server was removed since then.
    pub(crate) is_gone: bool,
    pub(crate) changes: Vec<Change>,
    /// The reason why the changes are unknown.
    pub(crate) error: Option<String>,
}

impl Since {
    pub(crate) fn new(revision: &str, changes: Vec<Change>) -> Self {
        Self { revision: revision.to_owned(), is_new: false, is_gone: false, changes, error: None }
    }

    /// Creates an entry for unknown changes, with the reason.
    pub(crate) fn unknown(revision: &str, error: &str) -> Self {
        Self { error: Some(error.to_owned()), ..Self::new(revision, Vec::new()) }
    }

    /// Returns `true` if no change is known.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.is_new && !self.is_gone && self.changes.is_empty()
    }

    /// Formats `new`, `2 breaking`, or `no difference`.
    pub(crate) fn in_words(&self) -> String {
        match self.is_new {
            true => "new".to_owned(),
            false if self.changes.is_empty() => "no difference".to_owned(),
            false => classes(&self.changes),
        }
    }
}

/// Formats the changes since a revision, to be reviewed even if nothing is out of date. For example: ``2 breaking
/// changes, 1 snapshot removed since `main` ``. `shown` formats the revision.
pub(crate) fn to_review(entries: &[Entry], shown: impl Fn(&str) -> String) -> Option<String> {
    let all: Vec<&Since> = entries.iter().filter_map(|entry| entry.since.as_ref()).collect();
    let changes = |class| all.iter().flat_map(|since| &since.changes).filter(|change| change.class == class).count();
    let snapshots = |is: fn(&Since) -> bool| all.iter().filter(|since| is(since)).count();
    let (gone, unknown) = (snapshots(|since| since.is_gone), snapshots(|since| since.error.is_some()));
    let (breaking, silent) = (changes(Class::Breaking), changes(Class::Silent));
    let parts = [
        (breaking, counted(breaking, "breaking change")),
        (silent, counted(silent, "silent change")),
        (gone, format!("{} removed", counted(gone, "snapshot"))),
        (unknown, format!("{} that cannot be compared", counted(unknown, "snapshot"))),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, part)| part).collect();
    let revision = &all.first()?.revision;
    (!parts.is_empty()).then(|| format!("{} since {}", parts.join(", "), shown(revision)))
}
