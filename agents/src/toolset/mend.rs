//! Arguments as they go to a tool: needless nulls are removed, slips are repaired, and the rest is explained.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use mcp_bindgen_model::{nearest, pointer_key, pointer_segment, printable};
use mcp_bindgen_runtime::validate::Violation;
use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Presence, Role, Shape, ShapeId, Shapes, StructShape, listed};
use serde_json::{Map, Value};

use super::Entry;
use super::words::at;

/// More values in other case are no slip.
const MOST_MENDED: usize = 16;
/// The maximum number of argument faults in one answer to a model.
const MOST_FAULTS: usize = 8;
/// Longer names and values are no slips of the pen.
const LONGEST: usize = 200;
const MOST_SUGGESTIONS: usize = 3;
const MOST_PARAMETERS: usize = 40;
/// How many properties are compared, and with how many.
const MOST_COMPARED: usize = 50;
const MOST_CANDIDATES: usize = 1000;

/// Arguments that do not fit, and why.
#[derive(Debug)]
pub(crate) struct Misfit {
    arguments: Value,
    violation: Violation,
    /// The shapes of the schema, once they were needed.
    places: OnceLock<Places>,
}

impl Misfit {
    /// Explains all faults to a model.
    pub(super) fn explained(&self, entry: &Entry) -> String {
        let places = self.places.get_or_init(|| Places::of(&entry.input_schema));
        explained(places, &self.arguments, &entry.violations(&self.arguments, MOST_FAULTS))
    }

    /// Describes the first fault, without values.
    pub(crate) fn in_words(&self) -> String {
        let Violation { pointer, keyword, message, .. } = &self.violation;
        format!("{message}{} (`{keyword}`)", at(pointer))
    }
}

/// Returns the arguments as they go to the tool: they fit its schema, as far as that can be used.
///
/// # Errors
/// Fails with the faults of the arguments.
pub(super) fn fitted(entry: &Entry, arguments: Map<String, Value>) -> Result<Map<String, Value>, Box<Misfit>> {
    let sent = Value::Object(arguments);
    let mut whole = sent.clone();
    entry.nulls().take_out(&mut whole);
    if let Err(violation) = entry.check(&whole) {
        whole = if lacks_nulls_alone(&whole, &sent) && entry.check(&sent).is_ok() {
            // A `null` that seemed redundant is required elsewhere in the schema.
            sent
        } else {
            mended(entry, whole, violation)?
        };
    }
    match whole {
        Value::Object(arguments) => Ok(arguments),
        // No step above turns the object into another value.
        _ => Ok(Map::new()),
    }
}

/// Returns `true` if nothing but nulls is gone: names that were given back are the server's, and those that were sent
/// are not.
fn lacks_nulls_alone(whole: &Value, sent: &Value) -> bool {
    match (whole, sent) {
        (Value::Object(whole), Value::Object(sent)) => {
            let is_kept = |(key, value): (&String, &Value)| match whole.get(key) {
                Some(kept) => lacks_nulls_alone(kept, value),
                None => value.is_null(),
            };
            whole.keys().all(|key| sent.contains_key(key)) && sent.iter().all(is_kept)
        }
        (Value::Array(whole), Value::Array(sent)) => {
            whole.len() == sent.len() && whole.iter().zip(sent).all(|(whole, sent)| lacks_nulls_alone(whole, sent))
        }
        _ => whole == sent,
    }
}

/// Corrects arguments, if only the case of letters was wrong.
fn mended(entry: &Entry, arguments: Value, violation: Violation) -> Result<Value, Box<Misfit>> {
    let known = OnceLock::new();
    let places = || known.get_or_init(|| Places::of(&entry.input_schema));
    let (mut mended, mut next) = (arguments.clone(), violation.clone());
    for _ in 0..MOST_MENDED {
        if !mend_case(places, &mut mended, &next) {
            break;
        }
        match entry.check(&mended) {
            Ok(()) => return Ok(mended),
            Err(violation) => next = violation,
        }
    }
    Err(Box::new(Misfit { arguments, violation, places: known }))
}

/// Corrects the case of a string that otherwise equals exactly one named value of the schema. Models in strict mode may
/// still change the case, and the meaning is clear. A valid string is unchanged.
fn mend_case<'p>(places: impl FnOnce() -> &'p Places, arguments: &mut Value, violation: &Violation) -> bool {
    let Some(Value::String(text)) = arguments.pointer_mut(&violation.pointer) else { return false };
    if text.len() > LONGEST {
        return false;
    }
    let folded = text.to_lowercase();
    let named = places().values(&violation.pointer).into_iter();
    match named.filter(|named| named.to_lowercase() == folded).collect::<Vec<&str>>().as_slice() {
        [only] if *only != text.as_str() => {
            (*only).clone_into(text);
            true
        }
        _ => false,
    }
}

/// Describes the places of violations, and the nearest names: all that a model needs to mend its call.
fn explained(places: &Places, arguments: &Value, violations: &[Violation]) -> String {
    let mut known = HashSet::new();
    let mut said = Vec::new();
    for violation in violations {
        let mut hints = near_values(places, arguments, violation);
        hints.extend(near_properties(places, arguments, &violation.pointer));
        // A violation of a forbidden property points to the property itself.
        if let Some((parent, _)) = violation.pointer.rsplit_once('/') {
            hints.extend(near_properties(places, arguments, parent));
        }
        // Several violations may have one cause.
        hints.retain(|hint| known.insert(hint.clone()));
        hints.truncate(MOST_SUGGESTIONS);
        hints.insert(0, violation.to_string());
        said.push(hints.join("; "));
    }
    let mut said = said.join("; also: ");
    if violations.iter().any(|violation| violation.pointer.is_empty()) {
        said.push_str(&parameters(places));
    }
    said
}

fn near_values(places: &Places, arguments: &Value, violation: &Violation) -> Vec<String> {
    let text = arguments.pointer(&violation.pointer).and_then(Value::as_str).filter(|text| text.len() <= LONGEST);
    let near = text.and_then(|text| {
        let named = places.values(&violation.pointer).into_iter().take(MOST_CANDIDATES);
        nearest(text, named).first().map(|near| format!("was `{}` meant?", printable(near)))
    });
    near.into_iter().collect()
}

/// Suggests, for each undeclared property, the most similar declared one that is missing.
fn near_properties(places: &Places, arguments: &Value, pointer: &str) -> Vec<String> {
    let Some(Value::Object(fields)) = arguments.pointer(pointer) else { return Vec::new() };
    let properties = places.properties(pointer);
    let declared: HashSet<&str> = properties.iter().map(|(name, _)| *name).collect();
    let missing = properties.iter().map(|(name, _)| *name).filter(|name| !fields.contains_key(*name));
    let missing: Vec<&str> = missing.take(MOST_CANDIDATES).collect();
    let unknown = fields.keys().filter(|key| key.len() <= LONGEST && !declared.contains(key.as_str()));
    let suggestions = unknown.take(MOST_COMPARED).filter_map(|key| {
        let near = nearest(key, missing.iter().copied());
        let near = printable(near.first()?);
        let place = printable(&format!("{pointer}/{}", pointer_segment(key)));
        Some(format!("`{place}` is not declared: did you mean `{near}`?"))
    });
    suggestions.take(MOST_SUGGESTIONS).collect()
}

/// Returns the tool's parameters, for a model that has mistaken it for another.
fn parameters(places: &Places) -> String {
    let properties = places.properties("");
    if properties.is_empty() {
        return "; the tool has no parameters".to_owned();
    }
    let shown = properties.into_iter().map(|(name, is_required)| {
        let mark = if is_required { " (required)" } else { "" };
        format!("`{}`{mark}", printable(name))
    });
    format!("; the parameters are {}", listed(shown, MOST_PARAMETERS))
}

/// The shapes of a schema, to be gone through along with a value.
#[derive(Debug)]
struct Places {
    shapes: Shapes,
    root: ShapeId,
    /// The texts that say that an object is of this branch of a union.
    tags: HashMap<ShapeId, String>,
}

impl Places {
    fn of(schema: &Value) -> Self {
        let Document { shapes, root, .. } = Document::read(schema, Role::Input, &mut Reporter::new("", 0, ""));
        let mut tags = HashMap::new();
        for id in shapes.ids() {
            if let Shape::Union(union) = shapes.get(id)
                && union.tag.as_ref().is_some_and(|tag| tag.is_text)
            {
                tags.extend(union.branches.iter().filter_map(|branch| Some((branch.shape, branch.tag.clone()?))));
            }
        }
        Self { shapes, root, tags }
    }

    /// Returns the shapes of the place at a JSON pointer.
    fn at(&self, pointer: &str) -> Vec<ShapeId> {
        let mut found = self.shapes.leaves(&[self.root]);
        for segment in pointer.split('/').skip(1).map(pointer_key) {
            let slots = found.into_iter().filter_map(|shape| match self.shapes.get(shape) {
                Shape::Struct(object) if has_tag(object, &segment) => None,
                Shape::Struct(object) => object.slot(&segment),
                Shape::Map(value) => Some(*value),
                list => list.item(segment.parse().ok()?),
            });
            found = self.shapes.leaves(&slots.map(|slot| slot.shape).collect::<Vec<_>>());
        }
        found
    }

    /// Returns the texts that are named as values of a place.
    fn values(&self, pointer: &str) -> Vec<&str> {
        let mut values: Vec<&str> = Vec::new();
        for id in self.at(pointer) {
            match self.shapes.get(id) {
                Shape::TextEnum(texts) => values.extend(texts.iter().map(String::as_str)),
                Shape::LiteralEnum(literals) => values.extend(literals.iter().filter_map(Value::as_str)),
                _ => {}
            }
        }
        if let Some((parent, key)) = pointer.rsplit_once('/') {
            let key = pointer_key(key);
            let is_tagged = |id: &ShapeId| self.object(*id).is_some_and(|object| has_tag(object, &key));
            let tagged = self.at(parent).into_iter().filter(is_tagged);
            values.extend(tagged.filter_map(|id| self.tags.get(&id)).map(String::as_str));
        }
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Returns the properties that are declared for a place, in their order, and whether all its objects require them.
    fn properties(&self, pointer: &str) -> Vec<(&str, bool)> {
        let objects: Vec<&StructShape> = self.at(pointer).into_iter().filter_map(|id| self.object(id)).collect();
        let (mut names, mut requiring) = (Vec::new(), HashMap::new());
        for object in &objects {
            let tag = object.tag.iter().map(|tag| (tag.as_str(), true));
            let fields = object.fields.iter().map(|field| (field.wire.as_str(), field.presence == Presence::Required));
            for (name, is_required) in tag.chain(fields) {
                let requiring = requiring.entry(name).or_insert_with(|| {
                    names.push(name);
                    0
                });
                *requiring += usize::from(is_required);
            }
        }
        names.into_iter().map(|name| (name, requiring.get(name) == Some(&objects.len()))).collect()
    }

    fn object(&self, id: ShapeId) -> Option<&StructShape> {
        match self.shapes.get(id) {
            Shape::Struct(object) => Some(object),
            _ => None,
        }
    }
}

fn has_tag(object: &StructShape, key: &str) -> bool {
    object.tag.as_deref() == Some(key)
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_runtime::validate::Validator;
    use serde_json::json;

    use super::super::testing::{Server, entry, on_server};
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object", "required": ["title"], "additionalProperties": false,
            "properties": {
                "title": {"type": "string"},
                "state": {"enum": ["open", "closed"]},
                "order": {"enum": ["ASC", "Asc", "desc"]},
                "labels": {"type": "array", "items": {"type": "string", "enum": ["bug", "feature"]}},
                "by": {"oneOf": [
                    {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "user"}}},
                    {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "team"}}},
                ]},
            },
        })
    }

    fn said(arguments: Value) -> String {
        let violation = Validator::new(&schema()).expect("it compiles").check(&arguments).expect_err("it does not fit");
        explained(&Places::of(&schema()), &arguments, &[violation])
    }

    #[test]
    fn violation_suggests_the_nearest_value_or_name() {
        let value = said(json!({"title": "t", "state": "opne"}));
        assert!(
            value.contains("at `/state`") && value.contains("`enum`") && value.contains("was `open` meant?"),
            "{value}"
        );
        let item = said(json!({"title": "t", "labels": ["bug", "featur"]}));
        assert!(item.contains("`/labels/1`") && item.contains("was `feature` meant?"), "{item}");
        let name = said(json!({"titel": "t"}));
        assert!(name.contains("`/titel` is not declared: did you mean `title`?"), "{name}");
        let strange = said(json!({"title": "t", "zzz": 1}));
        assert!(!strange.contains("meant?") && strange.contains("zzz"), "{strange}");
        assert!(strange.contains("the parameters are `title` (required), `state`"), "{strange}");
    }

    #[test]
    fn tag_of_a_union_is_declared_and_has_named_values() {
        let branch = |tag: &str, own: &str| json!({"type": "object", "required": ["type", own], "properties": {"type": {"const": tag}, own: {}}});
        let schema = json!({"properties": {"shape": {"oneOf": [branch("list", "types"), branch("one", "value")]}}});
        let places = Places::of(&schema);
        assert_eq!(places.values("/shape/type"), ["list", "one"]);
        assert_eq!(places.properties("/shape"), [("type", true), ("types", false), ("value", false)]);
        let said = |arguments: Value| {
            let violations = Validator::new(&schema).expect("it compiles").violations(&arguments, 8);
            explained(&places, &arguments, &violations)
        };
        let right = said(json!({"shape": {"type": "list"}}));
        assert!(!right.is_empty() && !right.contains("is not declared"), "{right}");
        let wrong = said(json!({"shape": {"typ": "list", "types": []}}));
        assert!(wrong.contains("`/shape/typ` is not declared: did you mean `type`?"), "{wrong}");
    }

    #[test]
    fn all_violations_are_reported_together() {
        let arguments = json!({"state": "opne", "labels": ["bug", 5], "titel": "t"});
        let violations = Validator::new(&schema()).expect("it compiles").violations(&arguments, 8);
        let text = explained(&Places::of(&schema()), &arguments, &violations);
        for part in ["`title`", "at `/state`", "was `open` meant?", "`/labels/1`", "did you mean `title`?", "; also: "]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("the parameters are").count(), 1, "{text}");
        assert_eq!(text.matches("did you mean `title`?").count(), 1, "{text}");
    }

    #[test]
    fn letter_case_of_enum_values_is_corrected_if_unambiguous() {
        let places = Places::of(&schema());
        let mended = |mut arguments: Value| {
            let violation =
                Validator::new(&schema()).expect("it compiles").check(&arguments).expect_err("it does not fit");
            mend_case(|| &places, &mut arguments, &violation).then_some(arguments)
        };
        assert_eq!(mended(json!({"title": "t", "state": "OPEN"})), Some(json!({"title": "t", "state": "open"})));
        let label = mended(json!({"title": "t", "labels": ["BUG", "bug"]}));
        assert_eq!(label, Some(json!({"title": "t", "labels": ["bug", "bug"]})));
        let descending = mended(json!({"title": "t", "order": "DESC"}));
        assert_eq!(descending, Some(json!({"title": "t", "order": "desc"})));
        for kept in [
            json!({"title": "t", "order": "aSC"}),
            json!({"title": "t", "state": "opne"}),
            json!({"title": "t", "state": 5}),
        ] {
            assert_eq!(mended(kept.clone()), None, "{kept}");
        }
    }

    #[test]
    fn schema_is_read_only_for_texts_and_explanations() {
        let entry = entry("github", "create_issue", schema(), on_server(Server::saying("done")));
        let misfit = |arguments: Value| fitted(&entry, arguments.as_object().cloned().unwrap()).unwrap_err();
        let number = misfit(json!({"title": 5}));
        assert!(number.places.get().is_none() && number.explained(&entry).contains("`/title`"));
        assert!(misfit(json!({"title": "t", "state": "opne"})).places.get().is_some());
    }

    #[test]
    fn large_arguments_are_explained_in_bounded_time() {
        let large: Map<String, Value> = (0..20_000).map(|n| (format!("key_{n}"), json!("OPNE"))).collect();
        assert!(said(large.into()).len() < 2000);
        let wide: Map<String, Value> =
            (0..10_000).map(|n| (format!("name_{n}"), json!({"enum": ["a", "b"]}))).collect();
        let wide = json!({"type": "object", "properties": wide, "required": ["none"]});
        let violation = Validator::new(&wide).expect("it compiles").check(&json!({})).expect_err("it does not fit");
        let begun = std::time::Instant::now();
        let strange: Map<String, Value> = (0..100_000).map(|n| (format!("key_{n}"), json!("A"))).collect();
        assert!(explained(&Places::of(&wide), &strange.into(), &[violation]).len() < 5000);
        println!("100,000 strange properties beside 10,000 declared ones: {:?}", begun.elapsed());
        assert!(begun.elapsed().as_secs() < 10);
    }

    #[test]
    fn hostile_names_are_escaped_and_truncated() {
        let text = said(json!({"titl\u{202e}e": "t", "x".repeat(100_000): 1}));
        assert!(!text.contains('\u{202e}') && text.len() < 2000, "{}", text.len());
    }

    #[test]
    fn places_resolve_through_references_branches_and_items() {
        let schema = json!({
            "$defs": {"state": {"enum": ["open", "closed"]}, "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
            "properties": {
                "state": {"anyOf": [{"$ref": "#/$defs/state"}, {"type": "null"}]},
                "list": {"items": {"oneOf": [{"const": "a"}, {"type": "object", "properties": {"kind": {"const": "b"}}}]}},
                "pair": {"prefixItems": [{"const": "first"}], "items": {"const": "rest"}},
                "map": {"additionalProperties": {"const": "any"}},
                "a/b": {"const": "slash"}, "0": {"const": "zero"},
                "tree": {"$ref": "#/$defs/node"}, "loop": {"$ref": "#/properties/loop"},
            },
        });
        let places = Places::of(&schema);
        let values = |pointer: &str| places.values(pointer);
        assert_eq!(values("/state"), ["closed", "open"]);
        assert_eq!(values("/list/3"), ["a"]);
        assert_eq!(values("/list/3/kind"), ["b"]);
        assert_eq!((values("/pair/0"), values("/pair/1")), (vec!["first"], vec!["rest"]));
        assert_eq!((values("/map/x"), values("/a~1b"), values("/0")), (vec!["any"], vec!["slash"], vec!["zero"]));
        assert!(values("/loop").is_empty() && values("/nowhere/at/all").is_empty());
        let deep = "/tree".to_owned() + &"/next".repeat(50);
        assert_eq!(places.properties(&deep), [("next", false)]);
    }

    #[test]
    fn property_is_required_if_all_branches_require_it() {
        let branch = |required: [&str; 2]| json!({"type": "object", "required": required, "properties": {"a": {}, "b": {}, "c": {}}});
        let schema = json!({"properties": {"any": {"anyOf": [branch(["c", "a"]), branch(["c", "b"])]}}});
        let places = Places::of(&schema);
        let mut properties = places.properties("/any");
        properties.sort_unstable();
        assert_eq!(properties, [("a", false), ("b", false), ("c", true)]);
    }
}
