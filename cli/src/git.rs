//! Reads revisions of files by running git, so that every kind of repository works.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::exit::{Failure, Result};
use crate::project::slashed;

/// Returns the merge base of this work, in the repository of a file, and `revision`. Later commits of `revision` do not
/// count, and neither does a merge in progress.
///
/// # Errors
/// Fails if there is no git, no repository, or no such commit.
pub(crate) fn base(path: &Path, revision: &str) -> Result<String> {
    let (folder, _) = placed(path);
    let merged = merged_heads(folder);
    let mut arguments = vec!["merge-base", "--end-of-options", revision, "HEAD"];
    // With more than one, git takes the commit that a merge of them would be.
    arguments.extend(merged.iter().map(String::as_str));
    found(folder, revision, &arguments)
}

/// Returns the commits that HEAD is being merged with.
fn merged_heads(folder: &Path) -> Vec<String> {
    let file = line(folder, &["rev-parse", "--git-path", "MERGE_HEAD"]).map(|file| folder.join(file));
    let heads = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    heads.split_whitespace().map(str::to_owned).collect()
}

/// Returns the commit that git prints for a revision.
///
/// # Errors
/// Fails if there is no git, no repository, or no such commit.
fn found(folder: &Path, revision: &str, arguments: &[&str]) -> Result<String> {
    let found = git(folder, arguments)?;
    if !found.status.success() {
        return Err(no_commit(folder, revision, &found));
    }
    // Some versions print the marker of the end of options too.
    Ok(String::from_utf8_lossy(&found.stdout).lines().last().unwrap_or_default().trim().to_owned())
}

/// Returns the text of a file in a commit, or `None` if the commit does not contain it.
///
/// # Errors
/// Fails if there is no git, no repository, or no such commit, or if git cannot read the file.
pub(crate) fn text_at(path: &Path, revision: &str) -> Result<Option<String>> {
    let named = format!("{revision}^{{commit}}");
    let commit = found(placed(path).0, revision, &["rev-parse", "--verify", "--end-of-options", &named])?;
    text_of(path, &commit, revision)
}

/// Returns the text of a file at the commit that `base` returned for this revision. Symbolic links are followed.
///
/// # Errors
/// Fails if git cannot read the file.
pub(crate) fn text_of(path: &Path, commit: &str, revision: &str) -> Result<Option<String>> {
    let (folder, inside) = placed(path);
    let failed = |said: &str| Failure::new(format!("failed to read {} at `{revision}`: {said}", path.display()));
    let mut reading = command(folder, &["cat-file", "--batch", "--follow-symlinks"]);
    let mut reading = reading.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // Git reports its own error if it does not read this.
    let _ = reading.stdin.take().map(|mut stdin| writeln!(stdin, "{commit}:./{inside}"));
    let found = reading.wait_with_output()?;
    if !found.status.success() {
        return Err(failed(&said(&found)));
    }
    let text = String::from_utf8(found.stdout).map_err(|_| failed("it is not text"))?;
    let (about, text) = text.split_once('\n').unwrap_or_default();
    match about.split(' ').collect::<Vec<_>>().as_slice() {
        // The file, or its contents, as in a partial clone.
        [.., "missing"] => match line(folder, &["ls-tree", "--name-only", commit, "--", &format!("./{inside}")]) {
            Some(listed) if listed.is_empty() => Ok(None),
            _ => Err(failed("the repository does not have its contents")),
        },
        // A part of the path was a file.
        ["notdir", _] => Ok(None),
        // Git ends the contents with a line end of its own.
        [_, "blob", _] => Ok(text.strip_suffix('\n').map(str::to_owned)),
        ["symlink", _] => {
            Err(failed(&format!("it is a link to {}, which is absolute or outside the repository", text.trim_end())))
        }
        ["dangling", _] => Err(failed("it is a broken symbolic link")),
        ["loop", _] => Err(failed("its symbolic links form a cycle")),
        _ => Err(failed("it is not a file")),
    }
}

/// Returns the path of a file from the root of its repository, as git and its hosts write it.
pub(crate) fn from_root(path: &Path) -> Option<String> {
    let (folder, inside) = placed(path);
    line(folder, &["rev-parse", "--show-prefix"]).map(|prefix| format!("{prefix}{inside}"))
}

/// Runs git, and returns the line that it prints, or `None` if it fails.
fn line(folder: &Path, arguments: &[&str]) -> Option<String> {
    let found = git(folder, arguments).ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&found.stdout).trim_end_matches(['\r', '\n']).to_owned())
}

/// Returns the nearest folder of a file that is there, and the way from it: a folder that is gone from the work may
/// still be in a commit, and one that is to come has a place too.
fn placed(path: &Path) -> (&Path, String) {
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir());
    let inside = folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
    (folder.unwrap_or(Path::new(".")), slashed(inside))
}

/// Returns git's error message.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

fn no_commit(folder: &Path, revision: &str, output: &Output) -> Failure {
    let said = said(output);
    let (fact, help) = if said.contains("not a git repository") {
        let fact = format!("cannot resolve `{revision}`: not in a git repository");
        (fact, "run this in a repository, or without a revision")
    } else if revision != "HEAD" && line(folder, &["rev-parse", "--quiet", "--verify", "HEAD"]).is_none() {
        let fact = format!("cannot resolve `{revision}`: the repository has no commits");
        (fact, "commit first, or run this without a revision")
    } else {
        let help = match line(folder, &["rev-parse", "--is-shallow-repository"]).as_deref() {
            Some("true") => {
                "this clone is shallow: fetch the whole history (`fetch-depth: 0` of actions/checkout, or `git fetch --unshallow`)"
            }
            _ => "use a branch, a tag or a commit of this repository that shares history with HEAD",
        };
        (format!("git has no commit `{revision}` that shares history with HEAD"), help)
    };
    let said = if said.is_empty() { said } else { format!(": {said}") };
    Failure::new(format!("{fact}{said}")).with_help(help)
}

fn git(folder: &Path, arguments: &[&str]) -> Result<Output> {
    command(folder, arguments).output().map_err(|error| {
        Failure::new(format!("failed to run git: {error}\n  = help: install git, or run this without a revision"))
    })
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments).env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
    // Git sets the repository of a hook, but not its work tree: git would take `folder` for its root.
    let is_told = std::env::var_os("GIT_WORK_TREE").is_some();
    for name in ["GIT_DIR", "GIT_WORK_TREE"] {
        let place = std::env::var_os(name).filter(|_| is_told).and_then(|place| std::path::absolute(place).ok());
        match place {
            Some(place) => command.env(name, place),
            None => command.env_remove(name),
        };
    }
    command
}
