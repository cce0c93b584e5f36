//! A child's view of the files, and the arguments of bubblewrap for it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::way::{Way, follow};

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

/// A child's view of the files: each path decides for everything below it, up to the next path. Paths are sorted so
/// that a folder precedes its contents.
#[derive(Default)]
pub(super) struct View {
    /// Sorted.
    places: Vec<(PathBuf, Place)>,
}

impl View {
    /// Sets the place of a path that is not a symbolic link, and not behind one.
    pub(super) fn put(&mut self, real: impl Into<PathBuf>, place: Place) {
        let real = real.into();
        match self.search(&real) {
            Ok(at) => self.places.splice(at..=at, [(real, place)]).for_each(drop),
            Err(at) => self.places.insert(at, (real, place)),
        }
    }

    fn search(&self, real: &Path) -> Result<usize, usize> {
        self.places.binary_search_by(|(at, _)| at.as_path().cmp(real))
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
            self.put(way.real, Place::Read);
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
        match self.place_of(real) {
            Some(Place::Read | Place::Write) => true,
            Some(Place::Link(_)) => self.search(real).is_ok(),
            _ => false,
        }
    }

    fn place_of(&self, real: &Path) -> Option<&Place> {
        let found = real.ancestors().find_map(|above| self.search(above).ok());
        found.and_then(|at| self.places.get(at)).map(|(_, place)| place)
    }

    /// Returns the options of bubblewrap. Every path is absolute, so that none of them can be taken for an option.
    pub(super) fn options(&self) -> Vec<OsString> {
        let mut options: Vec<OsString> = Vec::new();
        for (at, place) in &self.places {
            let (option, from) = match place {
                Place::Read => ("--ro-bind", Some(at.as_path())),
                Place::Write => ("--bind", Some(at.as_path())),
                Place::Empty => ("--tmpfs", None),
                Place::Link(target) => ("--symlink", Some(target.as_path())),
                Place::Devices => ("--dev", None),
                Place::Nothing => ("--dev-bind", Some(Path::new("/dev/null"))),
                Place::Processes => ("--proc", None),
            };
            options.push(option.into());
            options.extend(from.map(OsString::from));
            options.push(at.into());
        }
        // Both are in memory and complete; nothing may be added.
        let root = self.search(Path::new("/")).is_err().then_some("/");
        for read_only in ["/dev"].into_iter().chain(root) {
            options.extend(["--remount-ro", read_only].map(OsString::from));
        }
        options
    }
}

#[cfg(test)]
mod tests {
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
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
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
}
