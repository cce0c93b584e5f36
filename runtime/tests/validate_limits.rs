//! Schemas that would keep a validator busy for years, or fill the memory: each is refused, or checks values, at once.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[path = "../../mcp-codegen/tests/harness/watchdog.rs"]
mod watchdog;

use std::time::{Duration, Instant};

use mcp_bindgen_runtime::validate::{UnusableSchema, Validator};
use serde_json::{Map, Value, json};

/// Far above what a case takes without optimisation on a busy machine.
const AT_MOST: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_secs(30);
const MOST_MEMORY_KB: u64 = 400_000;

/// A schema that is made of others.
type Wrap = fn(Vec<Value>) -> Value;

/// How a definition is named and referred to.
#[derive(Clone, Copy, Debug)]
enum Naming {
    Pointer,
    EncodedPointer,
    Anchor,
    Id,
    RelativeId,
    PointerIntoId,
    Draft4Id,
    Draft4Anchor,
    Dynamic,
    Recursive,
}

impl Naming {
    const ALL: [Self; 10] = [
        Self::Pointer,
        Self::EncodedPointer,
        Self::Anchor,
        Self::Id,
        Self::RelativeId,
        Self::PointerIntoId,
        Self::Draft4Id,
        Self::Draft4Anchor,
        Self::Dynamic,
        Self::Recursive,
    ];

    fn reference(self, index: usize) -> Value {
        match self {
            Self::Pointer => json!({"$ref": format!("#/definitions/d{index}")}),
            Self::EncodedPointer => json!({"$ref": format!("#/%64efinitions/d{index}")}),
            Self::Anchor | Self::Draft4Anchor => json!({"$ref": format!("#d{index}")}),
            Self::Id => json!({"$ref": format!("urn:d{index}")}),
            Self::RelativeId | Self::Draft4Id => json!({"$ref": format!("../x/d{index}.json")}),
            Self::PointerIntoId => json!({"$ref": format!("d{index}.json#/definitions/in")}),
            Self::Dynamic => json!({"$dynamicRef": format!("#d{index}")}),
            Self::Recursive => json!({"$ref": format!("urn:d{index}"), "$recursiveRef": "#"}),
        }
    }

    fn named(self, index: usize, mut schema: Value) -> Value {
        let (keyword, name) = match self {
            Self::Pointer | Self::EncodedPointer => return schema,
            Self::Anchor => ("$anchor", format!("d{index}")),
            Self::Id | Self::Recursive => ("$id", format!("urn:d{index}")),
            Self::RelativeId => ("$id", format!("d{index}.json")),
            Self::PointerIntoId => {
                return json!({"$id": format!("d{index}.json"), "definitions": {"in": schema}});
            }
            Self::Draft4Id => ("id", format!("d{index}.json")),
            Self::Draft4Anchor => ("id", format!("#d{index}")),
            Self::Dynamic => ("$dynamicAnchor", format!("d{index}")),
        };
        schema[keyword] = name.into();
        schema
    }

    fn document(self, definitions: impl IntoIterator<Item = Value>) -> Value {
        let definitions: Map<_, _> = definitions
            .into_iter()
            .enumerate()
            .map(|(index, schema)| (format!("d{index}"), self.named(index, schema)))
            .collect();
        let (dialect, id) = match self {
            Self::Draft4Id | Self::Draft4Anchor => ("http://json-schema.org/draft-04/schema#", "id"),
            Self::Recursive => ("https://json-schema.org/draft/2019-09/schema", "$id"),
            _ => ("https://json-schema.org/draft/2020-12/schema", "$id"),
        };
        json!({"$schema": dialect, id: "https://example.com/x/root.json", "definitions": definitions,
               "properties": {"a": self.reference(0)}})
    }

    /// `count` definitions, each of which refers twice to the next.
    fn doubled(self, count: usize, wrap: Wrap) -> Value {
        let doubled = (0..count).map(|index| wrap(vec![self.reference(index + 1); 2]));
        self.document(doubled.chain([json!({"type": "integer"})]))
    }

    /// `count` definitions, each of which refers to all the others.
    fn complete(self, count: usize, wrap: Wrap) -> Value {
        let others = |index| (0..count).filter(move |other| *other != index).map(|other| self.reference(other));
        self.document((0..count).map(|index| wrap(others(index).collect())))
    }
}

/// Compiles a schema and checks values, and holds both to the limits.
fn compile(case: &str, schema: &Value) -> Result<Validator, UnusableSchema> {
    watchdog::within(DEADLINE, case, || {
        let started = Instant::now();
        let validator = Validator::new(schema);
        if let Ok(validator) = &validator {
            for value in [json!({"a": 1}), json!({"a": {"p0": {"p1": [1]}}}), json!([])] {
                let _ = validator.check(&value);
            }
        }
        assert!(started.elapsed() < AT_MOST, "{case}: {:?}", started.elapsed());
        assert!(peak_memory_kb() < MOST_MEMORY_KB, "{case}: {} kB", peak_memory_kb());
        validator
    })
}

fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn refused(case: &str, schema: &Value) {
    let message = match compile(case, schema) {
        Ok(_) => panic!("{case}: accepted"),
        Err(unusable) => unusable.message,
    };
    let limits = ["times", "ways", "too many targets"];
    assert!(limits.iter().any(|limit| message.contains(limit)), "{case}: {message}");
}

fn properties(schemas: Vec<Value>) -> Value {
    let named: Map<_, _> =
        schemas.into_iter().enumerate().map(|(index, schema)| (format!("p{index}"), schema)).collect();
    json!({ "properties": named })
}

const BESIDE: [(&str, Wrap); 5] = [
    ("allOf", |schemas| json!({ "allOf": schemas })),
    ("anyOf", |schemas| json!({ "anyOf": schemas })),
    ("not", |schemas| json!({"not": {"oneOf": schemas}})),
    ("if", |schemas| json!({"if": schemas[0], "then": schemas[1], "else": {"allOf": schemas}})),
    ("dependencies", |schemas| json!({"dependencies": {"x": {"allOf": schemas}}})),
];

#[test]
fn exponential_references_are_refused_in_any_form() {
    for naming in Naming::ALL {
        for (keyword, wrap) in BESIDE {
            refused(&format!("doubled by {naming:?} in {keyword}"), &naming.doubled(40, wrap));
        }
    }
}

#[test]
fn mutually_recursive_schemas_are_refused_in_any_form() {
    for naming in Naming::ALL {
        for (keyword, wrap) in BESIDE {
            for count in [6, 17] {
                refused(&format!("{count} of each other by {naming:?} in {keyword}"), &naming.complete(count, wrap));
            }
        }
    }
}

#[test]
fn nested_references_are_followed_only_as_deep_as_the_value() {
    for naming in Naming::ALL {
        let case = format!("doubled properties by {naming:?}");
        match compile(&case, &naming.doubled(40, properties)) {
            Ok(validator) => {
                assert!(validator.check(&json!({"a": {"p0": {"p1": {}}}})).is_ok(), "{case}");
                let end = (0..40).fold(json!("x"), |inner, index| json!({format!("p{}", index % 2): inner}));
                assert!(validator.check(&json!({"a": end})).is_err(), "{case}");
            }
            // A `$recursiveRef` depends on the path that leads to it, so this schema may be refused.
            Err(unusable) => assert!(matches!(naming, Naming::Recursive), "{case}: {unusable}"),
        }
        let case = format!("properties of each other by {naming:?}");
        let complete = |schemas| {
            let mut object = properties(schemas);
            object["type"] = "object".into();
            object
        };
        match compile(&case, &naming.complete(17, complete)) {
            Ok(validator) => {
                assert!(validator.check(&json!({"a": {"p0": {"p15": {"p3": {}}}}})).is_ok(), "{case}");
                assert!(validator.check(&json!({"a": {"p0": {"p15": {"p3": 1}}}})).is_err(), "{case}");
            }
            Err(unusable) => assert!(matches!(naming, Naming::Recursive), "{case}: {unusable}"),
        }
    }
}

#[test]
fn schemas_that_dynamic_references_copy_for_each_path_are_bounded() {
    let doubled = |count: usize, mut large: Value| {
        let properties = |next: usize| json!({"a": {"$dynamicRef": format!("p{next}#P{next}")}, "b": {"$dynamicRef": format!("q{next}#Q{next}")}});
        let mut definitions = Map::new();
        for (index, name) in (0..count).flat_map(|index| [(index, "p"), (index, "q")]) {
            let own = (format!("{name}{index}"), format!("{}{index}", name.to_uppercase()));
            let inner = if index + 1 < count { properties(index + 1) } else { json!({"c": {"$ref": "large"}}) };
            definitions.insert(own.0.clone(), json!({"$id": own.0, "$dynamicAnchor": own.1, "properties": inner}));
            let again = json!({"$dynamicAnchor": own.1});
            let others = definitions.entry("others").or_insert_with(|| json!({"$id": "others", "$defs": {}}));
            others["$defs"][own.1] = again;
        }
        large["$id"] = "large".into();
        definitions.insert("large".to_owned(), large);
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/root.json",
               "$defs": definitions, "properties": properties(0)})
    };
    for count in [20, 30, 100] {
        refused(&format!("{count} doubled by dynamic references"), &doubled(count, json!({"type": "integer"})));
    }
    let unknown: Value = (0..20_000).map(|index| (format!("a{index}"), json!(0))).collect();
    for (case, large) in [
        ("a long name", json!({"properties": {"k".repeat(1_000_000): true}})),
        ("a long dependency", json!({"dependencies": {"k".repeat(200_000): []}})),
        ("a long list of dependencies", json!({"dependencies": {"k": vec![json!("k"); 100_000]}})),
        ("a long reference", json!({"$ref": "https://json-schema.org/".to_owned() + &"k".repeat(200_000)})),
        ("many unknown keywords", unknown),
    ] {
        refused(&format!("{case} in 1,024 scopes"), &doubled(10, large));
    }
    let validator = compile("few dynamic references", &doubled(4, json!({"type": "integer"}))).unwrap();
    assert!(validator.check(&json!({"a": {"b": {"a": {"b": {"c": 1}}}}})).is_ok());
    assert!(validator.check(&json!({"a": {"b": {"a": {"b": {"c": "1"}}}}})).is_err());

    let many: Vec<_> = (0..15_000).map(|_| json!({"$dynamicAnchor": "a"})).collect();
    let references: Vec<_> = (0..15_000).map(|_| json!({"$dynamicRef": "#a"})).collect();
    let schema =
        json!({"$defs": {"many": {"allOf": many}}, "$dynamicAnchor": "a", "properties": properties(references)});
    refused("many anchors and references", &schema);

    let resource = |index| json!({"$id": format!("a{index}"), "$dynamicAnchor": "x", "$ref": "root#/$defs/large"});
    let mut schema = properties((0..99).map(|index| json!({"$ref": format!("a{index}")})).collect());
    schema["$id"] = "root".into();
    schema["$defs"] = (0..99).map(|index| (format!("a{index}"), resource(index))).collect();
    schema["$defs"]["large"] = json!({"const": vec![0; 48_000]});
    schema["properties"]["dynamic"] = json!({"$dynamicRef": "a0#x"});
    refused("copies of a large schema", &schema);
}

#[test]
fn descriptions_do_not_count_towards_the_limit_of_copies() {
    let property = json!({"description": "d".repeat(2000), "$dynamicRef": "#T"});
    let mut generic = properties(vec![property; 20]);
    generic["$id"] = "generic".into();
    generic["$defs"]["T"] = json!({"$dynamicAnchor": "T"});
    let integers = |index| {
        let id = format!("r{index}");
        let resource =
            json!({"$id": id, "$defs": {"T": {"$dynamicAnchor": "T", "type": "integer"}}, "$ref": "generic"});
        (id, resource)
    };
    let mut schema = properties((0..30).map(|index| json!({"$ref": format!("r{index}")})).collect());
    schema["$id"] = "https://example.com/root".into();
    schema["$defs"] = (0..30).map(integers).collect();
    schema["$defs"]["generic"] = generic;
    let validator = compile("a generic resource", &schema).unwrap();
    assert!(validator.check(&json!({"p29": {"p19": 1}})).is_ok());
    assert!(validator.check(&json!({"p29": {"p19": "1"}})).is_err());
}

#[test]
fn wide_and_long_parts_take_no_more_than_their_size() {
    assert!(compile("a long list", &json!({"enum": (0..100_000).collect::<Vec<_>>()})).is_ok());
    let many = properties(vec![json!({"type": "integer"}); 60_000]);
    let unusable = compile("a long name above many", &json!({"properties": {"k".repeat(500_000): many}})).unwrap_err();
    assert!(unusable.message.contains("bytes"), "{unusable}");
}

#[test]
fn many_costly_or_skipped_parts_take_little_time() {
    let mut costly = Naming::Pointer.doubled(11, BESIDE[0].1);
    assert!(compile("a costly part", &costly).is_ok());
    costly["properties"] = (0..5_000).map(|index| (format!("p{index}"), Naming::Pointer.reference(0))).collect();
    assert!(compile("many costly parts", &costly).is_ok());
    let union = |last: Value| {
        let branches: Vec<_> = (0..998).map(|index| json!({ "const": index })).chain([last]).collect();
        let mut schema = properties(vec![json!({"$ref": "#/$defs/u"}); 6_000]);
        schema["$defs"] = json!({"u": {"anyOf": branches}});
        schema
    };
    assert!(compile("a large union in many places", &union(json!({"const": "x"}))).is_ok());
    assert!(compile("a recursive union in many places", &union(json!({"$ref": "#/$defs/u"}))).is_ok());
    let skipped = compile("many skipped parts", &properties(vec![json!({"allOf": ["x"]}); 20_000])).unwrap();
    assert_eq!(skipped.skipped().len(), 20_000);
    let skipped = compile("many tried parts", &properties(vec![json!({"not": "x"}); 2_000])).unwrap();
    assert_eq!(skipped.skipped().len(), 2_000);
}

#[test]
fn unevaluated_keywords_count_towards_the_limit() {
    let nested = |depth, keyword: &str, branches: &str| {
        let innermost = json!({"properties": {"a": {}}});
        (0..depth).fold(innermost, |inner, _| json!({keyword: false, branches: [inner]}))
    };
    for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
        for branches in ["allOf", "anyOf", "oneOf"] {
            let case = format!("{keyword} over {branches}");
            refused(&case, &nested(30, keyword, branches));
            let validator = compile(&case, &nested(4, keyword, branches)).expect(&case);
            assert!(validator.check(&json!({"a": 1})).is_ok(), "{case}");
            assert!(compile(&case, &nested(10, keyword, branches)).is_ok(), "{case}");
            let wide = json!({keyword: false, branches: (0..5_000).map(|index| json!({ "const": index })).collect::<Vec<_>>()});
            assert!(compile(&case, &wide).is_ok(), "{case}");
        }
    }
}

#[test]
fn finite_recursion_is_accepted() {
    let list = json!({"$id": "list", "type": "array", "items": {"anyOf": [{"$ref": "list"}, {"$ref": "leaf"}]}});
    let tree = json!({"properties": {"l": {"$ref": "#tree"}, "r": {"$ref": "#tree"}}, "required": ["v"],
                      "$anchor": "tree", "additionalProperties": {"$ref": "list"}});
    let schema = json!({"$ref": "#tree", "$defs": {
        "tree": tree, "list": list, "leaf": {"$id": "leaf", "enum": [1, 2]}, "loop": {"allOf": [{"$ref": "#/$defs/loop"}]},
    }});
    let validator = compile("a tree of lists", &schema).unwrap();
    assert!(validator.check(&json!({"v": [[1, [2]]], "l": {"v": []}})).is_ok());
    assert_eq!(validator.check(&json!({"v": [[1, [3]]]})).unwrap_err().pointer, "/v/0");
    assert_eq!(validator.check(&json!({"v": [], "l": {"r": {}}})).unwrap_err().pointer, "/l");
}
