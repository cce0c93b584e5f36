//! Relative paths of a configuration, and the keys about the connection to a URL.

use std::path::{Path, PathBuf};

use super::{Isolation, Transport, may_be_url};
use crate::config::ServerConfig;
use crate::setters::setters;

setters! {
    ServerConfig {
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
        in_folder(folder: impl Into<PathBuf>) { folder = Some(folder.into()) }
    }
}

impl ServerConfig {
    /// Returns `true` if the configuration depends on a folder: `command` is a relative path rather than a program's
    /// name, or `cwd`, a folder of `isolation`, `ca` or `client_cert` is relative. A leading placeholder of `command`
    /// counts as relative.
    #[must_use]
    pub fn has_relative_paths(&self) -> bool {
        let mut copy = self.clone();
        let relative = copy.relative_paths();
        match &self.transport {
            Transport::Stdio { command, .. } => command.starts_with("${") || !relative.is_empty(),
            _ => relative.iter().any(|pem| !pem.starts_with("${")),
        }
    }

    /// Makes the paths independent of the folder that the process runs in.
    pub(super) fn resolve_paths(&mut self) {
        let Some(folder) = self.folder.clone() else { return };
        self.relative_paths().into_iter().for_each(|path| *path = joined(&folder, path));
    }

    /// Returns the relative paths that a server of this kind uses.
    fn relative_paths(&mut self) -> Vec<&mut String> {
        let Transport::Stdio { command, cwd, .. } = &mut self.transport else {
            let mut files: Vec<&mut String> = self.ca.iter_mut().chain(&mut self.client_cert).collect();
            files.retain(|file| !is_pem(file) && is_relative_folder(file));
            return files;
        };
        let mut paths = self.isolation.as_mut().map(Isolation::folders_mut).unwrap_or_default();
        paths.retain(|folder| is_relative_folder(folder));
        paths.extend(cwd.as_mut().filter(|cwd| is_relative(cwd)));
        // A name without a separator is searched on `PATH`.
        paths.extend(Some(command).filter(|command| command.contains(['/', '\\']) && is_relative(command)));
        paths
    }

    /// Returns the problem of one of `ca`, `client_cert`, `proxy` and `auth`, as the rest of a sentence that begins
    /// with the key. Unexpanded placeholders are not checked.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::http("files", "http://files.example/mcp").ca("ca.pem");
    /// assert_eq!(server.network_problem("ca"), Some("requires a `url` with `https://`"));
    /// ```
    #[must_use]
    pub fn network_problem(&self, key: &str) -> Option<&'static str> {
        let (Transport::Http { url, headers } | Transport::Sse { url, headers }) = &self.transport else { return None };
        let lacks = |pem: &str, part: &str| is_pem(pem) && !pem.contains(part);
        match (key, &self.ca, &self.client_cert, &self.proxy, &self.auth) {
            ("ca", Some(_), ..) | ("client_cert", _, Some(_), ..) if url.starts_with("http://") => {
                Some("requires a `url` with `https://`")
            }
            ("ca", Some(pem), ..) | ("client_cert", _, Some(pem), ..) if lacks(pem, "-----BEGIN CERTIFICATE-----") => {
                Some("has no certificate")
            }
            ("client_cert", _, Some(pem), ..) if lacks(pem, "PRIVATE KEY-----") => Some("has no private key"),
            ("proxy", _, _, Some(proxy), _) if !may_be_url(proxy) => Some("is not an `http://` or `https://` URL"),
            ("auth", .., Some(_)) if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) => {
                Some("cannot be combined with the header `Authorization`; remove one of them")
            }
            _ => None,
        }
    }
}

impl Isolation {
    /// Resolves relative folders against another base folder.
    pub(super) fn led_from(mut self, folder: Option<&Path>) -> Self {
        if let Some(base) = folder {
            let shown = self.folders_mut().into_iter();
            let shown = shown.filter(|shown| !shown.starts_with("${") && is_relative_folder(shown));
            shown.for_each(|shown| *shown = joined(base, shown));
        }
        self
    }
}

/// Returns `true` for the text of a PEM file rather than its path.
fn is_pem(text: &str) -> bool {
    text.contains("-----BEGIN ")
}

/// Returns `true` for a relative path, on every platform alike, because generated code must not depend on it.
fn is_relative(path: &str) -> bool {
    let drive = path.get(1..2) == Some(":") && path.starts_with(|c: char| c.is_ascii_alphabetic());
    !drive && !path.starts_with(['/', '\\'])
}

/// Returns `true` for a relative path of a folder; `~` is the home folder everywhere.
fn is_relative_folder(path: &str) -> bool {
    path != "~" && !path.starts_with("~/") && is_relative(path)
}

fn joined(folder: &Path, path: &str) -> String {
    // Components leave out the `.` in the middle.
    folder.join(path).components().collect::<PathBuf>().to_string_lossy().into_owned()
}
