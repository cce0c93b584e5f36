//! Positions in a configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::FileError;

/// A position in a configuration, for errors that are found later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigPlace {
    /// The file.
    pub path: Option<PathBuf>,
    /// Line and column, both from 1.
    pub position: Option<(usize, usize)>,
}

impl ConfigPlace {
    /// Returns an error at this position.
    pub fn error(&self, message: impl Into<String>) -> FileError {
        FileError { path: self.path.clone(), position: self.position, ..FileError::new(message) }
    }
}

/// The positions of the keys of a table, and of their members and texts: `exclude/delete_*`, `fixed/owner`. They do not
/// affect equality.
#[derive(Clone, Default)]
pub struct ConfigPlaces(BTreeMap<String, ConfigPlace>);

impl ConfigPlaces {
    /// Returns the position of a key, or else that of the table; empty if they are in no file.
    #[must_use]
    pub fn of(&self, key: &str) -> ConfigPlace {
        self.0.get(key).or_else(|| self.0.get("")).cloned().unwrap_or_default()
    }

    /// Adds the position of a key, or of the table itself, whose key is empty. The first of a key counts.
    pub(crate) fn add(&mut self, key: impl Into<String>, place: ConfigPlace) {
        self.0.entry(key.into()).or_insert(place);
    }

    pub(super) fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|(key, place)| self.add(key, place.clone()));
    }
}

/// Omits the keys, because a misplaced secret may be used as one.
impl fmt::Debug for ConfigPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.values()).finish()
    }
}

impl PartialEq for ConfigPlaces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ConfigPlaces {}
