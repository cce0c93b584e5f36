//! The crate with the bindings and the types by hand, and the program that puts values through both.

use std::fmt::Write;

use mcp_samples::{Fallible, repository, role_name};
use serde_json::Value;

use crate::scratch::{self, Scratch, answers};
use crate::serde_users::bindings::Bound;

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

pub(crate) struct Program(Scratch);

impl Program {
    pub(crate) fn write(bound: &[Bound]) -> Fallible<Self> {
        let scratch = Scratch::new("serde-users", "serde-users-build", &manifest())?;
        scratch.write("src/runner.rs", RUNNER)?;
        scratch.write("src/formats.rs", FORMATS)?;
        let mut modules = "#![allow(dead_code)]\n\nmod formats;\nmod runner;\n".to_owned();
        let mut table = String::new();
        for (number, Bound { list, ours, by_hand, types }) in bound.iter().enumerate() {
            for (side, source) in [("ours", ours), ("by_hand", by_hand)] {
                scratch.write(&format!("src/{side}_{number}.rs"), source)?;
                let _ = writeln!(modules, "mod {side}_{number};");
            }
            for (index, role, ty) in types {
                let (name, role) = (&list.name, role_name(*role));
                let sides = format!("ours::<ours_{number}::bindings::{ty}>, by_hand::<by_hand_{number}::{ty}>");
                let _ = writeln!(table, "    ({name:?}, {index}, {role:?}, {sides}),");
            }
        }
        scratch.write("src/main.rs", &scratch::program(&modules, "by_hand, ours", &table))?;
        Ok(Self(scratch))
    }

    /// Builds the program, sends it sample values, and passes on its answers.
    pub(crate) fn run<'l>(
        &self,
        numbers: Numbers,
        lines: impl Iterator<Item = &'l String> + Send,
        judge: impl FnMut(Value) -> Fallible<()>,
    ) -> Fallible<()> {
        let mut cargo = self.0.cargo("build");
        if numbers == Numbers::ArbitraryPrecision {
            cargo.args(["--features", "serde_json/arbitrary_precision"]);
        }
        if !cargo.arg("--quiet").status()?.success() {
            return Err("the bindings and the types by hand do not compile".into());
        }
        if answers(&self.0.program("serde-users"), lines, judge)? {
            Ok(())
        } else {
            Err("the program that reads and prints failed".into())
        }
    }
}

fn manifest() -> String {
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
        repository()
    )
}
