//! Schemas with alternatives: `anyOf`, `oneOf`, and `null` beside something else.

use serde_json::{Map, Value};

use super::ChangeKind;
use super::keywords::without_wording;
use super::schema::{Comparison, Side};

const UNIONS: [&str; 2] = ["anyOf", "oneOf"];

/// A schema apart from whether it lets `null` through.
pub(super) struct Core {
    pub(super) schema: Map<String, Value>,
    pub(super) nullable: bool,
}

impl Core {
    pub(super) fn of(schema: &Map<String, Value>) -> Self {
        let mut schema = schema.clone();
        let mut nullable = schema.remove("nullable") == Some(Value::Bool(true));
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            let before = types.len();
            if before > 1 {
                types.retain(|name| name != "null");
                nullable |= types.len() < before;
            }
        }
        for key in UNIONS {
            let Some(Value::Array(branches)) = schema.get_mut(key) else {
                continue;
            };
            let before = branches.len();
            branches.retain(|branch| !is_null(branch));
            nullable |= branches.len() < before;
            if branches.len() == 1
                && let Some(Value::Object(only)) = branches.pop()
            {
                schema.remove(key);
                schema.extend(only);
            }
        }
        Self { schema, nullable }
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
}

/// The alternatives of a schema, and the keyword that lists them.
pub(super) fn branches(schema: &Map<String, Value>) -> Option<(&'static str, &[Value])> {
    UNIONS.iter().find_map(|key| Some((*key, schema.get(*key)?.as_array()?.as_slice())))
}

impl Comparison<'_> {
    /// Compares the alternatives; a schema without any counts as the only one.
    pub(super) fn compare_branches(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        let alternatives = |schema: &Map<String, Value>| match branches(schema) {
            Some((_, branches)) => branches.to_vec(),
            None => vec![Value::Object(schema.clone())],
        };
        let (old_branches, new_branches) = (alternatives(old), alternatives(new));
        let mut unmatched: Vec<&Value> = new_branches.iter().collect();
        let mut gone: Vec<&Value> = Vec::new();
        let mut same: Vec<(&Value, &Value)> = Vec::new();
        for branch in &old_branches {
            let plain = without_wording(branch);
            match unmatched.iter().position(|candidate| without_wording(candidate) == plain) {
                Some(index) => same.push((branch, unmatched.remove(index))),
                None => gone.push(branch),
            }
        }
        let at = |branch: &Value| match branches(new).or(branches(old)) {
            Some((key, branches)) => {
                let index = branches.iter().position(|candidate| candidate == branch).unwrap_or_default();
                format!("{pointer}/{key}/{index}")
            }
            None => pointer.to_owned(),
        };
        // The text is the same; what it refers to may not be.
        for (old, new) in same {
            self.compare(old, new, &at(new));
        }
        match (gone.as_slice(), unmatched.as_slice()) {
            ([], []) => {}
            ([old], [new]) => self.compare(old, new, &at(new)),
            ([], added) => {
                let detail = format!("{} more alternatives", added.len());
                self.report(pointer, ChangeKind::Loosened, self.side == Side::Output, detail);
            }
            (gone, []) => {
                let detail = format!("{} alternatives are gone", gone.len());
                self.report(pointer, ChangeKind::Tightened, self.side == Side::Input, detail);
            }
            _ => self.report(pointer, ChangeKind::Retyped, true, "other alternatives".to_owned()),
        }
    }
}
