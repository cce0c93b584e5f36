//! The schemas of a document that can apply to a value, and the targets of their references.

use std::collections::{HashMap, HashSet};
use std::ptr;

use mcp_bindgen_schema::{Bundle, Draft, NAMED_SCHEMAS, Target, below, subschemas};
use serde_json::Value;

use super::UnusableSchema;

/// Every version of JSON Schema has this keyword.
pub(super) const DEFINITIONS: &str = "definitions";
pub(super) const TOO_MANY_TARGETS: &str = "the dynamic references of the schema have too many targets";
const DEEPEST: usize = 256;
/// The maximum length of a pointer, in bytes.
const LONGEST: usize = 4096;
/// The maximum number of copies of schemas. If the targets of references depend on the path that leads to them, their
/// schemas are copied for each path.
const MOST_COPIES: usize = 10_000;
/// The maximum size of the names in all copies, and of the values in them, in bytes of text.
pub(super) const MOST_COPIED: usize = 1 << 20;
/// The maximum number of schemas that apply to one value. Every `allOf` of two references doubles their number, so that a
/// small hostile schema would keep a validator busy for years.
const MOST_APPLICATIONS: u64 = 10_000;
/// The maximum number of repeated counts of schemas that lead back to themselves.
const MOST_RECOUNTS: usize = 20_000;
/// The maximum number of schemas for one value that each hold or refer to the next.
const LONGEST_CHAIN: usize = 1_000;
/// The number of times that a validator may apply a recursive schema before it notices the recursion.
const MOST_PASSES: u32 = 2;
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
    pub(super) is_copy: bool,
    /// The references, as they are in the mended document.
    pub(super) references: Vec<String>,
    /// The schemas that apply to the same value, those behind references too.
    beside: Vec<usize>,
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
    /// The indexes of the schemas, by their addresses and scopes.
    indexes: HashMap<*const Value, HashMap<Vec<usize>, usize>>,
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
    /// references, or a schema that is applied to one value too often.
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
            held: HashMap::new(),
            targets: HashSet::new(),
            shared,
        };
        links.add(&bundle, &[], root, String::new(), true);
        let (mut next, mut copied) = (0, 0);
        while let Some(mut schema) = links.schemas.get(next).cloned() {
            // Large copies are refused before they take memory.
            copied += if schema.is_copy { size_of_names(schema.value) } else { 0 };
            let copies = links.schemas.len() - links.indexes.len();
            if links.shared.len() > MOST_SHARED || copies > MOST_COPIES || copied > MOST_COPIED {
                return Err(UnusableSchema::new("", TOO_MANY_TARGETS));
            }
            links.follow(&bundle, next, &mut schema)?;
            if let Some(place) = links.schemas.get_mut(next) {
                *place = schema;
            }
            next += 1;
        }
        links.count_applications()?;
        Ok(links)
    }

    fn count_applications(&self) -> Result<(), UnusableSchema> {
        let count = self.schemas.len();
        let left = count.saturating_add(MOST_RECOUNTS);
        let mut counter =
            Counter { schemas: &self.schemas, open: vec![(0, 0); count], counted: vec![None; count], left };
        if (0..count).all(|index| counter.count(index, 0).is_some()) {
            return Ok(());
        }
        let message = format!("the schema applies to one value more than {MOST_APPLICATIONS} times");
        Err(UnusableSchema::new("", message))
    }

    /// Returns the index of a schema that another holds.
    pub(super) fn held(&self, holder: usize, value: &Value) -> Option<usize> {
        self.held.get(&(holder, ptr::from_ref(value))).copied()
    }

    /// Returns `true` if a schema is only its `$ref`, as up to draft 7.
    pub(super) fn is_reference(&self, schema: &Value) -> bool {
        self.draft.ref_stands_alone() && schema.get("$ref").is_some_and(Value::is_string)
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
        if let Some(index) = known.get(&scope) {
            self.targets.insert(*index);
            return *index;
        }
        let (index, is_copy) = (self.schemas.len(), !known.is_empty());
        known.insert(scope.clone(), index);
        self.schemas.push(Schema { value, pointer, scope, is_copy, references: Vec::new(), beside: Vec::new() });
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
                    let Some(value) = bundle.at(&target) else { continue };
                    let target = self.add(bundle, scope, value, target, true);
                    self.targets.insert(target);
                    references.push(definition(target));
                    beside.push(target);
                }
                Target::Elsewhere if META_SCHEMAS.iter().any(|known| reference.starts_with(known)) => {
                    references.push(reference.to_owned());
                }
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

/// The applications that a schema leads to for one value.
#[derive(Clone, Copy, Default)]
struct Count {
    applied: u64,
    /// The further ones if a schema around it has to find the properties or items that were evaluated.
    traced: u64,
    /// The length of the longest chain of schemas.
    chain: usize,
    /// The depth of the outermost of the schemas being counted that this one leads back to.
    leads_to: Option<usize>,
}

/// Counts the schemas that apply to one value. A count that does not depend on the schemas around it is kept.
struct Counter<'l> {
    schemas: &'l [Schema<'l>],
    /// The depth at which each schema is first being counted, and how often it is.
    open: Vec<(usize, u32)>,
    counted: Vec<Option<Count>>,
    left: usize,
}

impl Counter<'_> {
    /// Counts a schema; returns `None` beyond the limits.
    fn count(&mut self, index: usize, depth: usize) -> Option<Count> {
        if let Some(count) = *self.counted.get(index)? {
            return Some(count);
        }
        self.left = self.left.checked_sub(1)?;
        let schema = self.schemas.get(index).filter(|_| depth <= LONGEST_CHAIN)?;
        let (first, passes) = self.open.get_mut(index)?;
        if *passes == 0 {
            *first = depth;
        }
        let mut count = Count { leads_to: (*passes > 0).then_some(*first), ..Count::default() };
        if *passes == MOST_PASSES {
            return Some(count);
        }
        *passes += 1;
        for inner in &schema.beside {
            let inner = self.count(*inner, depth + 1)?;
            count.applied += 1 + inner.applied;
            count.traced += inner.applied + inner.traced;
            count.chain = count.chain.max(1 + inner.chain);
            count.leads_to = count.leads_to.into_iter().chain(inner.leads_to).min();
        }
        if ["unevaluatedProperties", "unevaluatedItems"].iter().any(|keyword| schema.value.get(keyword).is_some()) {
            count.applied += count.traced;
        }
        self.open.get_mut(index)?.1 -= 1;
        if count.leads_to.is_none_or(|outermost| outermost >= depth) {
            count.leads_to = None;
            *self.counted.get_mut(index)? = Some(count);
        }
        (count.applied <= MOST_APPLICATIONS && count.chain <= LONGEST_CHAIN).then_some(count)
    }
}

/// Returns the size of the keywords of a schema, of its references, and of the names of the schemas that it holds.
fn size_of_names(schema: &Value) -> usize {
    let size = |(keyword, value): (&String, &Value)| {
        let inside = match value {
            Value::String(reference) if keyword == "$ref" || keyword.ends_with("Ref") => reference.len(),
            Value::Object(named) if NAMED_SCHEMAS.contains(&keyword.as_str()) => {
                named.keys().map(|name| name.len() + 1).sum()
            }
            _ => 0,
        };
        keyword.len() + 1 + inside
    };
    schema.as_object().into_iter().flatten().map(size).sum()
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

/// Returns the reference to a schema in the mended document.
pub(super) fn definition(index: usize) -> String {
    format!("#/{DEFINITIONS}/{index}")
}
