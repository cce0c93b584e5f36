//! Reports for machines.

use mcp_bindgen_schema::drift::{Change, Class, Witness};
use serde_json::{Value, json};

use super::{Difference, Entry, Fault, Since, Status};
use crate::output::{joined, present};

/// Returns all entries, by the names of the servers.
pub(crate) fn entries(entries: &[Entry]) -> Value {
    entries.iter().map(entry).collect()
}

fn entry(entry: &Entry) -> Value {
    // Without changes of content, only the format differs, and the text diff shows it.
    let diff = entry.diff.as_ref().filter(|_| entry.changes.is_empty());
    let texts = |faults: &[Fault]| (!faults.is_empty()).then(|| faults.iter().map(|fault| json!(fault.text)).collect());
    present([
        ("server", Some(json!(entry.server))),
        ("status", Some(json!(entry.status.name()))),
        ("path", entry.path.as_ref().map(|path| json!(path))),
        ("error", entry.error.as_ref().map(|error| json!(error.text))),
        ("changes", (entry.status != Status::Failed).then(|| entry.changes.iter().map(change).collect())),
        ("diff", diff.map(|diff| json!(diff))),
        ("misfits", texts(&entry.misfits)),
        ("faults", texts(&entry.faults)),
        ("since", entry.since.as_ref().map(became)),
    ])
}

fn became(since: &Since) -> Value {
    let changes: Value = since.changes().iter().map(change).collect();
    match &since.difference {
        Difference::Unknown(error) => json!({ "revision": since.revision, "error": error }),
        difference => json!({
            "revision": since.revision,
            "new": matches!(difference, Difference::Added),
            "removed": matches!(difference, Difference::Removed),
            "changes": changes,
        }),
    }
}

pub(crate) fn change(change: &Change) -> Value {
    let json = json!({
        "tool": change.tool,
        "rule": change.kind.id(),
        "kind": change.kind.name(),
        "class": change.class.name(),
        "breaking": change.class == Class::Breaking,
        "pointer": change.pointer,
        "detail": change.detail,
        "witness": change.witness.as_ref().map(witness),
    });
    let signatures = change.signatures.as_ref().map(|both| json!({ "old": both.old, "new": both.new }));
    let accepted = change
        .accepted
        .as_ref()
        .map(|accepted| json!({ "reason": accepted.reason, "until": accepted.until.map(|day| day.to_string()) }));
    joined(json, present([("signatures", signatures), ("accepted", accepted)]))
}

/// Formats `{"sent": ARGUMENTS}` or `{"answered": RESULT}`.
fn witness(witness: &Witness) -> Value {
    match witness {
        Witness::Sent(value) => json!({ "sent": value }),
        Witness::Answered(value) => json!({ "answered": value }),
        other => json!({ "value": other.value() }),
    }
}
