//! Reads the keywords of a schema into a [`Node`].

use mcp_bindgen_model::{TOO_DEEP, is_beyond_doubles};
use serde_json::{Map, Number, Value};

use super::scalars::{Limit, limits, whole};
use super::{Choice, Kinds, Node, SchemaId, Schemas};
use crate::bundle::{Draft, Target, below, lookup};
use crate::diagnostics::{
    CIRCULAR_REF, Code, DANGLING_REF, EXTERNAL_REF, LIMIT, MALFORMED_KEYWORD, NOT_IN_TYPES, Reporter, UNKNOWN_TYPE,
};
use crate::keys::distinct;
use crate::number::{same, smaller};

/// Keywords that describe a schema without restricting values.
pub(crate) const WORDING: [&str; 10] = [
    "title",
    "description",
    "examples",
    "example",
    "default",
    "$comment",
    "$schema",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Returns the strings of a list.
pub(super) fn texts_in(list: &[Value]) -> Vec<&str> {
    list.iter().filter_map(Value::as_str).collect()
}

/// Returns the keys that a schema declares beside a `$ref` that hides its siblings: they may be there, and be anything.
fn declared(map: &Map<String, Value>) -> Vec<String> {
    let mut names = Vec::new();
    if let Some(Value::Object(properties)) = lookup(map, "properties") {
        properties.keys().for_each(|key| names.push(key.as_str()));
    }
    if let Some(Value::Array(required)) = lookup(map, "required") {
        names.append(&mut texts_in(required));
    }
    distinct(&names)
}

fn holds_beyond(value: &Value) -> bool {
    match value {
        Value::Number(_) => is_beyond_doubles(value),
        Value::Array(items) => items.iter().any(holds_beyond),
        Value::Object(members) => members.values().any(holds_beyond),
        _ => false,
    }
}

/// Returns `true` if a schema may say something of an object's properties, so that it is worth reading for their names.
fn may_name_properties(schema: &Value) -> bool {
    const NAMING: [&str; 12] = [
        "properties",
        "required",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "$ref",
        "$dynamicRef",
    ];
    schema.as_object().is_some_and(|map| NAMING.iter().any(|keyword| lookup(map, keyword).is_some()))
}

/// The keywords of one schema, which are being read.
pub(super) struct Reading<'s, 'a> {
    pub(super) schemas: &'s mut Schemas<'a>,
    pub(super) map: &'a Map<String, Value>,
    pub(super) pointer: &'s str,
    pub(super) reporter: &'s mut Reporter,
}

impl Reading<'_, '_> {
    /// Reads what types express.
    pub(super) fn node(mut self) -> Node {
        let map = self.map;
        self.say_what_was_unreadable();
        let mut node = if self.draft().hides_siblings(map) {
            let named = declared(map);
            Node { narrows: !named.is_empty(), named, ..Node::default() }
        } else {
            self.keywords()
        };
        node.default_null = lookup(map, "default") == Some(&Value::Null);
        if let Some(target) = self.reference() {
            node.parts.insert(0, target);
            node.has_reference = true;
        }
        for keyword in
            ["not", "contains", "propertyNames", "dependentRequired", "unevaluatedProperties", "unevaluatedItems"]
        {
            if lookup(map, keyword).is_some() {
                self.reporter.say(NOT_IN_TYPES, self.pointer, format!("`{keyword}`"));
            }
        }
        node
    }

    pub(super) fn draft(&self) -> Draft {
        self.schemas.bundle.draft
    }

    fn keywords(&mut self) -> Node {
        let map = self.map;
        let mut node = Node { kinds: self.kinds(), allowed: self.allowed(), ..Node::default() };
        for limit in self.limits("minimum", "exclusiveMinimum") {
            node.least = node.least.max(Some(limit.least()));
        }
        for limit in self.limits("maximum", "exclusiveMaximum") {
            node.greatest = smaller(node.greatest, Some(limit.greatest()));
        }
        node.required = self.required();
        node.named = self.dependents();
        node.min_items = self.count("minItems").unwrap_or(0);
        node.max_items = self.count("maxItems");
        node.properties = self.named("properties");
        node.patterns = self.unnamed("patternProperties");
        node.additional = self.one("additionalProperties");
        node.open_ended = lookup(map, "unevaluatedProperties").is_some_and(|value| *value != Value::Bool(false));
        let (parts, mut choices) = (self.listed("allOf").unwrap_or_default(), Vec::new());
        for (keyword, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            choices.extend(self.listed(keyword).map(|branches| Choice { branches, is_exclusive }));
        }
        // Before 2020-12 the list is in `items`, and `prefixItems` is unknown.
        let is_list = lookup(map, "items").is_some_and(Value::is_array);
        let (list, rest) = if is_list { ("items", "additionalItems") } else { ("prefixItems", "items") };
        if is_list || self.draft() >= Draft::D2020 {
            node.prefix_items = self.listed(list).unwrap_or_default();
        }
        node.items = self.one(rest);
        for keyword in ["if", "then", "else"] {
            node.conditional.extend(self.since(Draft::D7, keyword));
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            node.conditional.append(&mut self.unnamed(keyword));
        }
        if lookup(map, "not").is_some_and(may_name_properties) {
            node.conditional.extend(self.one("not"));
        }
        node.narrows = node != Node::default();
        Node { parts, choices, ..node }
    }

    /// Reports the parts that could not be read and were replaced, by [`mcp_bindgen_model::parse_leniently`].
    fn say_what_was_unreadable(&mut self) {
        for (keyword, value) in self.map {
            let is_lossy = match keyword.as_str() {
                "enum" | "const" | "examples" | "default" => holds_beyond(value),
                _ => is_beyond_doubles(value),
            };
            if is_lossy {
                self.reporter.say(LIMIT, &below(self.pointer, keyword), "a number is beyond the range of doubles");
            } else if keyword == "$comment" && value.as_str() == Some(TOO_DEEP) {
                self.reporter.say(LIMIT, self.pointer, TOO_DEEP);
            }
        }
    }

    fn kinds(&mut self) -> Option<Kinds> {
        let kinds = match lookup(self.map, "type")? {
            Value::String(name) => self.kind(name)?,
            Value::Array(names) if !names.is_empty() => {
                let mut kinds = Some(Kinds::NONE);
                for name in names {
                    let kind = self.kind(name.as_str().unwrap_or_default());
                    kinds = kinds.and_then(|kinds| Some(kinds | kind?));
                }
                kinds?
            }
            other => return self.malformed("type", &format!("expected the name of a type, or several, found {other}")),
        };
        let nullable = lookup(self.map, "nullable") == Some(&Value::Bool(true));
        Some(if nullable { kinds | Kinds::NULL } else { kinds })
    }

    fn kind(&mut self, name: &str) -> Option<Kinds> {
        let kind = Kinds::named(name);
        if kind.is_none() {
            self.report(UNKNOWN_TYPE, "type", &format!("`{}`", name.escape_debug()));
        }
        kind
    }

    fn allowed(&mut self) -> Option<Vec<Value>> {
        let mut allowed = match lookup(self.map, "enum") {
            None => None,
            Some(Value::Array(values)) if values.is_empty() => self.malformed("enum", "expected at least one value"),
            Some(Value::Array(values)) => Some(values.clone()),
            Some(_) => self.malformed("enum", "expected an array"),
        };
        if let Some(only) = lookup(self.map, "const").filter(|_| self.draft() >= Draft::D6) {
            match &mut allowed {
                Some(listed) => listed.retain(|value| same(value, only)),
                None => allowed = Some(vec![only.clone()]),
            }
        }
        let mut allowed = allowed?;
        // No client can send or receive a number that no double holds.
        let count = allowed.len();
        allowed.retain(|value| !holds_beyond(value));
        (allowed.len() == count || !allowed.is_empty()).then_some(allowed)
    }

    fn number(&mut self, keyword: &str) -> Option<Number> {
        match lookup(self.map, keyword)? {
            value if is_beyond_doubles(value) => None,
            Value::Number(number) => Some(number.clone()),
            _ => self.malformed(keyword, "expected a number"),
        }
    }

    fn limits(&mut self, keyword: &str, exclusive: &str) -> Vec<Limit> {
        limits(self.map, keyword, exclusive, self.draft(), &mut |keyword| self.number(keyword))
    }

    fn required(&mut self) -> Vec<String> {
        let required = match lookup(self.map, "required") {
            // Draft 3 has a boolean on the property itself, which does not affect this object.
            None | Some(Value::Bool(_)) => None,
            Some(Value::Array(names)) => Some(names),
            Some(_) => self.malformed("required", "expected an array of names"),
        };
        let required = required.map_or(&[][..], Vec::as_slice);
        if !required.iter().all(Value::is_string) {
            self.malformed::<()>("required", "expected names of properties");
        }
        distinct(&texts_in(required))
    }

    /// Returns the keys on both sides of `dependentRequired` and its like.
    fn dependents(&self) -> Vec<String> {
        let mut names = Vec::new();
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let Some(Value::Object(table)) = lookup(self.map, keyword) else { continue };
            for (key, then) in table {
                names.push(key.as_str());
                names.append(&mut then.as_array().map(|then| texts_in(then)).unwrap_or_default());
            }
        }
        distinct(&names)
    }

    fn count(&mut self, keyword: &str) -> Option<u64> {
        self.number(keyword).and_then(|number| whole(&number.into()))
    }

    /// Reads a keyword whose value is a schema.
    pub(super) fn one(&mut self, keyword: &str) -> Option<SchemaId> {
        match lookup(self.map, keyword)? {
            value @ (Value::Object(_) | Value::Bool(_)) => {
                Some(self.schemas.reserve(below(self.pointer, keyword), value, self.reporter))
            }
            _ => self.malformed(keyword, "a schema is an object, `true` or `false`"),
        }
    }

    /// Reads a keyword of this dialect and later ones.
    pub(super) fn since(&mut self, first: Draft, keyword: &str) -> Option<SchemaId> {
        if self.draft() >= first { self.one(keyword) } else { None }
    }

    fn listed(&mut self, keyword: &str) -> Option<Vec<SchemaId>> {
        match lookup(self.map, keyword)? {
            Value::Array(items) if items.is_empty() && keyword != "items" => {
                self.malformed(keyword, "expected at least one schema")
            }
            Value::Array(items) => {
                let place = below(self.pointer, keyword);
                let schemas = items.iter().enumerate();
                let reserve = |(index, item)| self.schemas.reserve(format!("{place}/{index}"), item, self.reporter);
                Some(schemas.map(reserve).collect())
            }
            _ => self.malformed(keyword, "expected an array of schemas"),
        }
    }

    /// Reads a keyword whose value holds schemas by name.
    pub(super) fn named(&mut self, keyword: &str) -> Vec<(String, SchemaId)> {
        let Some(value) = lookup(self.map, keyword) else { return Vec::new() };
        let Value::Object(entries) = value else {
            return self.malformed(keyword, "expected an object of schemas").unwrap_or_default();
        };
        let place = below(self.pointer, keyword);
        // `dependencies` may also hold lists of names.
        let schemas = entries.iter().filter(|(_, schema)| !(keyword == "dependencies" && schema.is_array()));
        let mut reserve = |name: &str, schema| self.schemas.reserve(below(&place, name), schema, self.reporter);
        schemas.map(|(name, schema)| (name.clone(), reserve(name, schema))).collect()
    }

    fn unnamed(&mut self, keyword: &str) -> Vec<SchemaId> {
        self.named(keyword).into_iter().map(|(_, id)| id).collect()
    }

    /// Follows `$ref`, or `$dynamicRef` and `$recursiveRef` if their targets are known.
    fn reference(&mut self) -> Option<SchemaId> {
        let (bundle, map, pointer) = (&self.schemas.bundle, self.map, self.pointer);
        let text = |key: &str| lookup(map, key).and_then(Value::as_str).filter(|_| bundle.draft.refers_by(key));
        let (reference, target) = if let Some(reference) = text("$ref") {
            (reference, Some(bundle.resolve(pointer, reference)))
        } else if let Some(reference) = text("$dynamicRef") {
            (reference, bundle.resolve_dynamic(pointer, reference))
        } else if text("$recursiveRef").is_some() {
            ("#", (!bundle.has_dynamic_anchors()).then(|| bundle.resolve(pointer, "#")))
        } else {
            let malformed = lookup(map, "$ref")?;
            return self.malformed("$ref", &format!("expected a string, found {malformed}"));
        };
        let code = match target? {
            Target::Here(target) if target == pointer => CIRCULAR_REF,
            Target::Here(target) => {
                let value = bundle.at(&target)?;
                return Some(self.schemas.reserve(target, value, self.reporter));
            }
            Target::Nowhere => DANGLING_REF,
            Target::Elsewhere => EXTERNAL_REF,
        };
        self.report(code, "$ref", reference);
        None
    }

    /// Reports a malformed keyword, and returns `None`.
    fn malformed<T>(&mut self, keyword: &str, message: &str) -> Option<T> {
        self.report(MALFORMED_KEYWORD, keyword, message);
        None
    }

    fn report(&mut self, code: Code, keyword: &str, message: &str) {
        self.reporter.say(code, &format!("{}/{keyword}", self.pointer), message);
    }
}
