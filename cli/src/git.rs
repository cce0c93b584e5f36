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
    let (folder, inside) = placed(path);
    let found =
        git(folder, &["rev-parse", "--quiet", "--verify", "--end-of-options", &format!("{commit}^{{commit}}")])?;
    if !found.status.success() {
        let is_shallow = git(folder, &["rev-parse", "--is-shallow-repository"])
            .is_ok_and(|output| output.stdout.starts_with(b"true"));
        return Err(no_commit(commit, is_shallow, &found));
    }
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
    let (folder, inside) = placed(path);
    let found = git(folder, &["rev-parse", "--show-prefix"]).ok().filter(|output| output.status.success())?;
    let prefix = String::from_utf8_lossy(&found.stdout).trim_end_matches(['\r', '\n']).to_owned();
    Some(format!("{prefix}{inside}"))
}

/// The nearest folder of a file that is there, and the way from it: a folder that is gone from the work may still be in a
/// commit, and one that is to come has a place too.
fn placed(path: &Path) -> (&Path, String) {
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir());
    let inside = folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
    (folder.unwrap_or(Path::new(".")), inside.to_string_lossy().replace('\\', "/"))
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
