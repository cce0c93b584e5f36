//! When `serve` reads its configuration again: at SIGHUP, and with `--watch` when a file changes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mcp_bindgen_model::Config;

/// How often files are looked at.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits for reasons to read the configuration again.
pub(super) struct Reloads {
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
    watch: Option<Watch>,
}

impl Reloads {
    /// Listens to SIGHUP, and watches the files of a configuration.
    pub(super) fn new(watched: Option<&Config>) -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            hang_up: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup())?,
            watch: watched.and_then(Watch::new),
        })
    }

    /// Waits for the next reason.
    pub(super) async fn next(&mut self) {
        let changed = async {
            match &mut self.watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        #[cfg(unix)]
        tokio::select! {
            _ = self.hang_up.recv() => {}
            () = changed => {}
        }
        #[cfg(not(unix))]
        changed.await;
    }
}

type Stamps = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// The files of a configuration: the file itself, and the folder of the snapshots.
struct Watch {
    file: PathBuf,
    folder: PathBuf,
    stamps: Stamps,
}

impl Watch {
    fn new(config: &Config) -> Option<Self> {
        let file = config.path.clone()?;
        let folder = config.snapshot_path("any").parent().map(Path::to_owned)?;
        let stamps = stamps(&file, &folder);
        Some(Self { file, folder, stamps })
    }

    /// Waits until a file changes, and then until no file has changed for a moment.
    async fn changed(&mut self) {
        let mut is_changed = false;
        loop {
            tokio::time::sleep(PAUSE).await;
            let stamps = stamps(&self.file, &self.folder);
            if stamps != self.stamps {
                self.stamps = stamps;
                is_changed = true;
            } else if is_changed {
                return;
            }
        }
    }
}

fn stamps(file: &Path, folder: &Path) -> Stamps {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let stamp = |path: PathBuf| {
        let metadata = fs::metadata(&path).ok()?;
        Some((path, (metadata.modified().ok(), metadata.len())))
    };
    files.chain([file.to_owned()]).filter_map(stamp).collect()
}
