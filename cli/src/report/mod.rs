//! The findings of `check` and `diff`, for people and for machines.

mod github;
mod json;
mod markdown;
mod since;

use std::path::{Path, PathBuf};

use mcp_bindgen_model::FileError;
use mcp_bindgen_schema::drift::{Change, Class};

use crate::exit::Failure;

pub(crate) use github::{annotations, failure_annotation};
pub(crate) use json::{change as change_json, entries as to_json};
pub(crate) use markdown::{code, comment, failure_comment};
pub(crate) use since::{Since, to_review};

/// The findings about one server.
pub(crate) struct Entry {
    pub(crate) server: String,
    pub(crate) status: Status,
    /// Where its snapshot is, or would be.
    pub(crate) path: Option<String>,
    /// The text of the snapshot, for the lines of what is said.
    pub(crate) text: Option<String>,
    /// Why nothing could be found out.
    pub(crate) error: Option<Fault>,
    pub(crate) changes: Vec<Change>,
    /// The differences line by line, where somebody reads them.
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

impl From<&FileError> for Fault {
    fn from(error: &FileError) -> Self {
        Self {
            text: error.to_string(),
            path: error.path.clone(),
            line: error.path.as_ref().and(error.position).map(|(line, _)| line),
        }
    }
}

impl From<FileError> for Fault {
    fn from(error: FileError) -> Self {
        Self::from(&error)
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::new(failure.message)
    }
}

/// How a snapshot stands to what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
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
        Self {
            server: server.to_owned(),
            status,
            path: None,
            text: None,
            error: None,
            changes: Vec::new(),
            diff: None,
            misfits: Vec::new(),
            faults: Vec::new(),
            since: None,
        }
    }
}

/// `3 servers checked: 1 up to date, 1 out of date, 1 failed`.
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

/// `1 server`, `2 servers`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `2 breaking, 1 compatible`; empty where nothing changed.
pub(crate) fn classes(changes: &[Change]) -> String {
    let count = |class| changes.iter().filter(|change| change.class == class).count();
    let counts = Class::ALL.into_iter().chain([Class::Accepted]).map(|class| (count(class), class.name()));
    let parts: Vec<String> =
        counts.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    parts.join(", ")
}
