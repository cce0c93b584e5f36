//! A schema document with everything that its rewriting asks about it.

use std::collections::{HashMap, HashSet, VecDeque};

use mcp_bindgen_model::is_beyond_doubles;
use serde_json::Value;

use super::names::Aliases;
use super::words;
use crate::bundle::lookup;
use crate::diagnostics::Reporter;
use crate::drift::inclusion::Inclusion;
use crate::drift::version::Version;
use crate::normalize::{Condition, Kinds, SchemaId};
use crate::shape::{Shape, ShapeId, Slot, StructShape, UnionShape, Unknown};
use crate::{Document, Role};

/// More schemas than this do not hold together at one place.
const MOST_HOLDING: usize = 96;
/// Schemas that lead back to themselves are followed this far.
const DEEPEST: usize = 8;

/// An assertion of a schema that shapes do not contain.
pub(super) struct Constraint {
    pub(super) schema: SchemaId,
    pub(super) keyword: &'static str,
    pub(super) value: Value,
}

/// Reads a schema of arguments.
pub(super) fn read(schema: &Value) -> Version<'_> {
    Version::of(Document::read(schema, Role::Input, &mut Reporter::new("", 0, "")))
}

impl<'a> Version<'a> {
    pub(super) fn shape(&self, id: ShapeId) -> &Shape {
        self.document.shapes.get(id)
    }

    pub(super) fn origin(&self, id: ShapeId) -> &[SchemaId] {
        self.document.shapes.origin(id)
    }

    /// Returns the pointer of the first schema of a place.
    pub(super) fn pointer(&self, place: &[SchemaId]) -> String {
        place.first().map(|id| self.document.schemas.pointer(*id).to_owned()).unwrap_or_default()
    }

    /// Returns the schemas that hold for each value of these kinds at a place, the nearest first: references and
    /// `allOf` followed, and the branch that is the only one of these kinds.
    pub(super) fn holding(&self, place: &[SchemaId], kinds: Kinds) -> Vec<SchemaId> {
        let mut found = Vec::new();
        let mut pending: VecDeque<SchemaId> = place.iter().copied().collect();
        while let Some(id) = pending.pop_front() {
            if found.contains(&id) || found.len() >= MOST_HOLDING {
                continue;
            }
            found.push(id);
            let node = self.node(id);
            pending.extend(&node.parts);
            for choice in &node.choices {
                let mut fitting = choice.branches.iter().filter(|branch| self.allows(**branch, kinds, 0));
                if let (Some(only), None) = (fitting.next(), fitting.next()) {
                    pending.push_back(*only);
                }
            }
        }
        found
    }

    /// Returns `true` if a value of these kinds may be valid, by types and listed values.
    fn allows(&self, id: SchemaId, kinds: Kinds, depth: usize) -> bool {
        let node = self.node(id);
        let allows = |part: &SchemaId| self.allows(*part, kinds, depth + 1);
        !node.never
            && node.kinds.is_none_or(|own| own.intersects(kinds))
            && node.allowed.as_ref().is_none_or(|values| values.iter().any(|value| kinds.intersects(Kinds::of(value))))
            && (depth > DEEPEST
                || (node.parts.iter().all(allows)
                    && node.choices.iter().all(|choice| choice.branches.iter().any(allows))))
    }

    /// Returns the kinds that schemas which hold together allow by their types.
    pub(super) fn kinds_of(&self, holding: &[SchemaId]) -> Kinds {
        holding.iter().filter_map(|id| self.node(*id).kinds).fold(Kinds::ALL, Kinds::intersection)
    }

    /// Returns `true` if a schema explicitly allows undeclared keys; a schema that does not mention them does not
    /// count.
    fn says_open(&self, place: &[SchemaId]) -> bool {
        self.holding(place, Kinds::OBJECT).into_iter().any(|id| {
            let node = self.node(id);
            node.open_ended || !node.patterns.is_empty() || node.additional.is_some_and(|other| !self.node(other).never)
        })
    }

    /// Returns the slot of undeclared properties that an object keeps because the schema allows them explicitly.
    pub(super) fn kept(&self, id: ShapeId, object: &StructShape) -> Option<Slot> {
        object.unknown.kept().filter(|slot| !self.is_anything(slot.shape) || self.says_open(self.origin(id)))
    }

    /// Returns `true` if an object takes keys that it does not declare: because the schema says so, or declares none at
    /// all.
    pub(super) fn takes_others(&self, id: ShapeId, object: &StructShape) -> bool {
        object.unknown != Unknown::Deny
            && (declared(object).next().is_none() || self.kept(id, object).is_some() || self.says_open(self.origin(id)))
    }

    /// Returns the aliases of properties whose names a provider does not take.
    pub(super) fn aliases(&self) -> Aliases {
        let objects = self.document.shapes.ids().filter_map(|id| match self.shape(id) {
            Shape::Struct(object) => Some((object, self.takes_others(id, object))),
            _ => None,
        });
        Aliases::of(objects.flat_map(|(object, is_open)| declared(object).map(move |name| (name, is_open))))
    }

    /// Returns the values of the tags of branches.
    pub(super) fn tags(&self) -> HashMap<ShapeId, Value> {
        let mut tags = HashMap::new();
        for id in self.document.shapes.ids() {
            if let Shape::Union(UnionShape { tag: Some(key), branches }) = self.shape(id) {
                let value = |tag: &Option<String>| key.value(tag.as_deref().unwrap_or_default());
                tags.extend(branches.iter().map(|branch| (branch.shape, value(&branch.tag))));
            }
        }
        tags
    }

    /// Returns the schemas of the keys of an object that match patterns.
    pub(super) fn pattern_schemas(&self, id: ShapeId) -> Vec<SchemaId> {
        let holding = self.holding(self.origin(id), Kinds::OBJECT);
        holding.iter().flat_map(|id| self.assertions(*id).patterns.iter().map(|(_, schema)| *schema)).collect()
    }

    /// Returns `true` if a shape is any value at all.
    pub(super) fn is_anything(&self, id: ShapeId) -> bool {
        matches!(self.shape(id), Shape::Anything)
    }

    /// Returns the schemas that values are held against: all but definitions that nothing refers to, and conditions.
    pub(super) fn reachable(&self) -> Vec<SchemaId> {
        let (mut found, mut seen) = (vec![SchemaId::ROOT], HashSet::from([SchemaId::ROOT]));
        let mut place = 0;
        while let Some(id) = found.get(place).copied() {
            let (node, assertions) = (self.node(id), self.assertions(id));
            let parts = node.additional.iter().chain(&node.items).chain(&node.prefix_items).chain(&node.parts);
            let parts = parts.chain(node.choices.iter().flat_map(|choice| &choice.branches));
            let below = node.properties.iter().map(|(_, schema)| schema).chain(parts);
            let below = below.chain(assertions.patterns.iter().map(|(_, schema)| schema));
            found.extend(below.filter(|id| seen.insert(**id)));
            place += 1;
        }
        found
    }

    /// Returns `true` if no value fits two of the branches of this schema.
    pub(super) fn exclude_each_other(&self, holder: SchemaId, branches: &[SchemaId]) -> bool {
        let mut inclusion = Inclusion::of(self, self);
        branches.iter().enumerate().all(|(index, left)| {
            let both = vec![*left, holder];
            branches.iter().skip(index + 1).all(|right| inclusion.excludes(&both, *right))
        })
    }

    /// Returns the assertions of schemas about values of these kinds. An assertion that cannot be printed has the value
    /// `null`.
    pub(super) fn constraints(&self, schemas: &[SchemaId], kinds: Kinds) -> Vec<Constraint> {
        use Kinds as Of;
        let mark = |is_said: bool| is_said.then_some(Value::Null);
        let has_branch = |condition: &Condition| condition.then.or(condition.otherwise).is_some();
        let mut found = Vec::new();
        for schema in schemas.iter().copied() {
            let assertions = self.assertions(schema);
            let negated = || self.keyword(schema, "not").cloned().unwrap_or_default();
            let mut said = assertions.keywords(self.node(schema));
            said.retain(|(.., value)| !is_beyond_doubles(value));
            let others = [
                (Of::STRING, "format", self.word(schema, "format")),
                (Of::STRING, "contentEncoding", self.word(schema, "contentEncoding")),
                (Of::ARRAY, "contains", mark(assertions.contains.is_some())),
                (Of::OBJECT, "propertyNames", mark(assertions.property_names.is_some())),
                (Of::OBJECT, "patternProperties", mark(!assertions.patterns.is_empty())),
                (Of::OBJECT, "dependentSchemas", mark(!assertions.dependent_schemas.is_empty())),
                (Of::ALL, "not", assertions.not.map(|_| negated())),
                (Of::ALL, "if", mark(assertions.condition.as_ref().is_some_and(has_branch))),
                (Of::ALL, "unevaluated", mark(assertions.unevaluated.is_some())),
                (Of::ALL, "$ref", mark(assertions.unresolved.is_some())),
            ];
            said.extend(others.into_iter().filter_map(|(of, keyword, value)| Some((of, keyword, value?))));
            said.retain(|(of, ..)| kinds.intersects(*of));
            found.extend(said.into_iter().map(|(_, keyword, value)| Constraint { schema, keyword, value }));
        }
        found
    }

    fn keyword(&self, schema: SchemaId, name: &str) -> Option<&'a Value> {
        lookup(self.document.schemas.source(schema)?, name)
    }

    /// Returns the value of a string keyword, if it is a single word.
    fn word(&self, schema: SchemaId, keyword: &str) -> Option<Value> {
        const LONGEST: usize = 40;
        let word = self.keyword(schema, keyword)?.as_str()?;
        let is_part = |char: char| char.is_ascii_alphanumeric() || "-_/.+".contains(char);
        (!word.is_empty() && word.len() <= LONGEST && word.chars().all(is_part)).then(|| word.into())
    }

    /// Returns the first description of schemas, or a title that says more than the name.
    pub(super) fn description(&self, schemas: &[SchemaId], name: &str) -> Option<&'a str> {
        let text = |keyword| {
            let mut texts = schemas.iter().filter_map(|id| self.keyword(*id, keyword)?.as_str());
            texts.find(|text| !text.trim().is_empty())
        };
        let plain = |text: &str| {
            text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>()
        };
        // Generators of schemas make titles of names, and of the names of their types.
        let says_more = |title: &&str| !name.is_empty() && title.contains(' ') && plain(title) != plain(name);
        text("description").or_else(|| text("title").filter(says_more))
    }

    /// Returns the default, if it is a plain valid value that differs from absence.
    pub(super) fn default(&self, schemas: &[SchemaId]) -> Option<&'a Value> {
        let default = schemas.iter().find_map(|id| self.keyword(*id, "default"))?;
        let is_plain = !default.is_null() && !default.is_array() && !default.is_object() && !is_beyond_doubles(default);
        let mut listed = schemas.iter().filter_map(|id| self.node(*id).allowed.as_ref());
        let is_valid = self.kinds_of(schemas).intersects(Kinds::of(default)) && listed.all(|it| it.contains(default));
        (is_plain && is_valid).then_some(default)
    }

    /// Returns the texts for people: examples, and that a value is deprecated.
    pub(super) fn hints(&self, schemas: &[SchemaId]) -> impl Iterator<Item = String> {
        const MOST_EXAMPLES: usize = 3;
        let found = |keyword| schemas.iter().find_map(|id| self.keyword(*id, keyword));
        let examples = found("examples").and_then(Value::as_array).filter(|examples| !examples.is_empty());
        let few = |all: &Vec<Value>| words::of("examples", &all.iter().take(MOST_EXAMPLES).cloned().collect());
        let deprecated = found("deprecated").filter(|mark| **mark == Value::Bool(true));
        examples.and_then(few).into_iter().chain(deprecated.map(|_| "deprecated".to_owned()))
    }
}

/// Returns the keys of an object.
pub(super) fn declared(object: &StructShape) -> impl Iterator<Item = &str> {
    object.fields.iter().map(|field| field.wire.as_str()).chain(object.tag.as_deref())
}
