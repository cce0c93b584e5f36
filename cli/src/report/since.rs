//! The changes of a snapshot since a commit.

use std::collections::BTreeMap;

use mcp_bindgen_schema::drift::{Change, Class};

use super::{Entry, classes, counted};

/// The changes of a snapshot since a commit.
#[derive(Clone)]
pub(crate) struct Since {
    /// As it was asked for.
    pub(crate) revision: String,
    /// Whether there is one now and was none then.
    pub(crate) is_new: bool,
    /// Whether there was one then, or a server of its name, and is none now.
    pub(crate) is_gone: bool,
    pub(crate) changes: Vec<Change>,
    /// Why that cannot be told.
    pub(crate) error: Option<String>,
}

impl Since {
    pub(crate) fn new(revision: &str, changes: Vec<Change>) -> Self {
        Self { revision: revision.to_owned(), is_new: false, is_gone: false, changes, error: None }
    }

    /// Changes that cannot be told, with the reason.
    pub(crate) fn unknown(revision: &str, error: &str) -> Self {
        Self { error: Some(error.to_owned()), ..Self::new(revision, Vec::new()) }
    }

    /// Returns `true` if it is as it was, as far as can be told.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.is_new && !self.is_gone && self.changes.is_empty()
    }

    /// `new`, `2 breaking`, or `no difference`.
    pub(crate) fn in_words(&self) -> String {
        match self.is_new {
            true => "new".to_owned(),
            false if self.changes.is_empty() => "no difference".to_owned(),
            false => classes(&self.changes),
        }
    }

    fn count(&self, class: Class) -> usize {
        self.changes.iter().filter(|change| change.class == class).count()
    }
}

/// ``2 breaking changes and 1 snapshot removed since `main` `` for each revision: what has to be looked at, though nothing is
/// out of date. The revision is written by `shown`.
pub(crate) fn to_review(entries: &[Entry], shown: impl Fn(&str) -> String) -> Vec<String> {
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for since in entries.iter().filter_map(|entry| entry.since.as_ref()) {
        let [breaking, silent, gone, unknown] = counts.entry(&since.revision).or_default();
        *breaking += since.count(Class::Breaking);
        *silent += since.count(Class::Silent);
        *gone += usize::from(since.is_gone);
        *unknown += usize::from(since.error.is_some());
    }
    let said = |(revision, [breaking, silent, gone, unknown]): (&str, [usize; 4])| {
        let parts = [
            (breaking, counted(breaking, "breaking change")),
            (silent, counted(silent, "silent change")),
            (gone, format!("{} removed", counted(gone, "snapshot"))),
            (unknown, format!("{} that cannot be compared", counted(unknown, "snapshot"))),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, part)| part).collect();
        (!parts.is_empty()).then(|| format!("{} since {}", parts.join(", "), shown(revision)))
    };
    counts.into_iter().filter_map(said).collect()
}
