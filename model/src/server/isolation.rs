//! The parts of the machine that a child process may see.

use crate::setters::adders;

/// The parts of the machine that a child process may access. The runtime enforces this, or refuses to connect.
///
/// The server always has its own processes, devices, `/tmp`, `/var/tmp` and `/run`, no shared memory with others and
/// no privileges. Other things are only restricted if an option says so: without [`read`](Self::read) and
/// [`write`](Self::write) it can access the same files as this process.
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
    /// `true` if an empty folder in memory replaces the home folder.
    pub temp_home: bool,
    /// `true` if the network is blocked, including this machine.
    pub no_network: bool,
    /// The domains that it may reach, by HTTP and HTTPS through a proxy, instead of the whole network: see
    /// [`Domain`](crate::Domain). Empty for no such limit.
    pub domains: Vec<String>,
    /// Folders and files that it may read. With this or `write`, it can access nothing else but the system's programs
    /// and libraries.
    pub read: Option<Vec<String>>,
    /// Folders and files that it may read and write.
    pub write: Option<Vec<String>>,
}

impl Isolation {
    /// Isolates processes, devices and temporary folders only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the home folder with an empty one in memory, which disappears with the server.
    #[must_use]
    pub fn temp_home(mut self) -> Self {
        self.temp_home = true;
        self
    }

    /// Blocks the network, including this machine.
    #[must_use]
    pub fn no_network(mut self) -> Self {
        self.no_network = true;
        self
    }

    /// Returns `true` if it has no network but that of a proxy, if any.
    #[must_use]
    pub fn restricts_network(&self) -> bool {
        self.no_network || !self.domains.is_empty()
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.read.iter().chain(&self.write).flatten().map(String::as_str)
    }

    pub(crate) fn folders_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.read.iter_mut().chain(&mut self.write).flatten()
    }
}

adders! {
    Isolation {
        /// Adds allowed domains, and blocks the rest of the network: `api.github.com`, `*.example.com`, `example.com:8443`.
        /// The server receives a proxy in `HTTPS_PROXY` and similar variables; programs that ignore it have no network.
        /// Private addresses are refused.
        domains(domains) => [domains];
        /// Adds readable folders and files. The server can then access only these, the system's programs and libraries, its
        /// own program, and the paths of [`write`](Self::write).
        read(folders) => [read.get_or_insert_default()];
        /// Adds folders and files that it may read and write; otherwise like [`read`](Self::read).
        write(folders) => [write.get_or_insert_default()];
    }
}
