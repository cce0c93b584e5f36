//! The parts of the machine that a child process may see.

use serde_json::{Map, Value};

/// The parts of the machine that a child process may see. The runtime enforces it, or refuses to connect.
///
/// Whatever is asked for, the server has its own processes, devices, `/tmp`, `/var/tmp` and `/run`, no shared memory with
/// others and no privileges. What is not asked for stays as it is for this process: without [`read`](Self::read) and
/// [`write`](Self::write) it sees the files that this process sees, and may write where it may.
///
/// ```
/// use mcp_bindgen_model::{Isolation, ServerConfig};
///
/// let server = ServerConfig::stdio("git", "mcp-server-git")
///     .isolation(Isolation::new().temp_home().no_network().read(["~/src"]).write(["./out"]));
/// assert_eq!(
///     server.to_json()["isolation"].to_string(),
///     r#"{"home":"temp","network":"none","read":["~/src"],"write":["./out"]}"#
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Isolation {
    /// Whether it has an empty home, in memory, in the place of the real one.
    pub temp_home: bool,
    /// Whether it reaches nothing over a network, this machine included.
    pub no_network: bool,
    /// Folders, or files, that it may read. Where this or `write` is given, it sees nothing else but the system's
    /// programs and libraries.
    pub read: Option<Vec<String>>,
    /// Folders, or files, that it may read and write.
    pub write: Option<Vec<String>>,
}

impl Isolation {
    /// The server's own processes, devices and temporary folders, and nothing more.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives it an empty home, in memory, in the place of the real one. It is gone with the server.
    #[must_use]
    pub fn temp_home(mut self) -> Self {
        self.temp_home = true;
        self
    }

    /// Lets it reach nothing over a network, this machine included.
    #[must_use]
    pub fn no_network(mut self) -> Self {
        self.no_network = true;
        self
    }

    /// Adds folders, or files, that it may read. From then on it sees nothing else but the system's programs and libraries,
    /// what its own program needs, and what it may [`write`](Self::write).
    #[must_use]
    pub fn read<S: Into<String>>(mut self, folders: impl IntoIterator<Item = S>) -> Self {
        self.read.get_or_insert_default().extend(folders.into_iter().map(Into::into));
        self
    }

    /// Adds folders, or files, that it may read and write; otherwise as [`read`](Self::read).
    #[must_use]
    pub fn write<S: Into<String>>(mut self, folders: impl IntoIterator<Item = S>) -> Self {
        self.write.get_or_insert_default().extend(folders.into_iter().map(Into::into));
        self
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.read.iter().chain(&self.write).flatten().map(String::as_str)
    }

    pub(super) fn folders_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.read.iter_mut().chain(&mut self.write).flatten()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut json = Map::new();
        if self.temp_home {
            json.insert("home".to_owned(), "temp".into());
        }
        if self.no_network {
            json.insert("network".to_owned(), "none".into());
        }
        for (key, folders) in [("read", &self.read), ("write", &self.write)] {
            if let Some(folders) = folders {
                json.insert(key.to_owned(), folders.clone().into());
            }
        }
        json.into()
    }
}
