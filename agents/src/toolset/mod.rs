//! Tools of several servers, and of the program itself, for one model.

mod contained;
mod dispatch;
mod entry;
mod find;
mod mend;
mod places;
mod prepared;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod turn;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use entry::{Entry, Handler};
pub use find::{Deferred, NothingPinned};
pub(crate) use prepared::Prepared;

/// Tools of several servers, and of the program itself, under names that are told apart.
#[derive(Clone, Debug)]
pub struct Toolset {
    entries: Arc<[Arc<Entry>]>,
    /// Where in `entries` the tool of a public name is.
    by_name: Arc<BTreeMap<String, usize>>,
}

impl Toolset {
    /// In the order in which models are told of them.
    pub(crate) fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    pub(crate) fn entry(&self, public: &str) -> Option<&Arc<Entry>> {
        self.entries.get(*self.by_name.get(public)?)
    }
}
