//! One change to one tool, made as the seed says.

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::Role;
use mcp_samples::corpus::{List, Samples};
use mcp_samples::{Fallible, Random, schema_key, schema_of};
use serde_json::{Value, json};

use crate::drift::judge::compile;
use crate::drift::kinds::{Effect, Kind, Mutation, Spot, rewritings};
use crate::drift::site::{is_monotone, sites};

/// Larger schemas are left to the comparison of the whole corpus with itself.
const LARGEST_SCHEMA: usize = 24_000;
/// Tools, and places in each, that are tried before a kind is said not to apply.
const TOOLS_TRIED: usize = 400;
const SITES_TRIED: usize = 12;

/// A schema of a real tool, and values that are valid under it.
pub(crate) struct Subject {
    pub(crate) list: String,
    pub(crate) tool: Value,
    pub(crate) role: Role,
    pub(crate) instances: Vec<Value>,
}

/// The schemas of the corpus that a validator takes.
pub(crate) fn subjects(lists: &[List]) -> Fallible<Vec<Subject>> {
    let mut found = Vec::new();
    for list in lists {
        for line in &list.samples {
            let Samples { index, role, valid: instances, .. } = Samples::parse(line)?;
            let Some(schema) = list.schema(index, role) else { continue };
            if is_of_a_known_dialect(schema) && schema.to_string().len() <= LARGEST_SCHEMA && compile(schema).is_some()
            {
                let tool = list.snapshot.tools.get(index).cloned().unwrap_or_default();
                found.push(Subject { list: list.name.clone(), tool, role, instances });
            }
        }
    }
    Ok(found)
}

/// Before draft 7, half of the keywords that are changed here mean nothing.
fn is_of_a_known_dialect(schema: &Value) -> bool {
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    schema.is_object() && !["draft-03", "draft-04", "draft-06"].iter().any(|old| dialect.contains(old))
}

/// A kind of change, in one direction.
#[derive(Clone, Copy)]
pub(crate) struct Direction {
    pub(crate) kind: Kind,
    pub(crate) back: bool,
}

impl Direction {
    pub(crate) fn name(&self) -> &'static str {
        self.kind.back.filter(|_| self.back).unwrap_or(self.kind.name)
    }
}

/// Every kind, there and back.
pub(crate) fn directions() -> Vec<Direction> {
    let both = |kind: Kind| {
        let back = kind.back.map(|_| Direction { kind, back: true });
        std::iter::once(Direction { kind, back: false }).chain(back)
    };
    crate::drift::kinds::all().into_iter().flat_map(both).collect()
}

/// A schema before and after.
pub(crate) struct Case<'s> {
    pub(crate) subject: &'s Subject,
    pub(crate) mutation: Mutation,
    pub(crate) is_harmless: bool,
    pub(crate) is_wording: bool,
}

impl Case<'_> {
    /// The tool as a list of one, before and after.
    pub(crate) fn snapshots(&self) -> (Snapshot, Snapshot) {
        let with = |schema: &Value| {
            let mut tool = self.subject.tool.clone();
            if let Value::Object(tool) = &mut tool {
                tool.insert(schema_key(self.subject.role).to_owned(), schema.clone());
            }
            Snapshot { tools: vec![tool], ..Snapshot::default() }
        };
        (with(&self.mutation.old), with(&self.mutation.new))
    }

    /// Returns the data needed to inspect the case by hand.
    pub(crate) fn to_json(&self) -> Value {
        let Mutation { old, new, old_place, .. } = &self.mutation;
        let name = self.subject.tool.get("name");
        json!({ "list": self.subject.list, "tool": name, "schema": schema_key(self.subject.role),
                "at": old_place, "old": old, "new": new })
    }
}

/// A case of that kind; `None` where no tool that was tried has a place for it.
pub(crate) fn case<'s>(
    direction: &Direction,
    role: Role,
    subjects: &'s [Subject],
    random: &mut Random,
) -> Option<Case<'s>> {
    for _ in 0..TOOLS_TRIED {
        let subject = random.pick(subjects).filter(|subject| subject.role == role);
        let found = subject.and_then(|subject| Some((subject, mutation(direction, subject, random)?)));
        if let Some((subject, mutation)) = found {
            let is_harmless = is_harmless(&mutation, role);
            let is_wording = mutation.effect == Effect::Wording;
            return Some(Case { subject, mutation, is_harmless, is_wording });
        }
    }
    None
}

pub(crate) fn mutation(direction: &Direction, subject: &Subject, random: &mut Random) -> Option<Mutation> {
    let mut document = schema_of(&subject.tool, subject.role)?.clone();
    // Real schemas say the same in many ways; these of the corpus shall too.
    if random.one_in(3) {
        for _ in 0..=random.below(2) {
            let rewriting = *random.pick(&rewritings())?;
            if let Some(mutation) = anywhere(&document, rewriting, random) {
                document = mutation.new;
            }
        }
    }
    let mutation = anywhere(&document, direction.kind.apply, random)?;
    let mutation = if direction.back { turned(mutation) } else { mutation };
    // As texts: the order of keys is a change, too.
    let (old, new) = (mutation.old.to_string(), mutation.new.to_string());
    (old != new && compile(&mutation.old).is_some() && compile(&mutation.new).is_some()).then_some(mutation)
}

fn anywhere(document: &Value, apply: crate::drift::kinds::Apply, random: &mut Random) -> Option<Mutation> {
    let sites = sites(document);
    for _ in 0..SITES_TRIED.min(sites.len() * 2) {
        let site = random.pick(&sites)?;
        let schema = document.pointer(&site.pointer)?.as_object()?;
        let mutation = apply(&mut Spot { document, site, schema, random });
        if mutation.is_some() {
            return mutation;
        }
    }
    None
}

fn turned(mutation: Mutation) -> Mutation {
    let Mutation { old, new, old_place, new_place, effect } = mutation;
    let effect = match effect {
        Effect::Loosens => Effect::Tightens,
        Effect::Tightens | Effect::TightensUndeclared => Effect::Loosens,
        effect => effect,
    };
    Mutation { old: new, new: old, old_place: new_place, new_place: old_place, effect }
}

/// Returns `true` if the kind of change guarantees that nothing breaks.
pub(crate) fn is_harmless(mutation: &Mutation, role: Role) -> bool {
    let is_monotone = || is_monotone(&mutation.old) && is_monotone(&mutation.new);
    match (mutation.effect, role) {
        (Effect::Equivalent | Effect::Wording, _) => true,
        (Effect::Loosens, Role::Input) | (Effect::Tightens, Role::Output) => is_monotone(),
        (Effect::TightensUndeclared, _) => is_monotone(),
        _ => false,
    }
}
