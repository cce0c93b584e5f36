//! The crate with the bindings and the types by hand, and the program that puts values through both.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use mcp_bindgen_model::write_if_changed;
use mcp_samples::{Fallible, role_name};
use serde_json::Value;

use crate::arguments::Arguments;
use crate::bindings::Bound;

const RUNNER: &str = include_str!("runner.rs");
const FORMATS: &str = include_str!("formats.rs");

/// How `serde_json` holds numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    OfSixtyFourBits,
    ArbitraryPrecision,
}

impl Numbers {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::OfSixtyFourBits => "numbers of 64 bits",
            Self::ArbitraryPrecision => "numbers as text, by `arbitrary_precision`",
        }
    }
}

pub(crate) struct Scratch {
    folder: PathBuf,
    build: PathBuf,
}

impl Scratch {
    pub(crate) fn write(arguments: &Arguments, bound: &[Bound]) -> Fallible<Self> {
        let root = &arguments.scratch;
        let write = |path: &str, text: &str| write_if_changed(&root.join(path), text.as_bytes());
        write("Cargo.toml", &manifest(arguments))?;
        // The versions of the project, so that nothing is fetched.
        write("Cargo.lock", &std::fs::read_to_string(arguments.repository.join("Cargo.lock"))?)?;
        write("src/runner.rs", RUNNER)?;
        write("src/formats.rs", FORMATS)?;
        let (mut modules, mut table) = (String::new(), String::new());
        for (number, Bound { list, ours, by_hand, types }) in bound.iter().enumerate() {
            for (side, source) in [("ours", ours), ("by_hand", by_hand)] {
                write(&format!("src/{side}_{number}.rs"), source)?;
                let _ = writeln!(modules, "mod {side}_{number};");
            }
            for (index, role, ty) in types {
                let (name, role) = (&list.name, role_name(*role));
                let sides = format!("ours::<ours_{number}::bindings::{ty}>, by_hand::<by_hand_{number}::{ty}>");
                let _ = writeln!(table, "    ({name:?}, {index}, {role:?}, {sides}),");
            }
        }
        write("src/main.rs", &program(&modules, &table))?;
        Ok(Self { folder: root.clone(), build: arguments.build.clone() })
    }

    /// Builds the program and feeds it sample values; gives its answers.
    pub(crate) fn run(&self, numbers: Numbers, lines: &[&String]) -> Fallible<Vec<Value>> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--offline", "--quiet"]).current_dir(&self.folder).env_remove("RUSTFLAGS");
        if numbers == Numbers::ArbitraryPrecision {
            cargo.args(["--features", "serde_json/arbitrary_precision"]);
        }
        if !cargo.env("CARGO_TARGET_DIR", &self.build).env("CARGO_INCREMENTAL", "0").status()?.success() {
            return Err("the bindings and the types by hand do not compile".into());
        }
        let mut child =
            Command::new(self.build.join("debug/serde-users")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the program has no pipes".into());
        };
        let answers = std::thread::scope(|scope| -> Fallible<Vec<Value>> {
            let feeding = scope.spawn(move || lines.iter().try_for_each(|line| writeln!(input, "{line}")));
            let mut answers = Vec::new();
            for line in BufReader::new(output).lines() {
                answers.push(serde_json::from_str(&line?)?);
            }
            feeding.join().map_err(|_| "the samples could not be sent")??;
            Ok(answers)
        })?;
        if child.wait()?.success() { Ok(answers) } else { Err("the program that reads and prints failed".into()) }
    }
}

fn manifest(arguments: &Arguments) -> String {
    format!(
        r#"[package]
name = "serde-users"
edition = "2024"
publish = false

[workspace]

[dependencies]
mcp-bindgen = {{ path = {:?}, default-features = false }}
rmp-serde = "1"
serde = {{ version = "1", features = ["derive"] }}
serde-saphyr = {{ version = "1", default-features = false, features = ["deserialize", "serialize"] }}
serde_json = {{ version = "1", features = ["float_roundtrip", "preserve_order"] }}
toml = {{ version = "1", default-features = false, features = ["display", "parse", "serde", "std"] }}

[profile.dev]
debug = 0
"#,
        arguments.repository
    )
}

fn program(modules: &str, table: &str) -> String {
    format!(
        "#![allow(dead_code)]\n\nmod formats;\nmod runner;\n{modules}\nuse runner::{{Entry, by_hand, ours}};\n\n\
         const TABLE: &[Entry] = &[\n{table}];\n\n\
         fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    runner::run(TABLE)\n}}\n"
    )
}
