//! Rules that hold for the differences between any two snapshots.

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::drift::{Change, diff};

use super::watchdog;

/// The separator of two snapshots in one text.
pub(crate) const SEPARATOR: &str = "\n---\n";

/// The one call of what is tested here.
fn changes(old: &Snapshot, new: &Snapshot) -> Vec<Change> {
    diff(old, new)
}

/// Compares two snapshots, or one with itself where the text is one: comparing ends, a snapshot does not differ from
/// itself, and what is said is fit for a terminal. Gives whether there were two.
pub(crate) fn check(text: &str) -> bool {
    let (old, new) = text.split_once(SEPARATOR).unwrap_or((text, text));
    let (Ok(old), Ok(new)) = (Snapshot::parse(old), Snapshot::parse(new)) else {
        return false;
    };
    watchdog::in_time(text, || {
        for snapshot in [&old, &new] {
            let itself = changes(snapshot, snapshot);
            assert!(itself.is_empty(), "{itself:?}");
        }
        for change in changes(&old, &new).into_iter().chain(changes(&new, &old)) {
            let witness = change.witness.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(!format!("{change}{witness}").contains(char::is_control), "{change:?}");
        }
    });
    true
}
