//! Two versions of one of a tool's schemas.

use serde_json::Value;

use super::change::{Change, ChangeKind, Class, Witness};
use super::failure::{Failure, Reason};
use super::inclusion::Inclusion;
use super::samples::Sampler;
use super::sent::Sent;
use super::types::schema_of;
use super::validity::{Formats, is_valid, is_valid_with};
use super::version::Version;
use super::{interface, messages, text_keywords};
use crate::normalize::Kinds;
use crate::texts::without_wording;
use crate::{Role, wrapper};

/// Returns the changes from one schema to the other.
pub(super) fn changes(tool: &str, role: Role, old: &Value, new: &Value) -> Vec<Change> {
    if old == new {
        return Vec::new();
    }
    let root = match role {
        Role::Input => "/inputSchema",
        Role::Output => "/outputSchema",
    };
    let mut changes = Vec::new();
    let (plain_old, plain_new) = (without_wording(old), without_wording(new));
    if plain_old != plain_new {
        changes = meaning(tool, role, root, old, new);
        if changes.is_empty() {
            let pointer = format!("{root}{}", text_keywords::narrowest(&plain_old, &plain_new));
            changes.push(Change::new(tool, Class::Compatible, ChangeKind::Other, pointer, "written differently"));
        }
    } else if old.get("default") != new.get("default") || !text_keywords::differences(old, new).is_empty() {
        // A default of `null` decides what absence means.
        changes = meaning(tool, role, root, old, new);
    }
    for (pointer, mut keywords) in text_keywords::differences(old, new) {
        let pointer = format!("{root}{pointer}");
        let is_told = |change: &Change| change.kind == ChangeKind::Deprecated && change.pointer == pointer;
        if keywords.contains(&"deprecated") && changes.iter().any(is_told) {
            keywords.retain(|keyword| *keyword != "deprecated");
        }
        if keywords.is_empty() {
            continue;
        }
        let detail = format!("another {}", keywords.join(", "));
        changes.push(Change::new(tool, Class::Wording, ChangeKind::SchemaWording, pointer, detail));
    }
    changes
}

/// Returns `true` if handlers return only the content of a wrapper.
fn is_unwrapped(schema: &Value, Version { document, .. }: &Version<'_>) -> bool {
    document.role == Role::Output && wrapper::wrapped_field(schema, document).is_some()
}

/// Arguments that fit a schema.
pub(super) fn arguments(schema: &Value) -> Option<Value> {
    let version = Version::read(schema, Role::Input);
    let types = schema_of(&version.document);
    let types = Version::without_shapes(&types, Role::Input);
    let values = Sampler::of(&version).values(&vec![version.root]);
    values.iter().find(|value| value.is_object() && is_valid(&types, types.root, value) == Some(true)).cloned()
}

/// Returns a structured result that the types of a schema do not read.
pub(super) fn unreadable(schema: &Value) -> Option<Value> {
    let types = schema_of(&Version::read(schema, Role::Output).document);
    let types = Version::without_shapes(&types, Role::Output);
    let values = [Value::Null, Value::Object(serde_json::Map::new()), "".into(), 0.into(), Value::Array(Vec::new())];
    values.into_iter().find(|value| is_valid(&types, types.root, value) == Some(false))
}

fn meaning(tool: &str, role: Role, root: &str, old_schema: &Value, new_schema: &Value) -> Vec<Change> {
    let (old, new) = (Version::read(old_schema, role), Version::read(new_schema, role));
    let types = schema_of(&old.document);
    let types = Version::without_shapes(&types, role);
    let mut failures = match role {
        Role::Input => Inclusion::of(&old, &new).failures(Kinds::OBJECT, &Sent::by(&old.document)),
        Role::Output => Inclusion::read_by(&types, &new).failures(Kinds::ALL, &Sent::Anything),
    };
    let is_cut = |version: &Version<'_>| version.document.schemas.is_cut();
    // A cut schema of the types allows more results than they read, and would hide failures.
    if role == Role::Output && is_cut(&types) || failures.is_empty() && (is_cut(&old) || is_cut(&new)) {
        failures.push(Failure::new(Reason::Undecided, Vec::new()));
    }
    let mut changes = Vec::new();
    let mut proof = Proof { role, old: &old, new: &new, types: &types, general: None };
    for failure in failures {
        let (kind, detail) = match role {
            Role::Input => messages::refused(&failure.reason),
            Role::Output => messages::unread(&failure.reason),
        };
        let pointer = format!("{root}{}", failure.pointer());
        let witness = proof.of(&failure);
        changes.push(Change { witness, ..Change::new(tool, Class::Breaking, kind, pointer, detail) });
    }
    let [was, is] = [(old_schema, &old), (new_schema, &new)].map(|(schema, version)| is_unwrapped(schema, version));
    if was != is {
        let detail = if is {
            "a wrapper now: handlers return `result` instead of the whole result"
        } else {
            "no wrapper any more: handlers return the whole result instead of `result`"
        };
        changes.push(Change::new(tool, Class::Source, ChangeKind::Wrapper, root, detail));
    }
    let is_told = |changes: &[Change], pointer: &str| changes.iter().any(|change| change.pointer == pointer);
    for difference in interface::differences(&old.document, &new.document) {
        let pointer = format!("{root}{}", difference.pointer);
        let is_told = || changes.iter().any(|change| change.class == Class::Breaking && change.pointer == pointer);
        // The compiler does not report a silent change, even if it reports other changes of the same place.
        if difference.class == Class::Silent || !is_told() {
            changes.push(Change { tool: tool.to_owned(), pointer, ..difference });
        }
    }
    if role == Role::Input {
        for failure in Inclusion::of(&new, &old).failures(Kinds::OBJECT, &Sent::Anything) {
            let (kind, detail) = messages::accepted(&failure.reason);
            let pointer = format!("{root}{}", failure.pointer());
            if !is_told(&changes, &pointer) {
                changes.push(Change::new(tool, Class::Compatible, kind, pointer, detail));
            }
        }
    }
    changes
}

/// Looks for the value that proves a failure.
struct Proof<'p> {
    role: Role,
    old: &'p Version<'p>,
    new: &'p Version<'p>,
    /// The values that the old types send, or read.
    types: &'p Version<'p>,
    /// The witness of any failure, once it was searched.
    general: Option<Option<Value>>,
}

impl<'p> Proof<'p> {
    /// Returns the version whose values are proofs.
    fn source(&self) -> &'p Version<'p> {
        match self.role {
            Role::Input => self.old,
            Role::Output => self.new,
        }
    }

    fn of(&mut self, failure: &Failure) -> Option<Witness> {
        let own = self.best(&failure.candidates);
        let value = own.or_else(|| self.general())?;
        Some(match self.role {
            Role::Input => Witness::Sent(value),
            Role::Output => Witness::Answered(value),
        })
    }

    fn proves(&self, value: &Value) -> bool {
        let is = |version: &Version<'_>, valid| is_valid(version, version.root, value) == Some(valid);
        match self.role {
            Role::Input => value.is_object() && is(self.new, false) && is(self.old, true) && is(self.types, true),
            Role::Output => is(self.types, false) && is(self.new, true),
        }
    }

    /// Returns the first proof that holds for validators that check every format, too, or else the first.
    fn best(&self, values: &[Value]) -> Option<Value> {
        let mut first = None;
        for value in values {
            if !self.proves(value) {
                continue;
            }
            if self.holds_for_all(value) {
                return Some(value.clone());
            }
            first.get_or_insert(value);
        }
        first.cloned()
    }

    fn holds_for_all(&self, value: &Value) -> bool {
        let source = self.source();
        is_valid_with(Formats::All, source, source.root, value) == Some(true)
    }

    fn general(&mut self) -> Option<Value> {
        if self.general.is_none() {
            let source = self.source();
            let values = Sampler::of(source).values(&vec![source.root]);
            self.general = Some(self.best(&values));
        }
        self.general.clone().flatten()
    }
}
