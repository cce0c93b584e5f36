//! Two versions of one of a tool's schemas.

use std::cell::OnceCell;

use serde_json::{Value, json};

use super::change::{Change, ChangeKind, Class, Witness};
use super::failure::{Failure, Reason};
use super::inclusion::Inclusion;
use super::samples::Sampler;
use super::types::{Sent, schema_of};
use super::validity::{is_valid, is_valid_for_all};
use super::version::Version;
use super::{interface, messages};
use crate::bundle::{NAMED_SCHEMAS, push};
use crate::normalize::{Kinds, SchemaId, WORDING};
use crate::texts::{DATA, without_wording};
use crate::{Role, wrapper};

/// Returns the changes from one schema to the other.
pub(super) fn changes(tool: &str, role: Role, old: &Value, new: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    if old == new {
        return changes;
    }
    let root = match role {
        Role::Input => "/inputSchema",
        Role::Output => "/outputSchema",
    };
    let (plain_old, plain_new) = (without_wording(old), without_wording(new));
    let worded = differences(old, new);
    // A default of `null` decides what absence means.
    if plain_old != plain_new || old.get("default") != new.get("default") || !worded.is_empty() {
        changes = meaning(tool, role, root, old, new);
    }
    if plain_old != plain_new && changes.is_empty() {
        let pointer = format!("{root}{}", narrowest(&plain_old, &plain_new));
        changes.push(Change::new(tool, Class::Compatible, ChangeKind::Other, pointer, "written differently"));
    }
    for (pointer, mut keywords) in worded {
        let pointer = format!("{root}{pointer}");
        let is_told = |change: &Change| change.kind == ChangeKind::Deprecated && change.pointer == pointer;
        keywords.retain(|keyword| *keyword != "deprecated" || !changes.iter().any(is_told));
        if !keywords.is_empty() {
            let detail = format!("another {}", keywords.join(", "));
            changes.push(Change::new(tool, Class::Wording, ChangeKind::SchemaWording, pointer, detail));
        }
    }
    changes
}

/// Returns `true` if a value is valid under a whole document.
fn fits(version: &Version<'_>, value: &Value) -> Option<bool> {
    is_valid(version, SchemaId::ROOT, value)
}

/// Returns arguments that fit a schema.
pub(super) fn arguments(schema: &Value) -> Option<Value> {
    let version = Version::read(schema, Role::Input);
    let types = schema_of(&version.document);
    let types = Version::without_shapes(&types, Role::Input);
    let values = Sampler::of(&version).values(&vec![SchemaId::ROOT]);
    values.iter().find(|value| value.is_object() && fits(&types, value) == Some(true)).cloned()
}

/// Returns a structured result that the types of a schema do not read.
pub(super) fn unreadable(schema: &Value) -> Option<Value> {
    let types = schema_of(&Version::read(schema, Role::Output).document);
    let types = Version::without_shapes(&types, Role::Output);
    let values = [Value::Null, json!({}), json!(""), json!(0), json!([])];
    values.into_iter().find(|value| fits(&types, value) == Some(false))
}

fn meaning(tool: &str, role: Role, root: &str, old_schema: &Value, new_schema: &Value) -> Vec<Change> {
    let (old, new) = (Version::read(old_schema, role), Version::read(new_schema, role));
    let types = schema_of(&old.document);
    let types = Version::without_shapes(&types, role);
    let (mut failures, proof) = match role {
        Role::Input => {
            let failures = Inclusion::of(&old, &new).failures(Kinds::OBJECT, &Sent::by(&old.document));
            (failures, Proof { source: &old, fits: Some(&types), fails: &new, general: OnceCell::new() })
        }
        Role::Output => {
            let failures = Inclusion::read_by(&types, &new).failures(Kinds::ALL, &Sent::anything());
            (failures, Proof { source: &new, fits: None, fails: &types, general: OnceCell::new() })
        }
    };
    let is_cut = |version: &Version<'_>| version.document.schemas.is_cut();
    // A cut schema of the types allows more results than they read, and would hide failures.
    if role == Role::Output && is_cut(&types) || failures.is_empty() && (is_cut(&old) || is_cut(&new)) {
        failures.push(Failure::new(Reason::Undecided, Vec::new()));
    }
    let mut changes = Vec::new();
    for failure in failures {
        let ((kind, detail), witness): (_, fn(Value) -> Witness) = match role {
            Role::Input => (messages::of_arguments(&failure.reason, false), Witness::Sent),
            Role::Output => (messages::of_results(&failure.reason), Witness::Answered),
        };
        let witness = proof.of(&failure).map(witness);
        let pointer = format!("{root}{}", failure.pointer());
        changes.push(Change { witness, ..Change::new(tool, Class::Breaking, kind, pointer, detail) });
    }
    // Handlers return only the content of a wrapper.
    let is_wrapper = |schema, version: &Version<'_>| {
        role == Role::Output && wrapper::wrapped_field(schema, &version.document).is_some()
    };
    let detail = match (is_wrapper(old_schema, &old), is_wrapper(new_schema, &new)) {
        (false, true) => Some("a wrapper now: handlers return `result` instead of the whole result"),
        (true, false) => Some("no wrapper any more: handlers return the whole result instead of `result`"),
        _ => None,
    };
    changes.extend(detail.map(|detail| Change::new(tool, Class::Source, ChangeKind::Wrapper, root, detail)));
    for difference in interface::differences(tool, root, &old.document, &new.document) {
        let is_same = |change: &Change| change.class == Class::Breaking && change.pointer == difference.pointer;
        // The compiler does not report a silent change, even if it reports other changes of the same place.
        if difference.class == Class::Silent || !changes.iter().any(is_same) {
            changes.push(difference);
        }
    }
    if role == Role::Input {
        for failure in Inclusion::of(&new, &old).failures(Kinds::OBJECT, &Sent::anything()) {
            let (kind, detail) = messages::of_arguments(&failure.reason, true);
            let pointer = format!("{root}{}", failure.pointer());
            if !changes.iter().any(|change| change.pointer == pointer) {
                changes.push(Change::new(tool, Class::Compatible, kind, pointer, detail));
            }
        }
    }
    changes
}

/// Looks for the value that proves a failure.
struct Proof<'p> {
    /// The version whose values are proofs.
    source: &'p Version<'p>,
    /// The types that send the value.
    fits: Option<&'p Version<'p>>,
    /// The version under which the value is invalid.
    fails: &'p Version<'p>,
    /// The witness of any failure, once it was searched.
    general: OnceCell<Option<Value>>,
}

impl Proof<'_> {
    fn of(&self, failure: &Failure) -> Option<Value> {
        let general = || self.best(&Sampler::of(self.source).values(&vec![SchemaId::ROOT]));
        self.best(&failure.candidates).or_else(|| self.general.get_or_init(general).clone())
    }

    fn proves(&self, value: &Value) -> bool {
        fits(self.fails, value) == Some(false)
            && fits(self.source, value) == Some(true)
            && self.fits.is_none_or(|types| value.is_object() && fits(types, value) == Some(true))
    }

    /// Returns the first proof that holds for validators that check every format, too, or else the first.
    fn best(&self, values: &[Value]) -> Option<Value> {
        let mut proofs = values.iter().filter(|value| self.proves(value));
        let first = proofs.next()?;
        let mut all = std::iter::once(first).chain(proofs);
        Some(all.find(|value| is_valid_for_all(self.source, value)).unwrap_or(first).clone())
    }
}

/// Pointers, each with the keywords whose texts differ there.
type Differences = Vec<(String, Vec<&'static str>)>;

/// Returns the pointers where descriptive texts differ, with the keywords of those texts.
fn differences(old: &Value, new: &Value) -> Differences {
    let mut found = Vec::new();
    compare(old, new, false, &mut String::new(), &mut found, 0);
    found
}

/// Compares two schemas, or with `is_table` two tables of schemas by name.
fn compare(old: &Value, new: &Value, is_table: bool, pointer: &mut String, found: &mut Differences, depth: usize) {
    const DEEPEST: usize = 200;
    let mut inner = Vec::new();
    match (old, new) {
        (Value::Object(left), Value::Object(right)) => {
            let changed = WORDING.into_iter().filter(|key| !is_table && left.get(*key) != right.get(*key));
            let changed: Vec<&str> = changed.collect();
            if !changed.is_empty() {
                found.push((pointer.clone(), changed));
            }
            let is_schema = |key: &str| is_table || !(WORDING.contains(&key) || DATA.contains(&key));
            for (key, value) in left.iter().filter(|(key, _)| is_schema(key)) {
                let is_table = !is_table && NAMED_SCHEMAS.contains(&key.as_str());
                inner.extend(right.get(key).map(|other| (key.clone(), value, other, is_table)));
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            let pairs = left.iter().zip(right).enumerate();
            inner.extend(pairs.map(|(index, (value, other))| (index.to_string(), value, other, false)));
        }
        _ => {}
    }
    for (step, value, other, is_table) in inner.into_iter().filter(|_| depth < DEEPEST) {
        let outside = pointer.len();
        push(pointer, &step);
        compare(value, other, is_table, pointer, found, depth + 1);
        pointer.truncate(outside);
    }
}

/// Returns the innermost place that holds every difference of two texts.
fn narrowest(mut old: &Value, mut new: &Value) -> String {
    let mut pointer = String::new();
    loop {
        let pairs: Vec<(String, &Value, Option<&Value>)> = match (old, new) {
            (Value::Object(left), Value::Object(right)) if left.len() == right.len() => {
                left.iter().map(|(key, value)| (key.clone(), value, right.get(key))).collect()
            }
            (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
                let pairs = left.iter().zip(right).enumerate();
                pairs.map(|(index, (value, other))| (index.to_string(), value, Some(other))).collect()
            }
            _ => return pointer,
        };
        let mut differing = pairs.into_iter().filter(|(_, value, other)| *other != Some(*value));
        let (Some((step, value, Some(other))), None) = (differing.next(), differing.next()) else { return pointer };
        push(&mut pointer, &step);
        (old, new) = (value, other);
    }
}
