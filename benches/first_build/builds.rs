//! The two crates, and a clean build of one of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use mcp_bindgen_model::write_if_changed;
use mcp_samples::{Fallible, repository};

use crate::costs::{self, Cost};

/// The variable that names the folder for the costs of crates.
pub(crate) const CRATES: &str = "FIRST_BUILD_CRATES";

const OURS: &str = include_str!("ours.rs.in");
const BY_HAND: &str = include_str!("by_hand.rs.in");

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    Ours,
    ByHand,
}

/// A finished build.
pub(crate) struct Build {
    /// The CPU time of cargo and all of its children.
    pub(crate) seconds: f64,
    costs: Vec<Cost>,
}

impl Build {
    /// Builds the crate from nothing, with the versions of this workspace.
    ///
    /// Nothing is compiled incrementally: cargo never does so with crates of a registry, but with those of a path.
    pub(crate) fn clean(folder: &Path, side: Side, profile: &str, transport: &str) -> Fallible<Self> {
        let root = repository();
        let name = format!("{}-{transport}", if side == Side::Ours { "ours" } else { "by-hand" });
        let package = folder.join(&name);
        let write = |path: &str, text: &str| write_if_changed(&package.join(path), text.as_bytes());
        let dependencies = dependencies(side, transport, root);
        write(
            "Cargo.toml",
            &format!(
                "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
                 [workspace]\n\n[profile.dev]\nincremental = false\n\n[dependencies]\n{dependencies}\
                 tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n"
            ),
        )?;
        write("Cargo.lock", &fs::read_to_string(root.join("Cargo.lock"))?)?;
        if side == Side::Ours {
            let place =
                if transport == "http" { "url = \"http://127.0.0.1:8000/mcp\"" } else { "command = \"tickets\"" };
            write("mcp.toml", &format!("[servers.tickets]\n{place}\ntools = [\"create_ticket\"]\n"))?;
            write("mcp/tickets.json", &fs::read_to_string(root.join("fixtures/snapshots/fixture.json"))?)?;
            write("src/main.rs", OURS)?;
        } else {
            let connection = if transport == "http" {
                "rmcp::transport::StreamableHttpClientTransport::from_uri(\"http://127.0.0.1:8000/mcp\")"
            } else {
                "rmcp::transport::TokioChildProcess::new(tokio::process::Command::new(\"tickets\"))?"
            };
            write("src/main.rs", &BY_HAND.replace("/*TRANSPORT*/", connection))?;
        }
        let (target, log) = (package.join("target"), package.join("crates"));
        for leftover in [&target, &log] {
            remove(leftover)?;
        }
        fs::create_dir_all(&log)?;
        let before = costs::of_children()?;
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--profile", if profile == "debug" { "dev" } else { profile }]);
        // Of cargo's settings in the environment only those that find crates stay.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_PROFILE") || name.starts_with("CARGO_INCREMENTAL") || name.ends_with("RUSTFLAGS")
            {
                cargo.env_remove(&*name);
            }
        }
        cargo.current_dir(&package).env("CARGO_TARGET_DIR", &target);
        cargo.env("RUSTC_WRAPPER", std::env::current_exe()?).env(CRATES, &log);
        let status = cargo.status()?;
        let seconds = costs::of_children()? - before;
        if !status.success() {
            return Err(format!("cargo failed to build {}: {status}", package.display()).into());
        }
        let costs = costs::read(&log)?;
        remove(&target)?;
        Ok(Self { seconds, costs })
    }

    /// The number of packages below the crate.
    pub(crate) fn crates(&self) -> usize {
        let packages: std::collections::BTreeSet<&str> = self.costs.iter().map(|cost| cost.package.as_str()).collect();
        packages.len().saturating_sub(1)
    }

    /// The crates that took the most CPU time, with how often rustc ran for each.
    pub(crate) fn most_expensive(&self, many: usize) -> Vec<(String, f64)> {
        let mut sums: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for cost in &self.costs {
            let (runs, seconds) = sums.entry(&cost.package).or_default();
            *runs += 1;
            *seconds += cost.seconds;
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by(|(_, (_, one)), (_, (_, other))| other.total_cmp(one));
        let line = |(package, (runs, seconds)): (&str, (usize, f64))| match runs {
            1 => (package.to_owned(), seconds),
            _ => (format!("{package} ({runs} runs of rustc)"), seconds),
        };
        sums.into_iter().take(many).map(line).collect()
    }

    /// The CPU time outside of rustc: build scripts as they run, and cargo.
    pub(crate) fn elsewhere(&self) -> f64 {
        self.seconds - self.costs.iter().map(|cost| cost.seconds).sum::<f64>()
    }
}

fn dependencies(side: Side, transport: &str, root: &Path) -> String {
    match (side, transport) {
        (Side::Ours, "http") => format!("mcp-bindgen = {{ path = {root:?}, features = [\"http\"] }}\n"),
        (Side::Ours, _) => format!("mcp-bindgen = {{ path = {root:?} }}\n"),
        (Side::ByHand, _) => {
            let (more, tls) = match transport {
                "http" => (
                    ", \"transport-streamable-http-client-reqwest\", \"reqwest-tls-no-provider\"",
                    "rustls = { version = \"0.23\", default-features = false, features = [\"ring\", \"std\", \"tls12\"] }\n",
                ),
                _ => ("", ""),
            };
            format!(
                "rmcp = {{ version = \"~3.8\", default-features = false, \
                 features = [\"client\", \"transport-child-process\"{more}] }}\n{tls}\
                 serde = {{ version = \"1\", features = [\"derive\"] }}\nserde_json = \"1\"\n"
            )
        }
    }
}

fn remove(folder: &Path) -> Fallible<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
