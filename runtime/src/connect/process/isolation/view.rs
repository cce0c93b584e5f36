//! A child's view of the files, and the arguments of bubblewrap for it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

/// The limit of Linux.
const MOST_LINKS: usize = 40;

/// A path, followed link by link.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The symbolic links on the path, in order: the resolved position of each, and its target.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// The path without any link.
    pub(super) real: PathBuf,
}

impl Way {
    /// Returns the links and the target.
    pub(super) fn places(&self) -> Vec<&Path> {
        let mut places: Vec<&Path> = self.links.iter().map(|(link, _)| link.as_path()).collect();
        places.push(&self.real);
        places
    }

    /// Returns the first of these folders that a link or the target is in.
    pub(super) fn passes<'f>(&self, folders: &'f [PathBuf]) -> Option<&'f PathBuf> {
        let places = self.places();
        folders.iter().find(|folder| places.iter().any(|place| place.starts_with(folder)))
    }
}

/// Follows an absolute path.
///
/// # Errors
/// Fails if the target does not exist, or if the path cannot be followed.
pub(super) fn follow(path: &Path) -> io::Result<Way> {
    let (mut links, mut real) = (Vec::new(), PathBuf::from("/"));
    let mut rest = path.to_owned();
    loop {
        let mut parts = rest.components();
        let Some(part) = parts.next() else { return Ok(Way { links, real }) };
        let mut after = parts.as_path().to_owned();
        match part {
            Component::Normal(part) => {
                let next = real.join(part);
                if next.symlink_metadata()?.is_symlink() {
                    if links.len() == MOST_LINKS {
                        return Err(io::Error::other("too many symbolic links"));
                    }
                    let target = next.read_link()?;
                    after = target.join(after);
                    links.push((next, target));
                } else {
                    real = next;
                }
            }
            Component::RootDir => real = PathBuf::from("/"),
            Component::ParentDir => drop(real.pop()),
            Component::CurDir | Component::Prefix(_) => {}
        }
        rest = after;
    }
}

/// Returns a path in a message.
pub(super) fn path_text(path: &Path) -> String {
    mcp_bindgen_model::printable(&path.to_string_lossy())
}

/// The kind of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A place that can be read.
    Read,
    /// A place that can be read and written.
    Write,
    /// An empty folder in memory, which may be written to.
    Empty,
    /// A symbolic link with this target.
    Link(PathBuf),
    /// The devices that every program has.
    Devices,
    /// Nothing that can be read or written.
    Nothing,
    /// The server's own processes.
    Processes,
}

/// Returns arguments of a command.
pub(super) fn list(arguments: &[&dyn AsRef<OsStr>]) -> Vec<OsString> {
    arguments.iter().map(|argument| argument.as_ref().to_owned()).collect()
}

/// A child's view of the files: each path decides for everything below it, up to the next path. The paths are sorted, so
/// that a folder comes before its contents.
#[derive(Default)]
pub(super) struct View(Vec<(PathBuf, Place)>);

impl View {
    /// Sets the place of a path that is not a symbolic link, and not behind one.
    pub(super) fn put(&mut self, real: impl AsRef<Path>, place: Place) {
        let real = real.as_ref();
        let at = self.0.partition_point(|(known, _)| known.as_path() < real);
        match self.0.get_mut(at) {
            Some((path, known)) if path.as_path() == real => *known = place,
            _ => self.0.insert(at, (real.to_owned(), place)),
        }
    }

    fn get(&self, path: &Path) -> Option<&Place> {
        self.0.iter().find(|(known, _)| known == path).map(|(_, place)| place)
    }

    /// Sets the place at the end of a path, and adds the missing links to it.
    pub(super) fn put_at(&mut self, way: &Way, place: Place) {
        self.put_links(way);
        self.put(&way.real, place);
    }

    /// Shows a path for reading, unless it is already visible.
    ///
    /// # Errors
    /// Fails if the path does not exist.
    pub(super) fn show(&mut self, path: &Path) -> io::Result<()> {
        let way = follow(path)?;
        self.put_links(&way);
        if !self.shows(&way.real) {
            self.put(&way.real, Place::Read);
        }
        Ok(())
    }

    fn put_links(&mut self, way: &Way) {
        for (link, target) in &way.links {
            if !self.shows(link) {
                self.put(link, Place::Link(target.clone()));
            }
        }
    }

    /// Returns `true` if the child sees the real file.
    pub(super) fn shows(&self, real: &Path) -> bool {
        match real.ancestors().find_map(|above| Some((above, self.get(above)?))) {
            Some((_, Place::Read | Place::Write)) => true,
            Some((link, Place::Link(_))) => link == real,
            _ => false,
        }
    }

    /// Returns the options of bubblewrap. Every path is absolute, so that none of them can be taken for an option.
    pub(super) fn options(&self) -> Vec<OsString> {
        let mut options = Vec::new();
        for (at, place) in &self.0 {
            options.append(&mut match place {
                Place::Read => list(&[&"--ro-bind", at, at]),
                Place::Write => list(&[&"--bind", at, at]),
                Place::Empty => list(&[&"--tmpfs", at]),
                Place::Link(target) => list(&[&"--symlink", target, at]),
                Place::Devices => list(&[&"--dev", at]),
                Place::Nothing => list(&[&"--dev-bind", &"/dev/null", at]),
                Place::Processes => list(&[&"--proc", at]),
            });
        }
        // Both are in memory and complete; nothing may be added.
        options.append(&mut list(&[&"--remount-ro", &"/dev"]));
        if self.get(Path::new("/")).is_none() {
            options.append(&mut list(&[&"--remount-ro", &"/"]));
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn parent_directories_come_first_and_the_nearest_rule_wins() {
        let mut view = View::default();
        view.put("/home/u/--bind", Place::Read);
        view.put("/home/u", Place::Empty);
        view.put("/home", Place::Read);
        view.put("/home/u/out", Place::Write);
        view.put("/home-2", Place::Write);
        let seen = ["/home/v", "/home/u/--bind/x", "/home/u/out", "/home-2"];
        let hidden = ["/", "/home/u", "/home/u/x", "/homes", "/home/u/outer"];
        assert!(
            seen.iter().all(|path| view.shows(path.as_ref())) && !hidden.iter().any(|path| view.shows(path.as_ref()))
        );
        let options = |view: &View| view.options().join(" ".as_ref()).into_string().unwrap();
        assert_eq!(
            options(&view),
            "--ro-bind /home /home --tmpfs /home/u --ro-bind /home/u/--bind /home/u/--bind --bind /home/u/out /home/u/out \
             --bind /home-2 /home-2 --remount-ro /dev --remount-ro /"
        );
        view.put("/", Place::Write);
        assert!(view.shows("/x".as_ref()) && !view.shows("/home/u/x".as_ref()));
        assert!(options(&view).starts_with("--bind / / --ro-bind /home /home"));
        assert!(options(&view).ends_with("--remount-ro /dev"));
    }

    #[test]
    fn missing_link_is_created_without_showing_its_siblings() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/in")).unwrap();
        symlink("real", root.join("link")).unwrap();
        let mut view = View::default();
        view.show(&root.join("link/in")).unwrap();
        assert!(view.shows(&root.join("real/in")) && view.shows(&root.join("link")));
        assert!(!view.shows(&root.join("real")) && !view.shows(&root.join("link/other")));
        let mut whole = View::default();
        whole.put(&root, Place::Write);
        whole.show(&root.join("link/in")).unwrap();
        assert_eq!(whole.options().len(), 3 + 4, "nothing is to be added");
        assert!(view.show(&root.join("gone")).is_err());
    }

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
