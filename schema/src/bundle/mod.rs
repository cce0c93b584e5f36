//! Stage 1: resolves every `$ref`. Nothing is fetched.

mod uri;

use std::collections::HashMap;
use std::sync::Arc;

use mcp_bindgen_model::pointer_segment;
use serde_json::{Map, Value};

/// Keywords whose value is one schema.
pub const SCHEMA: &[&str] = &[
    "additionalProperties",
    "additionalItems",
    "items",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentSchema",
];
/// Keywords whose value is a list of schemas.
pub const SCHEMA_LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords whose value holds schemas by name.
pub const NAMED_SCHEMAS: &[&str] =
    &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

const DEEPEST: usize = 256;
/// Pointers are kept up to this length, in bytes.
pub(crate) const LONGEST: usize = 4096;
const LONGEST_URI: usize = 1024;

/// A schema document with its `$id`s and anchors indexed.
#[derive(Debug)]
pub struct Bundle<'a> {
    root: &'a Value,
    /// The base URIs of the schemas that have their own, by their pointers.
    bases: HashMap<String, Arc<str>>,
    /// The pointers of anchors by base URI and name, and of resources without a name.
    anchors: HashMap<(Arc<str>, String), String>,
    dynamic_anchors: HashMap<String, Vec<String>>,
    /// The dialect of the document.
    pub draft: Draft,
    /// `true` if any schema refers to another.
    pub(crate) has_references: bool,
}

/// The dialect of a document, by its `$schema`. Each knows keywords that the ones before do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draft {
    /// Draft 4, and older.
    D4,
    /// Draft 6.
    D6,
    /// Draft 7.
    D7,
    /// Draft 2019-09.
    D2019,
    /// Draft 2020-12.
    D2020,
    /// Any other value: 2020-12, with keywords of older versions.
    Unsaid,
}

impl Draft {
    fn of(root: &Value) -> Self {
        let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let drafts = [
            ("draft-03", Self::D4),
            ("draft-04", Self::D4),
            ("draft-06", Self::D6),
            ("draft-07", Self::D7),
            ("2019-09", Self::D2019),
            ("2020-12", Self::D2020),
        ];
        drafts.iter().find(|(name, _)| dialect.contains(name)).map_or(Self::Unsaid, |(_, draft)| *draft)
    }

    /// Returns `true` up to draft 7, in which keywords beside `$ref` are ignored and `$id: "#here"` is an anchor.
    #[must_use]
    pub fn ref_stands_alone(self) -> bool {
        self <= Self::D7
    }

    /// Returns `true` if a schema has a `$ref` that hides its other keywords.
    pub(crate) fn hides_siblings(self, schema: &Map<String, Value>) -> bool {
        self.ref_stands_alone() && lookup(schema, "$ref").is_some_and(Value::is_string)
    }

    /// Returns `true` if a keyword is a reference.
    #[must_use]
    pub fn refers_by(self, keyword: &str) -> bool {
        match keyword {
            "$dynamicRef" => self >= Self::D2020,
            "$recursiveRef" => matches!(self, Self::D2019 | Self::Unsaid),
            _ => keyword == "$ref",
        }
    }
}

/// The target of a reference.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// To the place of this pointer, in this document.
    Here(String),
    /// To a place of this document that does not exist.
    Nowhere,
    /// To another document.
    Elsewhere,
}

impl<'a> Bundle<'a> {
    /// Indexes the names of a document.
    #[must_use]
    pub fn new(root: &'a Value) -> Self {
        let mut bundle = Self {
            root,
            bases: HashMap::new(),
            anchors: HashMap::new(),
            dynamic_anchors: HashMap::new(),
            draft: Draft::of(root),
            has_references: false,
        };
        let base = Arc::from("");
        bundle.anchors.insert((Arc::clone(&base), String::new()), String::new());
        bundle.index(root, &mut String::new(), &base, 0);
        bundle
    }

    /// Returns the value at a pointer.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.root.pointer(pointer)
    }

    /// Returns the target of a reference in the schema at a pointer.
    #[must_use]
    pub fn resolve(&self, from: &str, reference: &str) -> Target {
        let (document, fragment) = uri::split(reference);
        let document: Arc<str> = uri::resolve(self.base_of(from), document).into();
        let Some(resource) = self.anchors.get(&(Arc::clone(&document), String::new())) else {
            return Target::Elsewhere;
        };
        let pointer = uri::decode(fragment).and_then(|fragment| match fragment.as_str() {
            "" => Some(resource.clone()),
            place if place.starts_with('/') => Some(format!("{resource}{place}")),
            _ => self.anchors.get(&(document, fragment)).cloned(),
        });
        pointer.filter(|pointer| self.at(pointer).is_some()).map_or(Target::Nowhere, Target::Here)
    }

    /// Returns the target of a `$dynamicRef` if it is known without evaluation. Returns `None` if it depends on the
    /// path to the reference.
    #[must_use]
    pub fn resolve_dynamic(&self, from: &str, reference: &str) -> Option<Target> {
        let target = self.resolve(from, reference);
        let (_, anchor) = uri::split(reference);
        match (&target, self.dynamic_anchors.get(anchor)) {
            // Another schema with the same anchor may replace it.
            (Target::Here(pointer), Some(places)) if places.contains(pointer) && places.len() > 1 => None,
            _ => Some(target),
        }
    }

    /// Returns the dynamic anchors whose names others have too: the name, the pointer and the base URI of each.
    pub fn shared_anchors(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let shared = self.dynamic_anchors.iter().filter(|(_, places)| places.len() > 1);
        shared
            .flat_map(|(name, places)| places.iter().map(|place| (name.as_str(), place.as_str(), self.base_of(place))))
    }

    pub(crate) fn has_dynamic_anchors(&self) -> bool {
        !self.dynamic_anchors.is_empty()
    }

    /// Returns the base URI of the schema at a pointer.
    #[must_use]
    pub fn base_of(&self, pointer: &str) -> &str {
        let mut parents = std::iter::successors(Some(pointer), |place| Some(place.rsplit_once('/')?.0));
        parents.find_map(|place| self.bases.get(place)).map_or("", |base| base)
    }

    fn index(&mut self, schema: &'a Value, pointer: &mut String, base: &Arc<str>, depth: usize) {
        let Value::Object(map) = schema else { return };
        if depth > DEEPEST {
            return;
        }
        let base = self.index_names(map, pointer, base);
        self.has_references |= map.keys().any(|key| key.ends_with("Ref") || key == "$ref");
        subschemas(map, pointer, &mut |_, inner, pointer| self.index(inner, pointer, &base, depth + 1));
    }

    /// Indexes the names of a schema, and returns its base URI.
    fn index_names(&mut self, map: &Map<String, Value>, pointer: &str, base: &Arc<str>) -> Arc<str> {
        let text = |key: &str| lookup(map, key).and_then(Value::as_str);
        let mut base = Arc::clone(base);
        // Names of places that no reader would write are not worth their memory.
        if pointer.len() > LONGEST {
            return base;
        }
        let id = text(if self.draft == Draft::D4 { "id" } else { "$id" });
        if let Some(id) = id.filter(|_| !self.draft.hides_siblings(map)) {
            let (document, fragment) = uri::split(id);
            if !document.is_empty() && base.len() + document.len() <= LONGEST_URI {
                base = Arc::from(uri::resolve(&base, document));
                self.bases.insert(pointer.to_owned(), Arc::clone(&base));
                self.anchors.insert((Arc::clone(&base), String::new()), pointer.to_owned());
            }
            if self.draft.ref_stands_alone() && !fragment.is_empty() {
                self.anchors.insert((Arc::clone(&base), fragment.to_owned()), pointer.to_owned());
            }
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = text(keyword).filter(|anchor| !anchor.is_empty()) {
                self.anchors.insert((Arc::clone(&base), anchor.to_owned()), pointer.to_owned());
            }
        }
        if let Some(anchor) = text("$dynamicAnchor").filter(|_| self.draft.refers_by("$dynamicRef")) {
            self.dynamic_anchors.entry(anchor.to_owned()).or_default().push(pointer.to_owned());
        }
        if map.get("$recursiveAnchor") == Some(&Value::Bool(true)) && self.draft.refers_by("$recursiveRef") {
            self.dynamic_anchors.entry(String::new()).or_default().push(pointer.to_owned());
        }
        base
    }
}

/// Calls a function for each schema that a schema holds, with its keyword and its pointer. Malformed schemas in lists and
/// tables are included.
pub fn subschemas<'a>(
    map: &'a Map<String, Value>,
    pointer: &mut String,
    visit: &mut dyn FnMut(&'a str, &'a Value, &mut String),
) {
    for (key, value) in map {
        let mut enter = |steps: &[&str], schema| {
            let outside = pointer.len();
            steps.iter().for_each(|step| push(pointer, step));
            visit(key, schema, pointer);
            pointer.truncate(outside);
        };
        match value {
            Value::Object(_) | Value::Bool(_) if SCHEMA.contains(&key.as_str()) => enter(&[key], value),
            Value::Array(items) if SCHEMA_LIST.contains(&key.as_str()) => {
                items.iter().enumerate().for_each(|(index, item)| enter(&[key, &index.to_string()], item));
            }
            Value::Object(named) if NAMED_SCHEMAS.contains(&key.as_str()) => {
                named.iter().for_each(|(name, item)| enter(&[key, name], item));
            }
            _ => {}
        }
    }
}

/// Returns the value of a keyword. Schemas are small: comparing keys is faster than hashing.
pub fn lookup<'m>(map: &'m Map<String, Value>, name: &str) -> Option<&'m Value> {
    const SMALL: usize = 16;
    if map.len() > SMALL {
        return map.get(name);
    }
    map.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns the JSON pointer of a step below another.
#[must_use]
pub fn below(pointer: &str, step: &str) -> String {
    let mut pointer = pointer.to_owned();
    push(&mut pointer, step);
    pointer
}

/// Appends a step to a JSON pointer.
pub(crate) fn push(pointer: &mut String, step: &str) {
    pointer.push('/');
    pointer.push_str(&pointer_segment(step));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn here(pointer: &str) -> Target {
        Target::Here(pointer.to_owned())
    }

    #[test]
    fn references_by_pointer_anchor_and_id_are_resolved() {
        let schema = json!({
            "$id": "https://example.com/root.json",
            "properties": {"a/b": {"type": "string"}, "c~d": {}, "e f": {}},
            "$defs": {
                "named": {"$anchor": "here"},
                "other": {"$id": "nested/item.json", "$defs": {"inner": {"$anchor": "deep"}}},
            },
            "enum": [{"$id": "https://example.com/not-a-schema.json"}],
        });
        let bundle = Bundle::new(&schema);
        assert_eq!(bundle.resolve("", "#"), here(""));
        assert_eq!(bundle.resolve("", "#/properties/a~1b"), here("/properties/a~1b"));
        assert_eq!(bundle.resolve("", "#/properties/c~0d"), here("/properties/c~0d"));
        assert_eq!(bundle.resolve("", "#/properties/e%20f"), here("/properties/e f"));
        assert_eq!(bundle.resolve("", "#here"), here("/$defs/named"));
        assert_eq!(bundle.resolve("", "nested/item.json#deep"), here("/$defs/other/$defs/inner"));
        assert_eq!(bundle.resolve("/$defs/other", "#/$defs/inner"), here("/$defs/other/$defs/inner"));
        assert_eq!(bundle.resolve("/$defs/other", "../root.json"), here(""));
        assert_eq!(bundle.resolve("", "#/nope"), Target::Nowhere);
        assert_eq!(bundle.resolve("", "not-a-schema.json"), Target::Elsewhere);
        assert_eq!(bundle.resolve("", "https://elsewhere.example/x"), Target::Elsewhere);
    }

    #[test]
    fn schema_id_keyword_depends_on_the_dialect() {
        let named = |dialect: &str| {
            json!({
                "$schema": dialect,
                "id": "https://example.com/old/root.json",
                "$id": "https://example.com/new/root.json",
                "properties": {"id": {"$id": "#here"}, "old": {"id": "#there"}, "part": {"$id": "part.json"}},
            })
        };
        for (dialect, base, anchor) in [
            ("http://json-schema.org/draft-04/schema#", "https://example.com/old/root.json", Some("#there")),
            ("http://json-schema.org/draft-06/schema#", "https://example.com/new/root.json", Some("#here")),
            ("http://json-schema.org/draft-07/schema#", "https://example.com/new/root.json", Some("#here")),
            ("https://json-schema.org/draft/2019-09/schema", "https://example.com/new/root.json", None),
            ("", "https://example.com/new/root.json", None),
        ] {
            let schema = named(dialect);
            let bundle = Bundle::new(&schema);
            assert_eq!(bundle.base_of(""), base, "{dialect}");
            for name in ["#here", "#there"] {
                let leads = matches!(bundle.resolve("/properties/x", name), Target::Here(_));
                assert_eq!(leads, anchor == Some(name), "{name} in {dialect}");
            }
            let is_new = base.contains("new");
            assert_eq!(bundle.resolve("", "part.json") == here("/properties/part"), is_new, "{dialect}");
        }
    }

    #[test]
    fn id_is_an_ordinary_key_in_draft_7() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "id": "call_it_what_you_like.json",
            "properties": {"id": {"type": "string"}, "a": {"$ref": "#/definitions/A"}},
            "definitions": {"A": {"id": "a.json", "items": {"$ref": "#/definitions/B"}}, "B": {}},
        });
        let bundle = Bundle::new(&schema);
        assert_eq!(bundle.resolve("/definitions/A/items", "#/definitions/B"), here("/definitions/B"));
        assert_eq!(bundle.resolve("", "a.json"), Target::Elsewhere);
    }

    #[test]
    fn escapes_in_references_are_decoded_once() {
        let schema = json!({
            "$defs": {"a b": {}, "50%": {}, "%25": {}, "é/~": {}, "": {"": {}}, "q\"": {}, "x#y": {"$anchor": "an-chor"}},
            "allOf": [{}, {}],
        });
        let bundle = Bundle::new(&schema);
        for (reference, place) in [
            ("#/$defs/a%20b", "/$defs/a b"),
            ("#/%24defs/a%20b", "/$defs/a b"),
            ("#%2F$defs%2Fa%20b", "/$defs/a b"),
            ("#/$defs/50%25", "/$defs/50%"),
            ("#/$defs/%2525", "/$defs/%25"),
            ("#/$defs/%C3%A9~1~0", "/$defs/é~1~0"),
            ("#/$defs/é~1~0", "/$defs/é~1~0"),
            ("#/$defs//", "/$defs//"),
            ("#/$defs/q%22", "/$defs/q\""),
            ("#/$defs/x%23y", "/$defs/x#y"),
            ("#an%2Dchor", "/$defs/x#y"),
            ("#/allOf/1", "/allOf/1"),
        ] {
            assert_eq!(bundle.resolve("", reference), here(place), "{reference}");
        }
        for reference in
            ["#/$defs/50%", "#/$defs/%FF", "#/allOf/01", "#/allOf/2", "#/allOf/-", "#$defs", "#/$defs/a b/"]
        {
            assert_eq!(bundle.resolve("", reference), Target::Nowhere, "{reference}");
        }
    }
}
