//! The crates that are measured: for each side a program, and one program with both.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mcp_bindgen_model::write_if_changed;
use mcp_samples::{Fallible, repository};

use crate::lists::fastest;
use crate::table::{Figure, in_bytes};

/// Reads the arguments of a tool from JSON text and prints them.
const PROGRAM: &str = include_str!("program.rs.in");
/// Measures both sides in one process.
const MEASURE: &str = include_str!("measure.rs.in");

/// The in-process measurements, by their names in the program's output.
const FORMS: [&str; 5] = ["read and print text", "read text", "print text", "read Value", "print Value"];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Ours,
    ByHand,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::ByHand => "by_hand",
        }
    }

    fn program(self) -> String {
        format!("{}_program", self.name())
    }
}

pub(crate) struct Crates {
    folder: PathBuf,
}

/// The measurements of the program that contains both sides.
pub(crate) struct Measured {
    pub(crate) said: String,
    /// How long all values take, in each form, by each side.
    pub(crate) forms: Vec<(&'static str, [Duration; 2])>,
}

impl Crates {
    /// Writes the crates, where they are not there already.
    pub(crate) fn write(
        folder: &Path,
        list: &Path,
        by_hand: &str,
        tools: &[(usize, String)],
        values: &str,
    ) -> Fallible<Self> {
        let write = |path: &str, text: &str| write_if_changed(&folder.join(path), text.as_bytes());
        let root = repository();
        write("Cargo.toml", &workspace(root))?;
        // The versions of the project, so that nothing is fetched.
        write("Cargo.lock", &fs::read_to_string(root.join("Cargo.lock"))?)?;
        let bindings = format!("mcp_bindgen::mcp_tools!(\"github\", path = {list:?});\n");
        let serde = "serde.workspace = true\nserde_json.workspace = true\n";
        let ours = format!("{serde}mcp-bindgen.workspace = true\n");
        let measure = format!("{ours}criterion.workspace = true\n");
        let entries = |line: &dyn Fn(usize, &str) -> String| {
            tools.iter().fold(String::new(), |mut text, (index, ty)| {
                let _ = writeln!(text, "    {}", line(*index, ty));
                text
            })
        };
        let program =
            PROGRAM.replace("/*TOOLS*/", &entries(&|index, ty| format!("({index}, reprint::<types::{ty}>),")));
        let both = entries(&|index, ty| format!("({index}, tool!(ours::{ty}, by_hand::{ty})),"));
        for (name, dependencies, files) in [
            (
                "ours_program",
                &ours,
                vec![("types.rs", &*format!("{bindings}pub use github::*;\n")), ("main.rs", program.as_str())],
            ),
            ("by_hand_program", &serde.to_owned(), vec![("types.rs", by_hand), ("main.rs", program.as_str())]),
            (
                "measure",
                &measure,
                vec![
                    ("ours.rs", &*format!("{bindings}pub use github::*;\n")),
                    ("by_hand.rs", by_hand),
                    ("main.rs", &MEASURE.replace("/*TOOLS*/", &both)),
                ],
            ),
        ] {
            write(&format!("{name}/Cargo.toml"), &package(name, dependencies))?;
            for (file, text) in files {
                write(&format!("{name}/src/{file}"), text)?;
            }
        }
        write("values.jsonl", values)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Runs cargo for a program as after `cargo clean --package`: its dependencies are built the first time. Returns the
    /// time of processors where the system tells it, for other programs run at the same time.
    pub(crate) fn work(&self, side: Side, command: &[&str]) -> Fallible<Duration> {
        let package = side.program();
        // Without `--release` cargo cleans the profile `dev` alone.
        let profile = command.iter().copied().filter(|argument| *argument == "--release");
        self.cargo(&package, &["clean"].into_iter().chain(profile).collect::<Vec<_>>())?;
        // `clean` leaves the state of incremental builds, which decides how much is built.
        let incremental = self.folder.join("target/debug/incremental");
        if incremental.exists() {
            fs::remove_dir_all(incremental)?;
        }
        let (start, worked) = (Instant::now(), work_of_children());
        self.cargo(&package, command)?;
        Ok(work_of_children().zip(worked).map_or_else(|| start.elapsed(), |(after, before)| after - before))
    }

    /// How large the program is.
    pub(crate) fn size(&self, side: Side) -> Fallible<Figure> {
        Ok(in_bytes(fs::metadata(self.program(&side.program()))?.len()))
    }

    /// Measures both sides in turns, in one process.
    pub(crate) fn measure(&self, rounds: usize) -> Fallible<Measured> {
        self.cargo("measure", &["build", "--release"])?;
        let results = self.folder.join("criterion");
        let output = Command::new(self.program("measure"))
            .arg(&results)
            .arg(self.folder.join("values.jsonl"))
            .arg(rounds.to_string())
            .stdout(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if !output.status.success() {
            return Err(format!("the program that measures failed: {said}").into());
        }
        let mut forms = Vec::new();
        for form in FORMS {
            let mut best = [Duration::MAX; 2];
            for round in 0..rounds {
                for (side, best) in [Side::Ours, Side::ByHand].into_iter().zip(&mut best) {
                    *best = fastest(&results, &form.replace(' ', "_"), &format!("{}_{round}", side.name()))?.min(*best);
                }
            }
            forms.push((form, best));
        }
        // Criterion's progress is there as well.
        let said = said.lines().find(|line| line.contains("sample values")).unwrap_or_default();
        Ok(Measured { said: said.to_owned(), forms })
    }

    fn program(&self, package: &str) -> PathBuf {
        self.folder.join("target/release").join(package)
    }

    fn cargo(&self, package: &str, command: &[&str]) -> Fallible<()> {
        let status = Command::new(env!("CARGO"))
            .args(command)
            .args(["--quiet", "--offline", "--package", package])
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .env_remove("CARGO_INCREMENTAL")
            .env_remove("RUSTFLAGS")
            .status()?;
        if status.success() { Ok(()) } else { Err(format!("cargo {} fails for {package}", command.join(" ")).into()) }
    }
}

/// The time of processors that ended children took, where the system tells: whatever else runs on the machine, that of
/// two programs can be compared.
fn work_of_children() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let numbers: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |place: usize| numbers.get(place)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks(13)? + ticks(14)?)))
}

fn workspace(root: &Path) -> String {
    format!(
        r#"[workspace]
members = ["ours_program", "by_hand_program", "measure"]
resolver = "3"

[workspace.dependencies]
criterion = {{ version = "0.8", default-features = false, features = ["cargo_bench_support"] }}
mcp-bindgen = {{ path = {root:?} }}
serde = {{ version = "1", features = ["derive"] }}
serde_json = {{ version = "1", features = ["float_roundtrip", "preserve_order"] }}

[profile.release]
strip = true
"#
    )
}

fn package(name: &str, dependencies: &str) -> String {
    format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[dependencies]\n{dependencies}"
    )
}
