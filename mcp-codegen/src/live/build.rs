//! Identifies the build of this process, and whether it is still running.

use std::time::Duration;

/// The age from which a file may belong to another build, if builds cannot be distinguished.
const SHORT: Duration = Duration::from_secs(60);
/// The number of a process may come again.
#[cfg(any(test, all(unix, not(target_os = "linux"))))]
const LONG: Duration = Duration::from_secs(3600);

/// One run of cargo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Build {
    /// Differs from that of other builds, as far as builds can be distinguished.
    pub(super) name: String,
    /// The age from which a record of this name may belong to another build.
    lasts: Duration,
    /// The process that runs the build, if it is known.
    process: Option<u32>,
}

impl Build {
    /// The build of a cargo process, with its start time. Wrappers of rustc may run in between.
    #[cfg(target_os = "linux")]
    pub(super) fn current() -> Self {
        proc::cargo_of(proc::ancestors()).map_or_else(Self::unknown, |cargo| Self::of_cargo(cargo.id, &cargo.began))
    }

    /// The build of the parent process.
    #[cfg(all(unix, not(target_os = "linux")))]
    pub(super) fn current() -> Self {
        Self::of_parent(std::os::unix::process::parent_id())
    }

    #[cfg(not(unix))]
    pub(super) fn current() -> Self {
        Self::unknown()
    }

    #[cfg(target_os = "linux")]
    fn of_cargo(id: u32, began: &str) -> Self {
        Self { name: format!("cargo {id} {began}"), lasts: Duration::MAX, process: Some(id) }
    }

    #[cfg(any(test, all(unix, not(target_os = "linux"))))]
    pub(super) fn of_parent(id: u32) -> Self {
        Self { name: format!("parent {id}"), lasts: LONG, process: Some(id) }
    }

    /// A compiler cache's server started this process, or the platform cannot identify parents.
    #[cfg(any(test, target_os = "linux", not(unix)))]
    fn unknown() -> Self {
        Self { name: String::new(), lasts: SHORT, process: None }
    }

    /// Returns `true` if a record of this name and age belongs to this build.
    pub(super) fn did(&self, name: &str, age: Duration) -> bool {
        age < self.lasts && self.name == name
    }

    /// Returns `true` if the build has ended, so that this process has no reader.
    pub(super) fn is_over(&self) -> bool {
        #[cfg(target_os = "linux")]
        let is_other = |id| proc::read(id).is_none_or(|now| now.is_dead || Self::of_cargo(id, &now.began) != *self);
        #[cfg(all(unix, not(target_os = "linux")))]
        let is_other = |id| std::os::unix::process::parent_id() != id;
        #[cfg(not(unix))]
        let is_other = |_| false;
        self.process.is_some_and(is_other)
    }
}

/// Returns `true` if an editor has this build made, to show what comes of it.
pub(super) fn is_of_editor() -> bool {
    #[cfg(target_os = "linux")]
    return proc::ancestors().any(|process| process.name.starts_with("rust-analyzer"));
    #[cfg(not(target_os = "linux"))]
    return false;
}

#[cfg(target_os = "linux")]
mod proc {
    /// Deeper than any build, should `/proc` go round in circles.
    const DEEPEST: usize = 100;

    pub(super) struct Seen {
        pub(super) id: u32,
        pub(super) name: String,
        pub(super) began: String,
        pub(super) is_dead: bool,
        parent: u32,
    }

    #[cfg(test)]
    impl Seen {
        pub(super) fn of_name(id: u32, name: &str) -> Self {
            Self { id, name: name.to_owned(), began: String::new(), is_dead: false, parent: 0 }
        }
    }

    /// Returns the processes above this one, nearest first.
    pub(super) fn ancestors() -> impl Iterator<Item = Seen> {
        let first = read(std::os::unix::process::parent_id());
        std::iter::successors(first, |process| read(process.parent)).take(DEEPEST)
    }

    /// Returns the nearest cargo. `cargo fix` puts another cargo process between itself and rustc, one for each crate.
    pub(super) fn cargo_of(ancestors: impl Iterator<Item = Seen>) -> Option<Seen> {
        let is_cargo = |process: &Seen| process.name == "cargo";
        ancestors.skip_while(|process| !is_cargo(process)).take_while(is_cargo).last()
    }

    pub(super) fn read(id: u32) -> Option<Seen> {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // `1 (a name) S 0 ..`: the name may hold anything.
        let (name, rest) = (text.get(text.find('(')? + 1..text.rfind(')')?)?, text.get(text.rfind(')')? + 1..)?);
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let began = fields.nth(17)?.to_owned();
        Some(Seen { id, name: name.to_owned(), began, is_dead: matches!(state, "Z" | "X" | "x"), parent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn builds_are_distinguished() {
        let now = Duration::ZERO;
        assert!(Build::of_cargo(7, "100").did("cargo 7 100", LONG * 10));
        assert!(!Build::of_cargo(7, "200").did("cargo 7 100", now), "another process of the same number");
        assert!(Build::of_parent(7).did("parent 7", LONG / 2) && !Build::of_parent(7).did("parent 7", LONG * 2));
        assert!(Build::unknown().did("", SHORT / 2) && !Build::unknown().did("", SHORT * 2));
        assert!(!Build::unknown().did("cargo 7 100", now) && !Build::of_cargo(7, "100").did("", now));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn build_is_over_when_its_cargo_exits() {
        let mut sleeper = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let seen = proc::read(sleeper.id()).unwrap();
        let build = Build::of_cargo(seen.id, &seen.began);
        assert!(!build.is_over());
        assert!(Build::of_cargo(seen.id, "0").is_over(), "another process of the same number");
        sleeper.kill().unwrap();
        // Dead, and not yet waited for.
        let dead = (0..500).any(|_| {
            build.is_over() || {
                std::thread::sleep(Duration::from_millis(10));
                false
            }
        });
        assert!(dead);
        sleeper.wait().unwrap();
        assert!(build.is_over());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cargo_as_a_rustc_wrapper_is_not_a_build() {
        for (names, expected) in [
            (["cargo", "bash", "cargo", "init"], Some(0)),
            (["sh", "cargo", "cargo", "bash"], Some(2)),
            (["bash", "sshd", "init", ""], None),
        ] {
            let seen = |(id, name): (u32, &str)| proc::Seen::of_name(id, name);
            let found = proc::cargo_of((0..).zip(names).map(seen));
            assert_eq!(found.map(|cargo| cargo.id), expected, "{names:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cargo_is_found_among_the_ancestors() {
        // `cargo test` runs this; other programs need not.
        if proc::ancestors().any(|process| process.name == "cargo") {
            assert!(Build::current().name.starts_with("cargo "), "{:?}", Build::current());
        }
        assert!(!is_of_editor() || proc::ancestors().any(|process| process.name == "rust-analyzer"));
    }
}
