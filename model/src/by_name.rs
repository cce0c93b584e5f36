//! Values by name.

use std::ops::Deref;

/// Values by name, sorted by it. The compiler writes the code of a `BTreeMap` again for each type of values; this list has
/// a tenth of it.
///
/// ```
/// use mcp_bindgen_model::ByName;
///
/// let mut ports = ByName::default();
/// ports.insert("web".to_owned(), 80);
/// ports.insert("ssh".to_owned(), 22);
/// assert_eq!((ports.get("web"), ports.get("ftp"), ports.len()), (Some(&80), None, 2));
/// assert!(ports.iter().map(|(name, _)| name).eq(["ssh", "web"]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByName<T>(Vec<(String, T)>);

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByName<T> {
    /// Returns the value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.get(self.place(name).ok()?).map(|(_, value)| value)
    }

    /// Sets the value of a name.
    pub fn insert(&mut self, name: String, value: T) {
        match self.place(&name) {
            Ok(place) => {
                if let Some((_, known)) = self.0.get_mut(place) {
                    *known = value;
                }
            }
            Err(place) => self.0.insert(place, (name, value)),
        }
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(name))
    }
}

impl<T> Deref for ByName<T> {
    type Target = [(String, T)];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
