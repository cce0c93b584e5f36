//! The error of everything that is read from a file.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::setters::setters;

/// An error in a file: the fact, the file, the position, the next step. It never contains secrets.
///
/// ```
/// let error = mcp_bindgen_model::FileError::new("unknown key `comand` in server `github`")
///     .in_file("mcp.toml")
///     .at(3, 1)
///     .with_help("did you mean `command`?");
/// assert_eq!(
///     error.to_string(),
///     "unknown key `comand` in server `github`\n --> mcp.toml:3:1\n  = help: did you mean `command`?"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The fact: a fragment in lower case.
    pub message: String,
    /// The file.
    pub path: Option<PathBuf>,
    /// Line and column, both from 1; columns count characters.
    pub position: Option<(usize, usize)>,
    /// The item inside the file: `tool create_issue, /inputSchema`.
    pub inside: Option<String>,
    /// The next step.
    pub help: Option<String>,
}

impl FileError {
    /// Creates an error with a message only.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), path: None, position: None, inside: None, help: None }
    }
}

setters! {
    FileError {
        /// Sets the file.
        in_file(path: impl AsRef<Path>) { path = Some(path.as_ref().to_owned()) }
        /// Sets line and column, both from 1.
        at(line: usize, column: usize) { position = Some((line, column)) }
        /// Sets the item inside the file.
        inside(inside: impl Into<String>) { inside = Some(inside.into()) }
        /// Sets the next step.
        with_help(help: impl Into<String>) { help = Some(help.into()) }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(path) = &self.path {
            write!(f, "\n --> {}", path.display())?;
            if let Some((line, column)) = self.position {
                write!(f, ":{line}:{column}")?;
            }
        } else if let Some((line, column)) = self.position {
            write!(f, "\n --> line {line}, column {column}")?;
        }
        if let Some(inside) = self.inside.as_ref().filter(|_| self.path.is_some() || self.position.is_some()) {
            write!(f, " ({inside})")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  = help: {help}")?;
        }
        Ok(())
    }
}

impl Error for FileError {}
