//! Reports for machines.

use mcp_bindgen_schema::drift::{Change, Class, Witness};
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
        fields.insert("error".to_owned(), json!(error.text));
    }
    if entry.status != Status::Failed {
        fields.insert("changes".to_owned(), entry.changes.iter().map(change).collect());
    }
    // Where nothing is another thing it is written in another way, and this is all that can be said of it.
    if let Some(diff) = entry.diff.as_ref().filter(|_| entry.changes.is_empty()) {
        fields.insert("diff".to_owned(), json!(diff));
    }
    for (key, said) in [("misfits", &entry.misfits), ("faults", &entry.faults)] {
        if !said.is_empty() {
            fields.insert(key.to_owned(), said.iter().map(|fault| json!(fault.text)).collect());
        }
    }
    if let Some(since) = &entry.since {
        fields.insert("since".to_owned(), became(since));
    }
    json
}

fn became(since: &Since) -> Value {
    if let Some(error) = &since.error {
        return json!({ "revision": since.revision, "error": error });
    }
    let changes: Value = since.changes.iter().map(change).collect();
    json!({ "revision": since.revision, "new": since.is_new, "removed": since.is_gone, "changes": changes })
}

pub(crate) fn change(change: &Change) -> Value {
    let mut json = json!({
        "tool": change.tool,
        "rule": change.kind.id(),
        "kind": change.kind.name(),
        "class": change.class.name(),
        "breaking": change.class == Class::Breaking,
        "pointer": change.pointer,
        "detail": change.detail,
        "witness": change.witness.as_ref().map(witness),
    });
    if let (Some(both), Value::Object(fields)) = (&change.signatures, &mut json) {
        fields.insert("signatures".to_owned(), json!({ "old": both.old, "new": both.new }));
    }
    if let (Some(accepted), Value::Object(fields)) = (&change.accepted, &mut json) {
        let until = accepted.until.map(|day| day.to_string());
        fields.insert("accepted".to_owned(), json!({ "reason": accepted.reason, "until": until }));
    }
    json
}

/// `{"sent": ARGUMENTS}`, or `{"answered": RESULT}`.
fn witness(witness: &Witness) -> Value {
    match witness {
        Witness::Sent(value) => json!({ "sent": value }),
        Witness::Answered(value) => json!({ "answered": value }),
        other => json!({ "value": other.value() }),
    }
}
