//! The differences between a server and its snapshot: one plan, which `check` prints and `sync` carries out.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use mcp_bindgen_codegen::snapshot_for_bindings;
use mcp_bindgen_model::{Config, Date, DriftRules, FileError, Overrides, ServerConfig, Snapshot, read_text};
use mcp_bindgen_schema::drift::{self, Change};
use similar::TextDiff;

use crate::exit::Exit;
use crate::output::lines_printable;
use crate::project::is_missing;
use crate::report::Status;

/// A snapshot as it lies on disk: its text may be anything.
pub(crate) struct SnapshotFile {
    pub(crate) path: PathBuf,
    /// The text, or `None` if there is no file.
    pub(crate) text: Option<String>,
}

impl SnapshotFile {
    /// Reads the one of a server.
    ///
    /// # Errors
    /// Fails if it is there and cannot be read.
    pub(crate) fn read(config: &Config, server: &str) -> Result<Self, FileError> {
        let path = config.snapshot_path(server);
        let text = if is_missing(&path)? { None } else { Some(read_text(&path)?) };
        Ok(Self { path, text })
    }

    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns the snapshot, if it is valid.
    pub(crate) fn known(&self) -> Option<Snapshot> {
        self.text.as_deref().and_then(|text| Snapshot::parse(text).ok())
    }
}

/// Applies the overrides beside this path and the views of its server to a snapshot, and returns it with the overrides.
///
/// # Errors
/// Fails if the overrides cannot be read, or something of both does not fit the snapshot.
pub(crate) fn adapted(
    snapshot: Snapshot,
    path: &Path,
    server: Option<&ServerConfig>,
) -> Result<(Snapshot, Option<Overrides>), Vec<FileError>> {
    let overrides = Overrides::load_beside(path).map_err(|error| vec![error])?;
    Ok((snapshot_for_bindings(snapshot, overrides.as_ref(), server)?, overrides))
}

/// The plan for one server, which makes its snapshot equal to the server.
pub(crate) struct Plan {
    pub(crate) file: SnapshotFile,
    /// The state of the snapshot: `UpToDate`, `Missing`, `Broken` or `OutOfDate`.
    pub(crate) status: Status,
    /// The reason why the snapshot is broken.
    pub(crate) error: Option<FileError>,
    /// The changes of the server since its snapshot.
    pub(crate) changes: Vec<Change>,
    pub(crate) live: Snapshot,
}

impl Plan {
    /// Plans the step from a snapshot file to the tools of the live server, with the server's rules for drift. Nothing is
    /// read, and nothing written.
    ///
    /// # Errors
    /// Fails if the snapshot is of a newer format, which is not to be written over.
    pub(crate) fn new(rules: &DriftRules, file: SnapshotFile, live: Snapshot) -> Result<Self, FileError> {
        let (status, error, changes) = match &file.text {
            None => (Status::Missing, None, Vec::new()),
            Some(text) if is_same(text, &live.to_text()) => (Status::UpToDate, None, Vec::new()),
            Some(text) => match Snapshot::parse(text) {
                Ok(known) => (Status::OutOfDate, None, changes(&known, &live, rules)),
                Err(error) if Snapshot::is_newer(text) => return Err(error.in_file(&file.path)),
                Err(error) => (Status::Broken, Some(error.in_file(&file.path)), Vec::new()),
            },
        };
        Ok(Self { file, status, error, changes, live })
    }

    /// Compares the file with the new text, under these names of both sides. For long lists this is slow.
    pub(crate) fn diff(&self, [old, new]: [String; 2]) -> Option<String> {
        let text = self.file.text.as_deref().filter(|_| self.status == Status::OutOfDate)?;
        Some(diff(text, &old, &self.live.to_text(), &new))
    }

    /// Carries it out.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(crate) fn apply(&self) -> Result<(), FileError> {
        if self.status == Status::UpToDate { Ok(()) } else { self.live.save(&self.file.path).map(drop) }
    }

    /// Returns the exit code of a check with this plan.
    pub(crate) fn exit(&self) -> Exit {
        if self.status == Status::UpToDate { Exit::Done } else { Exit::OutOfDate }
    }
}

/// Compares two snapshots of a server, with its rules for drift.
pub(crate) fn changes(old: &Snapshot, new: &Snapshot, rules: &DriftRules) -> Vec<Change> {
    let mut changes = drift::diff(old, new);
    drift::apply(rules, &mut changes, Date::today());
    changes
}

/// Returns `true` if two texts are the same but for line ends, which git may have changed.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one == other || with_own_ends(one) == with_own_ends(other)
}

/// Returns the text with the line ends that this program writes.
fn with_own_ends(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

/// Returns a unified diff that commands no terminal.
pub(crate) fn diff(old: &str, old_name: &str, new: &str, new_name: &str) -> String {
    let (old, new) = (with_own_ends(old), with_own_ends(new));
    let diff = TextDiff::from_lines(&*old, &*new);
    lines_printable(diff.unified_diff().header(old_name, new_name).to_string().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: &str = r#"{"tools":[{"name":"find","inputSchema":{"type":"object","properties":{"n":{}}}}]}"#;

    fn file(text: Option<&str>) -> SnapshotFile {
        SnapshotFile { path: PathBuf::from("mcp/s.json"), text: text.map(str::to_owned) }
    }

    fn plan(text: Option<&str>, live: &str) -> Result<Plan, FileError> {
        Plan::new(&DriftRules::default(), file(text), Snapshot::parse(live).unwrap())
    }

    #[test]
    fn plan_depends_only_on_the_snapshot_and_the_live_tools() {
        let written = Snapshot::parse(TOOLS).unwrap().to_text();
        assert_eq!(plan(None, TOOLS).unwrap().status, Status::Missing);
        assert_eq!(plan(Some(&written), TOOLS).unwrap().status, Status::UpToDate);
        let broken = plan(Some("{"), TOOLS).unwrap();
        assert!(broken.status == Status::Broken && broken.error.is_some());
        let gone = plan(Some(&written), r#"{"tools":[]}"#).unwrap();
        assert_eq!((gone.status, gone.changes.len()), (Status::OutOfDate, 1));
        let names = ["old", "new"].map(str::to_owned);
        let diff = gone.diff(names).unwrap();
        assert!(diff.starts_with("--- old\n+++ new\n@@"), "{diff}");
        assert_eq!((gone.exit(), gone.live.tools.len()), (Exit::OutOfDate, 0));
        let newer = plan(Some(r#"{"format":7,"tools":[]}"#), TOOLS);
        assert!(newer.is_err_and(|error| error.to_string().contains("install mcp-bindgen")));
    }

    #[test]
    fn line_endings_changed_by_git_are_not_differences() {
        let written = Snapshot::parse(TOOLS).unwrap().to_text().replace('\n', "\r\n");
        assert_eq!(plan(Some(&written), TOOLS).unwrap().status, Status::UpToDate);
        assert!(is_same("a\n", "a\r\n") && is_same("a\r\n", "a\n") && !is_same("a\n", "a\n\r\n"));
        assert_eq!(diff("a\nb\n", "old", "a\r\nc\r\n", "new"), "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c");
    }
}
