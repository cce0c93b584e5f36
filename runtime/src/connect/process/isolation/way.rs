//! Resolves a path link by link.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The limit of Linux.
const MOST_LINKS: usize = 40;

/// The target of a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The symbolic links on the path, in order: the resolved position of each, and its target.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// The path without any link.
    pub(super) real: PathBuf,
}

/// Follows an absolute path.
///
/// # Errors
/// Fails if the target does not exist, or if the path cannot be followed.
pub(super) fn follow(path: &Path) -> io::Result<Way> {
    let mut rest: VecDeque<OsString> = parts(path).collect();
    let mut real = PathBuf::from("/");
    let mut links = Vec::new();
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        if !next.symlink_metadata()?.is_symlink() {
            real = next;
            continue;
        }
        if links.len() == MOST_LINKS {
            return Err(io::Error::other("too many symbolic links"));
        }
        let target = next.read_link()?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            rest.push_front(part);
        }
        links.push((next, target));
    }
    Ok(Way { links, real })
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn all_links_of_a_path_are_resolved() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        std::fs::File::create(root.join("real/deep/file")).unwrap();
        symlink("real", root.join("one")).unwrap();
        symlink(root.join("one/deep/../deep"), root.join("two")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let way = follow(&root.join("two/./file")).unwrap();
        assert_eq!(way.real, root.join("real/deep/file"));
        let at: Vec<_> = way.links.iter().map(|(link, _)| link.clone()).collect();
        assert_eq!(at, [root.join("two"), root.join("one")]);
        assert_eq!(way.links[1].1, Path::new("real"));
        assert!(follow(&root.join("loop")).unwrap_err().to_string().contains("too many"));
        assert_eq!(follow(&root.join("one/gone")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(follow(&root.join("real/deep/file/x")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }
}
