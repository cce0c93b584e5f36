//! Rules that hold for every text that is read as overrides.

use mcp_bindgen_codegen::{Bindings, Options, apply_overrides, format};
use mcp_bindgen_model::{ByName, FileError, Overrides, Snapshot};

use super::watchdog;

/// The snapshots that are overridden: one of tools without results, and one whose schemas use most keywords.
const SNAPSHOTS: [&str; 2] =
    [include_str!("../../../fixtures/overrides/github.json"), include_str!("../../../fixtures/features/output.json")];

/// Puts a text over snapshots: reading, applying and generating neither panic nor take for ever, what comes out is Rust,
/// what is read is written the same, and what is said is fit for a terminal. Gives whether it changed bindings.
pub(crate) fn check(text: &str) -> bool {
    watchdog::in_time(text, || {
        let overrides = match Overrides::parse(text) {
            Ok(overrides) => overrides,
            Err(error) => {
                printable(&error);
                return false;
            }
        };
        let written = Overrides::parse(&overrides.to_text()).expect("what is written can be read");
        assert_eq!(written.tools, overrides.tools);
        let snapshots = SNAPSHOTS.map(|text| Snapshot::parse(text).expect("the fixture is a snapshot"));
        snapshots.iter().filter(|snapshot| over(snapshot, &overrides)).count() > 0
    })
}

fn over(snapshot: &Snapshot, overrides: &Overrides) -> bool {
    overrides.misfits(snapshot).iter().for_each(printable);
    // Overrides of tools that this list lacks would fail the whole file, so they are removed first.
    let mut fitting = overrides.clone();
    fitting.tools = ByName::default();
    for (name, tool) in overrides.tools.iter() {
        if snapshot.tools.iter().any(|tool| tool.get("name").is_some_and(|found| found == name)) {
            fitting.tools.insert(name.clone(), tool.clone());
        }
    }
    if fitting.tools.is_empty() {
        return false;
    }
    match apply_overrides(snapshot, &fitting) {
        Ok(mended) => {
            assert_eq!(mended.overridden.len(), fitting.tools.len());
            let (tokens, diagnostics) =
                Bindings::generate(&mended, &Options::new("server").tools(fitting.tools.iter().map(|(name, _)| name)));
            format(tokens).expect("generated code is Rust");
            for diagnostic in &diagnostics {
                assert!(!diagnostic.to_string().contains(char::is_control), "{diagnostic:?}");
            }
            true
        }
        Err(faults) => {
            assert!(!faults.is_empty());
            faults.iter().for_each(printable);
            false
        }
    }
}

fn printable(error: &FileError) {
    let text = error.to_string();
    let is_unfit = |char: char| (char.is_control() && char != '\n') || ('\u{202a}'..='\u{202e}').contains(&char);
    assert!(!text.contains(is_unfit), "{text:?}");
}
