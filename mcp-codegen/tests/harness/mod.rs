//! Rules that hold for every text that is read as a tool list, a configuration, overrides, or two snapshots. The tests
//! and the fuzz targets in `fuzz/` share them; each uses a part.

#![allow(dead_code)]

pub(crate) mod config;
pub(crate) mod drift;
pub(crate) mod overrides;
pub(crate) mod secrets;
pub(crate) mod watchdog;

use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_model::Snapshot;

/// A check of a text. It returns `true` if the text was of the kind that the check is for.
pub(crate) type Check = fn(&str) -> bool;

/// Reads a text as a tool list and generates its bindings: neither panics, what comes out is Rust, every tool that is
/// described is in it, and it does not take for ever. Gives whether the text was a list at all.
pub(crate) fn check(text: &str) -> bool {
    watchdog::in_time(text, || generate(text))
}

fn generate(text: &str) -> bool {
    let Ok(snapshot) = Snapshot::parse(text) else {
        return false;
    };
    let options = Options::new("server");
    let (tokens, diagnostics) = Bindings::generate(&snapshot, &options);
    let (tools, described) = Bindings::describe(&snapshot, &options);
    assert_eq!(diagnostics, described);
    let text = format(tokens).expect("generated code is Rust");
    for tool in tools {
        assert!(text.contains(&format!("pub async fn {}(", tool.handler)), "{tool:?} is not in the bindings");
        let params = [format!("pub struct {}", tool.params_type), format!("pub enum {}", tool.params_type)];
        assert!(params.iter().any(|params| text.contains(params)), "{tool:?} has no parameters");
    }
    // Diagnostics go to terminals, and find their place in any text.
    for diagnostic in &diagnostics {
        assert!(!diagnostic.to_string().contains(char::is_control), "{diagnostic:?}");
    }
    true
}
