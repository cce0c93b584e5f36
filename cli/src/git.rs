//! Reads revisions of files by running git, so that every kind of repository works.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output};

use crate::exit::Failure;
use crate::project::slashed;

/// The maximum number of symbolic links that lead to a file.
const MOST_LINKS: usize = 8;

/// Returns the merge base of this work and `revision`. Later commits of `revision` do not count, and neither does a
/// merge in progress.
///
/// # Errors
/// Fails if there is no git, no repository, or no such commit.
pub(crate) fn base(folder: &Path, revision: &str) -> Result<String, Failure> {
    let merged = merged_heads(folder);
    let mut arguments = vec!["merge-base", "--end-of-options", revision, "HEAD"];
    // With more than one, git takes the commit that a merge of them would be.
    arguments.extend(merged.iter().map(String::as_str));
    let found = git(folder, &arguments)?;
    if found.status.success() {
        return Ok(String::from_utf8_lossy(&found.stdout).trim().to_owned());
    }
    Err(no_commit(folder, revision, &found))
}

/// Returns the commits that HEAD is being merged with.
fn merged_heads(folder: &Path) -> Vec<String> {
    let file = line(folder, &["rev-parse", "--git-path", "MERGE_HEAD"]).map(|file| folder.join(file));
    let heads = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    heads.split_whitespace().map(str::to_owned).collect()
}

/// Returns the commit of this name.
///
/// # Errors
/// Fails if there is no git, no repository, or no such commit.
fn commit(folder: &Path, revision: &str) -> Result<String, Failure> {
    let found = git(folder, &["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")])?;
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
pub(crate) fn text_at(path: &Path, revision: &str) -> Result<Option<String>, Failure> {
    text_of(path, &commit(placed(path).0, revision)?, revision)
}

/// Returns the text of a file at the commit that `base` returned for this revision.
///
/// # Errors
/// Fails if git cannot read the file.
pub(crate) fn text_of(path: &Path, commit: &str, revision: &str) -> Result<Option<String>, Failure> {
    let (folder, mut inside) = placed(path);
    let failed = |said: &str| Failure::new(format!("failed to read {} at `{revision}`: {said}", path.display()));
    for followed in 0..MOST_LINKS {
        let listed = git(folder, &["ls-tree", "-z", commit, "--", &format!("./{inside}")])?;
        if !listed.status.success() {
            return Err(failed(&said(&listed)));
        }
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let Some((about, _)) = listed.split_once('\t') else {
            return if followed == 0 { Ok(None) } else { Err(failed("it is a broken symbolic link")) };
        };
        let mut about = about.split(' ');
        let (mode, kind, id) = (about.next(), about.next(), about.next().unwrap_or_default());
        if kind != Some("blob") {
            return Err(failed("it is not a file"));
        }
        let blob = git(folder, &["cat-file", "blob", id])?;
        if !blob.status.success() {
            return Err(failed(&said(&blob)));
        }
        let text = String::from_utf8(blob.stdout).map_err(|_| failed("it is not text"))?;
        if mode != Some("120000") {
            return Ok(Some(text));
        }
        if Path::new(&text).is_absolute() {
            return Err(failed(&format!("it is a link to {text}, which is outside the repository")));
        }
        inside = beside(&inside, &text);
    }
    Err(failed("its symbolic links form a cycle"))
}

/// Returns the path that a link at another path leads to.
fn beside(link: &str, target: &str) -> String {
    let mut path = PathBuf::new();
    let parent = Path::new(link).parent().unwrap_or(Path::new(""));
    for part in parent.join(target).components() {
        match part {
            Component::ParentDir if matches!(path.components().next_back(), Some(Component::Normal(_))) => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    slashed(&path)
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
    let is = |arguments: &[&str], wanted: fn(&Output) -> bool| git(folder, arguments).is_ok_and(|found| wanted(&found));
    if said.contains("not a git repository") {
        return Failure::new(format!(
            "cannot resolve `{revision}`: not in a git repository: {said}\n  = help: run this in a repository, or \
             without a revision"
        ));
    }
    if is(&["rev-parse", "--quiet", "--verify", "HEAD"], |found| !found.status.success()) && revision != "HEAD" {
        return Failure::new(format!(
            "cannot resolve `{revision}`: the repository has no commits: {said}\n  = help: commit first, or run this \
             without a revision"
        ));
    }
    let help = if is(&["rev-parse", "--is-shallow-repository"], |found| found.stdout.starts_with(b"true")) {
        "this clone is shallow: fetch the whole history (`fetch-depth: 0` of actions/checkout, or `git fetch --unshallow`)"
    } else {
        "use a branch, a tag or a commit of this repository that shares history with HEAD"
    };
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    Failure::new(format!("git has no commit `{revision}` that shares history with HEAD{said}\n  = help: {help}"))
}

fn git(folder: &Path, arguments: &[&str]) -> Result<Output, Failure> {
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
    command.output().map_err(|error| {
        Failure::new(format!("failed to run git: {error}\n  = help: install git, or run this without a revision"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_resolve_relative_to_their_file() {
        assert_eq!(beside("s.json", "../shared/./s.json"), "../shared/s.json");
        assert_eq!(beside("mcp/s.json", "../shared/s.json"), "shared/s.json");
        assert_eq!(beside("mcp/s.json", "t.json"), "mcp/t.json");
        assert_eq!(beside("a/s.json", "../../../x"), "../../x");
    }
}
