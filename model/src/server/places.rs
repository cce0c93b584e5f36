//! Positions in a configuration.

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
pub struct ConfigPlaces(Vec<(String, ConfigPlace)>);

impl ConfigPlaces {
    /// Returns the position of a key, or else that of the table; empty if they are in no file.
    #[must_use]
    pub fn of(&self, key: &str) -> ConfigPlace {
        let place_of = |key: &str| self.0.iter().find(|(known, _)| known == key);
        place_of(key).or_else(|| place_of("")).map(|(_, place)| place.clone()).unwrap_or_default()
    }

    /// Adds the position of a key, or of the table itself, whose key is empty. The first of a key counts.
    pub(crate) fn add(&mut self, key: String, place: ConfigPlace) {
        self.0.push((key, place));
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }
}

/// Omits the keys, because a misplaced secret may be used as one.
impl fmt::Debug for ConfigPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, place)| place)).finish()
    }
}

impl PartialEq for ConfigPlaces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ConfigPlaces {}
