//! The places of patterns in a configuration.

use std::fmt;

use super::ConfigPlace;

/// The positions of the patterns of `tools`, `exclude`, `approve` and `remote_use` in a configuration. They do not
/// affect equality of servers.
#[derive(Clone, Default)]
pub struct PatternPlaces(Vec<(&'static str, String, ConfigPlace)>);

impl PatternPlaces {
    /// Returns the position of a pattern; empty if it is in no file.
    #[must_use]
    pub fn of(&self, key: &str, pattern: &str) -> ConfigPlace {
        let is_it = |known: &&(&str, String, ConfigPlace)| known.0 == key && known.1 == pattern;
        self.0.iter().find(is_it).map(|(_, _, place)| place.clone()).unwrap_or_default()
    }

    pub(crate) fn add(&mut self, key: &'static str, pattern: &str, place: ConfigPlace) {
        self.0.push((key, pattern.to_owned(), place));
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }
}

/// Omits the patterns, because a misplaced secret may be used as one.
impl fmt::Debug for PatternPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(key, _, place)| (key, place))).finish()
    }
}

impl PartialEq for PatternPlaces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PatternPlaces {}
