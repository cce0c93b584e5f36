//! Reports for machines.

use mcp_schema::drift::{Change, Class, Witness};
use serde_json::{Value, json};

use super::{Entry, Since, Status};

/// All entries, by the names of the servers.
pub(crate) fn entries(entries: &[Entry]) -> Value {
    entries.iter().map(entry).collect()
}

fn entry(entry: &Entry) -> Value {
    let mut json = json!({ "server": entry.server, "status": entry.status.name() });
    let Value::Object(fields) = &mut json else { return json };
    if let Some(path) = &entry.path {
        fields.insert("path".to_owned(), json!(path));
    }
    if let Some(error) = &entry.error {
        fields.insert("error".to_owned(), json!(error));
    }
    if entry.status != Status::Failed {
        fields.insert("changes".to_owned(), entry.changes.iter().map(change).collect());
    }
    for (key, said) in [("misfits", &entry.misfits), ("faults", &entry.faults)] {
        if !said.is_empty() {
            fields.insert(key.to_owned(), json!(said));
        }
    }
    if let Some(Since { revision, is_new, changes }) = &entry.since {
        let changes: Value = changes.iter().map(change).collect();
        fields.insert("since".to_owned(), json!({ "revision": revision, "new": is_new, "changes": changes }));
    }
    json
}

pub(crate) fn change(change: &Change) -> Value {
    json!({
        "tool": change.tool,
        "kind": change.kind.name(),
        "class": change.class.name(),
        "breaking": change.class == Class::Breaking,
        "pointer": change.pointer,
        "detail": change.detail,
        "witness": change.witness.as_ref().map(witness),
    })
}

/// `{"sent": ARGUMENTS}`, or `{"answered": RESULT}`.
fn witness(witness: &Witness) -> Value {
    match witness {
        Witness::Sent(value) => json!({ "sent": value }),
        Witness::Answered(value) => json!({ "answered": value }),
        other => json!({ "value": other.value() }),
    }
}
