//! Resolves relative paths of a configuration.

use std::path::{Path, PathBuf};

use super::{Isolation, Transport};
use crate::config::ServerConfig;

impl ServerConfig {
    /// Sets the folder that relative paths in `command`, `cwd`, `isolation`, `ca` and `client_cert` are relative to; by
    /// default the working directory. [`Config::load`](crate::Config::load) sets the folder of the file.
    ///
    /// ```
    /// use mcp_bindgen_model::{ServerConfig, Transport};
    ///
    /// let server = ServerConfig::stdio("files", "./bin/server").in_folder("/app").expand(|_| None)?;
    /// assert!(matches!(server.transport, Transport::Stdio { command, .. } if command == "/app/bin/server"));
    /// # Ok::<(), mcp_bindgen_model::FileError>(())
    /// ```
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Returns `true` if the configuration depends on a folder: `command` is a relative path rather than a program's
    /// name, or `cwd`, a folder of `isolation`, `ca` or `client_cert` is relative. A leading placeholder of `command`
    /// counts as relative.
    #[must_use]
    pub fn has_relative_paths(&self) -> bool {
        match &self.transport {
            Transport::Stdio { command, cwd, .. } => {
                let shown = self.isolation.iter().flat_map(Isolation::folders);
                command.starts_with("${")
                    || is_relative_program(command)
                    || cwd.as_deref().is_some_and(is_relative)
                    || shown.into_iter().any(is_relative_folder)
            }
            Transport::Http { .. } | Transport::Sse { .. } => {
                self.ca.iter().chain(&self.client_cert).any(|pem| !pem.starts_with("${") && is_relative_file(pem))
            }
        }
    }

    /// Makes the paths independent of the folder that the process runs in.
    pub(super) fn resolve_paths(&mut self) {
        if let (Some(folder), Transport::Stdio { command, cwd, .. }) = (&self.folder, &mut self.transport) {
            if is_relative_program(command) {
                *command = joined(folder, command);
            }
            if let Some(cwd) = cwd.as_mut().filter(|cwd| is_relative(cwd)) {
                *cwd = joined(folder, cwd);
            }
            let shown = self.isolation.iter_mut().flat_map(Isolation::folders_mut);
            shown.filter(|shown| is_relative_folder(shown)).for_each(|shown| *shown = joined(folder, shown));
        }
        if let Some(folder) = &self.folder {
            let files = self.ca.iter_mut().chain(&mut self.client_cert);
            files.filter(|file| is_relative_file(file)).for_each(|file| *file = joined(folder, file));
        }
    }
}

impl Isolation {
    /// Resolves relative folders against another base folder.
    pub(super) fn led_from(mut self, folder: Option<&Path>) -> Self {
        if let Some(base) = folder {
            let shown = self.folders_mut().filter(|shown| !shown.starts_with("${") && is_relative_folder(shown));
            shown.for_each(|shown| *shown = joined(base, shown));
        }
        self
    }
}

/// Returns `true` for a relative path of a program; a name without a separator is searched on `PATH`.
fn is_relative_program(command: &str) -> bool {
    command.contains(['/', '\\']) && is_relative(command)
}

/// Returns `true` for a relative path, on every platform alike, because generated code must not depend on it.
fn is_relative(path: &str) -> bool {
    let drive = path.get(1..2) == Some(":") && path.starts_with(|c: char| c.is_ascii_alphabetic());
    !drive && !path.starts_with(['/', '\\'])
}

/// Returns `true` for a relative path of a file; PEM is not a path.
fn is_relative_file(text: &str) -> bool {
    !super::network::is_pem(text) && is_relative_folder(text)
}

/// Returns `true` for a relative path of a folder; `~` is the home folder everywhere.
fn is_relative_folder(path: &str) -> bool {
    path != "~" && !path.starts_with("~/") && is_relative(path)
}

fn joined(folder: &Path, path: &str) -> String {
    // Components leave out the `.` in the middle.
    folder.join(path).components().collect::<PathBuf>().to_string_lossy().into_owned()
}
