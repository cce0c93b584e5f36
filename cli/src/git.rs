//! What git has of a file: asked of the program itself, so that whatever the repository is like, git understands it.

use std::path::Path;
use std::process::{Command, Output};

use crate::exit::Failure;

/// The commit that this work stands on: where it left `revision`. What came to `revision` later is not of this work.
///
/// # Errors
/// Where there is no git, no repository, or no such commit.
pub(crate) fn base(folder: &Path, revision: &str) -> Result<String, Failure> {
    let found = git(folder, &["merge-base", "--end-of-options", revision, "HEAD"])?;
    if found.status.success() {
        return Ok(String::from_utf8_lossy(&found.stdout).trim().to_owned());
    }
    let is_shallow =
        git(folder, &["rev-parse", "--is-shallow-repository"]).is_ok_and(|output| output.stdout.starts_with(b"true"));
    Err(no_commit(revision, is_shallow, &found))
}

/// The text of a file as a commit has it; None where it has no such file.
///
/// # Errors
/// Where there is no git, no repository, or no such commit.
pub(crate) fn text_at(path: &Path, commit: &str) -> Result<Option<String>, Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A folder that is gone from the work may still be in the commit.
    let folder = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let found =
        git(folder, &["rev-parse", "--quiet", "--verify", "--end-of-options", &format!("{commit}^{{commit}}")])?;
    if !found.status.success() {
        let is_shallow = git(folder, &["rev-parse", "--is-shallow-repository"])
            .is_ok_and(|output| output.stdout.starts_with(b"true"));
        return Err(no_commit(commit, is_shallow, &found));
    }
    let inside = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let blob = git(folder, &["cat-file", "blob", &format!("{commit}:./{inside}")])?;
    if !blob.status.success() {
        return Ok(None);
    }
    String::from_utf8(blob.stdout)
        .map(Some)
        .map_err(|_| Failure::new(format!("{} is no text at `{commit}`", path.display())))
}

/// The path of a file from the root of its repository, as git and its hosts write it.
pub(crate) fn from_root(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = git(folder, &["rev-parse", "--show-prefix"]).ok().filter(|output| output.status.success())?;
    let prefix = String::from_utf8_lossy(&found.stdout).trim_end_matches(['\r', '\n']).to_owned();
    Some(format!("{prefix}{}", path.file_name()?.to_string_lossy()))
}

fn no_commit(revision: &str, is_shallow: bool, said: &Output) -> Failure {
    let said = String::from_utf8_lossy(&said.stderr).trim().to_owned();
    let help = if is_shallow {
        "this clone is shallow: fetch the whole history (`fetch-depth: 0` of actions/checkout, or `git fetch --unshallow`)"
    } else {
        "name a branch, a tag or a commit that this repository has, and that this work shares history with"
    };
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    Failure::new(format!("git has no commit `{revision}` that this work stands on{said}\n  = help: {help}"))
}

fn git(folder: &Path, arguments: &[&str]) -> Result<Output, Failure> {
    Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .env("LC_ALL", "C")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .map_err(|error| {
            Failure::new(format!("git could not be run: {error}\n  = help: install git, or leave revisions out"))
        })
}
