//! The schemas of a document that can apply to a value, and the targets of their references.

use std::collections::{HashMap, HashSet};
use std::ptr;

use mcp_bindgen_schema::{Bundle, Draft, Target, below, subschemas};
use serde_json::Value;

use super::UnusableSchema;

const DEEPEST: usize = 256;
/// The maximum length of a pointer, in bytes.
const LONGEST: usize = 4096;
/// The maximum number of copies of one schema. If the targets of references depend on the path that leads to them,
/// their schemas are copied for each path.
const MOST_SCOPES: usize = 100;
/// The maximum number of such copies in a document.
const MOST_COPIES: usize = 10_000;
/// The number of values in the keywords of a schema that make a copy count as another one.
const VALUES_OF_A_COPY: usize = 10;
/// The length of text that counts as another value, in bytes.
const BYTES_OF_A_VALUE: usize = 64;
/// The maximum number of dynamic anchors whose names others have too, because each reference is compared with all.
const MOST_SHARED: usize = 100;
/// The beginnings of the documents that a validator knows.
const META_SCHEMAS: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];
/// The keywords whose schemas apply to the same value.
const BESIDE: [&str; 9] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];

/// A schema of a document, for the paths on which its references have the same targets. Other schemas are named by their
/// indexes.
#[derive(Clone)]
pub(super) struct Schema<'a> {
    pub(super) value: &'a Value,
    pub(super) pointer: String,
    /// The shared anchors that dynamic references lead to, by their indexes: the outermost of each name.
    scope: Vec<usize>,
    /// `true` if the value has another scope on a path that was found before.
    is_copy: bool,
    /// The keyword and the target of each reference.
    pub(super) references: Vec<(&'static str, usize)>,
    /// The schemas that apply to the same value, those behind references too.
    pub(super) beside: Vec<usize>,
}

/// A dynamic anchor whose name others have too.
struct Anchor {
    name: String,
    /// The index of the first anchor of this name.
    first: usize,
    pointer: String,
    base: String,
}

/// The schemas of a document, and the references between them.
pub(super) struct Links<'a> {
    pub(super) draft: Draft,
    /// The root, and every schema that it leads to.
    pub(super) schemas: Vec<Schema<'a>>,
    /// The scopes and indexes of the schemas, by their addresses.
    indexes: HashMap<*const Value, Vec<(Vec<usize>, usize)>>,
    copies: usize,
    /// The schemas that each schema holds, by its index and their addresses.
    held: HashMap<(usize, *const Value), usize>,
    /// The schemas that others refer to, or that several hold.
    pub(super) targets: HashSet<usize>,
    shared: Vec<Anchor>,
}

impl<'a> Links<'a> {
    /// Follows every reference of a document, except in definitions that nothing refers to.
    ///
    /// # Errors
    /// Fails if a reference leads nowhere or out of the document, or the document is too deep, or has too many dynamic
    /// references.
    pub(super) fn of(root: &'a Value) -> Result<Self, UnusableSchema> {
        let bundle = Bundle::new(root);
        let mut names = HashSet::new();
        let keyword = if bundle.draft == Draft::D2019 { "$recursiveRef" } else { "$dynamicRef" };
        collect_names(root, keyword, &mut names);
        let mut shared: Vec<Anchor> = Vec::new();
        let anchors = bundle.shared_anchors().filter(|(name, ..)| names.contains(name)).take(MOST_SHARED + 1);
        // Those of one name are side by side.
        for (name, pointer, base) in anchors {
            let first = shared.last().filter(|last| last.name == name).map_or(shared.len(), |last| last.first);
            shared.push(Anchor { name: name.to_owned(), first, pointer: pointer.to_owned(), base: base.to_owned() });
        }
        let mut links = Self {
            draft: bundle.draft,
            schemas: Vec::new(),
            indexes: HashMap::new(),
            copies: 0,
            held: HashMap::new(),
            targets: HashSet::new(),
            shared,
        };
        links.add(&bundle, &[], root, String::new(), true);
        let mut next = 0;
        while let Some(mut schema) = links.schemas.get(next).cloned() {
            links.follow(&bundle, next, &mut schema)?;
            if schema.is_copy {
                links.copies += links.copied_values(next, schema.value) / VALUES_OF_A_COPY;
            }
            links.targets.extend(schema.references.iter().map(|(_, target)| *target));
            if let Some(place) = links.schemas.get_mut(next) {
                *place = schema;
            }
            if links.shared.len() > MOST_SHARED || links.copies > MOST_COPIES {
                return Err(UnusableSchema::new("", "the dynamic references of the schema have too many targets"));
            }
            next += 1;
        }
        Ok(links)
    }

    /// Returns the index of a schema that another holds.
    pub(super) fn held(&self, holder: usize, value: &Value) -> Option<usize> {
        self.held.get(&(holder, ptr::from_ref(value))).copied()
    }

    /// Returns `true` if a schema is only its `$ref`, as up to draft 7.
    pub(super) fn is_reference(&self, schema: &Value) -> bool {
        self.draft.ref_stands_alone() && schema.get("$ref").is_some_and(Value::is_string)
    }

    /// Returns the number of values that a copy of a schema repeats, beside the schemas that it holds.
    fn copied_values(&self, index: usize, schema: &Value) -> usize {
        let keywords = schema.as_object().into_iter().flatten();
        let copied = keywords.filter(|(keyword, value)| !is_unused(self.draft, keyword, value));
        copied.map(|(_, value)| self.values(index, value)).sum()
    }

    fn values(&self, holder: usize, value: &Value) -> usize {
        let texts = |text: &str| text.len() / BYTES_OF_A_VALUE;
        1 + match value {
            // A list among `dependencies` is no schema.
            _ if !value.is_array() && self.held(holder, value).is_some() => 0,
            Value::Array(items) => items.iter().map(|item| self.values(holder, item)).sum(),
            Value::Object(map) => map.iter().map(|(key, value)| texts(key) + self.values(holder, value)).sum(),
            Value::String(text) => texts(text),
            _ => 0,
        }
    }

    /// Adds a schema that is reached from this scope. Only if it `enters`, it may belong to another resource.
    fn add(&mut self, bundle: &Bundle<'a>, outer: &[usize], value: &'a Value, pointer: String, enters: bool) -> usize {
        let mut scope = outer.to_vec();
        if enters && !self.shared.is_empty() {
            let base = bundle.base_of(&pointer);
            for (index, anchor) in self.shared.iter().enumerate().filter(|(_, anchor)| anchor.base == base) {
                let has_name = |other: &usize| self.shared.get(*other).is_some_and(|other| other.first == anchor.first);
                if !scope.iter().any(has_name) {
                    scope.push(index);
                }
            }
            scope.sort_unstable();
        }
        let known = self.indexes.entry(ptr::from_ref(value)).or_default();
        if let Some((_, index)) = known.iter().find(|(other, _)| *other == scope) {
            self.targets.insert(*index);
            return *index;
        }
        self.copies += match known.len() {
            0 => 0,
            1..MOST_SCOPES => 1,
            _ => MOST_COPIES + 1,
        };
        let (index, references, beside) = (self.schemas.len(), Vec::new(), Vec::new());
        let is_copy = !known.is_empty();
        known.push((scope.clone(), index));
        self.schemas.push(Schema { value, pointer, scope, is_copy, references, beside });
        index
    }

    /// Returns the anchor of this name in a scope.
    fn outermost(&self, scope: &[usize], name: &str) -> Option<&Anchor> {
        scope.iter().filter_map(|index| self.shared.get(*index)).find(|anchor| anchor.name == name)
    }

    /// Adds the schemas that a schema holds or refers to, and their indexes to it.
    fn follow(&mut self, bundle: &Bundle<'a>, index: usize, schema: &mut Schema<'a>) -> Result<(), UnusableSchema> {
        let Schema { value, pointer, scope, references, beside, .. } = schema;
        let Value::Object(map) = value else { return Ok(()) };
        if pointer.matches('/').count() > DEEPEST {
            return Err(UnusableSchema::new(&*pointer, format!("the schema is more than {DEEPEST} levels deep")));
        }
        if pointer.len() > LONGEST {
            return Err(UnusableSchema::new("", format!("a pointer in the schema has more than {LONGEST} bytes")));
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            // Without a dialect, the validator ignores `$recursiveRef`.
            let is_read = self.draft.refers_by(keyword) && (keyword != "$recursiveRef" || self.draft == Draft::D2019);
            let Some(reference) = map.get(keyword).and_then(Value::as_str).filter(|_| is_read) else { continue };
            let fixed = if keyword == "$ref" { None } else { bundle.resolve_dynamic(pointer, reference) };
            let outermost = self.outermost(scope, name_in(reference)).filter(|_| keyword != "$ref" && fixed.is_none());
            let target = outermost.map(|anchor| Target::Here(anchor.pointer.clone())).or(fixed);
            match target.unwrap_or_else(|| bundle.resolve(pointer, reference)) {
                Target::Here(target) => {
                    let target = bundle.at(&target).map(|value| self.add(bundle, scope, value, target, true));
                    references.extend(target.map(|target| (keyword, target)));
                    beside.extend(target);
                }
                Target::Elsewhere if META_SCHEMAS.iter().any(|known| reference.starts_with(known)) => {}
                _ => {
                    let message =
                        format!("`{reference}` does not exist in this document, and other documents are never fetched");
                    return Err(UnusableSchema::new(below(pointer, keyword), message));
                }
            }
        }
        if !self.is_reference(value) {
            subschemas(map, pointer, &mut |keyword, value, pointer| {
                if !["$defs", "definitions"].contains(&keyword) {
                    let inner = self.add(bundle, scope, value, pointer.clone(), value.get("$id").is_some());
                    self.held.insert((index, ptr::from_ref(value)), inner);
                    beside.extend(BESIDE.contains(&keyword).then_some(inner));
                }
            });
        }
        Ok(())
    }
}

/// Collects the names in references by this keyword.
fn collect_names<'v>(value: &'v Value, keyword: &str, names: &mut HashSet<&'v str>) {
    match value {
        Value::Object(map) => {
            names.extend(map.get(keyword).and_then(Value::as_str).map(name_in));
            map.values().for_each(|inner| collect_names(inner, keyword, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, keyword, names)),
        _ => {}
    }
}

/// Returns the fragment of a reference.
fn name_in(reference: &str) -> &str {
    reference.split_once('#').map_or("", |(_, name)| name)
}

/// Returns `true` if a keyword only describes values, only matters to references, or is unknown in its dialect.
pub(super) fn is_unused(draft: Draft, keyword: &str, value: &Value) -> bool {
    match keyword {
        "$schema" | "$comment" | "$vocabulary" | "$defs" | "definitions" | "title" | "description" | "default"
        | "examples" | "deprecated" | "readOnly" | "writeOnly" | "format" | "contentEncoding" | "contentMediaType" => {
            true
        }
        // Other values are malformed.
        "$id" | "id" | "$anchor" | "$dynamicAnchor" | "$recursiveRef" => value.is_string(),
        "const" | "contains" | "propertyNames" => draft == Draft::D4,
        _ => false,
    }
}
