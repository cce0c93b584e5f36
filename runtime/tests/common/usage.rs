//! Measures the resources that the test process holds.

use std::fmt;
use std::time::{Duration, Instant};

const PAGE: usize = 4096;

/// The resources that a leak would increase.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    /// Resident, in bytes.
    pub(crate) memory: usize,
    /// Tasks of the runtime that have not ended.
    pub(crate) tasks: usize,
    /// Open descriptors.
    pub(crate) descriptors: usize,
    /// Children, those included that have ended and that nobody has waited for.
    pub(crate) children: usize,
    /// Those alone.
    pub(crate) zombies: usize,
}

impl Usage {
    pub(crate) fn now() -> Self {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("/proc is there");
        let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number of pages");
        let children = children();
        Self {
            memory: pages * PAGE,
            tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
            descriptors: std::fs::read_dir("/proc/self/fd").expect("/proc is there").count(),
            zombies: children.iter().filter(|state| **state == 'Z').count(),
            children: children.len(),
        }
    }

    /// The same once it has not changed for a while: what was dropped ends in its own time.
    pub(crate) async fn at_rest() -> Self {
        const WHILE: Duration = Duration::from_millis(100);
        let start = Instant::now();
        let (mut last, mut since) = (Self::now(), Instant::now());
        while since.elapsed() < WHILE {
            assert!(start.elapsed() < Duration::from_secs(30), "it does not come to rest: {last}");
            tokio::time::sleep(Duration::from_millis(10)).await;
            let now = Self::now();
            if now.held() != last.held() {
                since = Instant::now();
            }
            last = now;
        }
        last
    }

    /// Tasks, descriptors, children and zombies: what must be the same again to the last one.
    pub(crate) fn held(&self) -> [usize; 4] {
        [self.tasks, self.descriptors, self.children, self.zombies]
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, tasks, descriptors, children, zombies } = self;
        write!(
            f,
            "{} KiB, {tasks} tasks, {descriptors} descriptors, {children} children, {zombies} zombies",
            memory / 1024
        )
    }
}

/// The state of each child of this process.
fn children() -> Vec<char> {
    let entries = std::fs::read_dir("/proc").expect("/proc is there");
    let pids = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    let stats = pids.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let parents = stats.filter_map(|stat| {
        // The name of the program, in parentheses, may hold anything.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        Some((fields.next()?.chars().next()?, fields.next()?.parse::<u32>().ok()?))
    });
    parents.filter(|(_, parent)| *parent == std::process::id()).map(|(state, _)| state).collect()
}
