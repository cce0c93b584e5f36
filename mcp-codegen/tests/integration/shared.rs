//! `shared`: one type for every place of a shape.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mcp_bindgen_codegen::{AlikeShapes, Bindings, Options, format};
use mcp_bindgen_model::{Prefix, Snapshot, Types, UnknownKeys};
use serde_json::{Value, json};

fn memory() -> Snapshot {
    Snapshot::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/lists/memory.json")).unwrap()
}

fn list(tools: &Value) -> Snapshot {
    Snapshot::parse(&json!({ "tools": tools }).to_string()).unwrap()
}

/// The generated code, after a look for faults.
#[track_caller]
fn code(snapshot: &Snapshot, options: &Options) -> String {
    let faults: Vec<String> = Bindings::faults(snapshot, options).iter().map(|fault| fault.error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    format(Bindings::generate(snapshot, options).0).unwrap()
}

#[track_caller]
fn fault(snapshot: &Snapshot, options: &Options) -> String {
    let faults = Bindings::faults(snapshot, options);
    let [fault] = faults.as_slice() else { panic!("{faults:?}") };
    // The generator ignores the faulty option, and the rest is still valid code.
    format(Bindings::generate(snapshot, options).0).unwrap();
    fault.error.to_string()
}

fn types(code: &str) -> Vec<&str> {
    let of_line = |line| {
        let line = str::trim(line);
        let rest = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "))?;
        rest.split(|char: char| !char.is_alphanumeric()).next()
    };
    code.lines().filter_map(of_line).collect()
}

fn shared(name: &str, place: &str) -> Options {
    Options::new("memory").shared(name, place)
}

#[test]
fn every_equal_shape_has_one_shared_type() {
    let options = shared("Entity", "create_entities/entities/*").shared("Relation", "read_graph/$output/relations/*");
    let code = code(&memory(), &options);
    assert_eq!(code.matches("pub struct MemoryEntity ").count(), 1, "{code}");
    assert_eq!(code.matches("pub entities: Vec<MemoryEntity>,").count(), 5, "{code}");
    assert_eq!(code.matches("pub relations: Vec<MemoryRelation>,").count(), 5, "{code}");
    let names = types(&code);
    assert!(!names.iter().any(|name| name.ends_with("EntitiesItem") || name.ends_with("RelationsItem")), "{names:?}");
}

#[test]
fn closed_output_objects_equal_open_parameter_objects() {
    // As zod writes it: objects without `additionalProperties` in parameters, and with `false` in results.
    let mut list = memory();
    for tool in &mut list.tools {
        let text = tool["inputSchema"].to_string().replace(",\"additionalProperties\":false", "");
        tool["inputSchema"] = serde_json::from_str(&text).unwrap();
    }
    let code = code(&list, &shared("Entity", "create_entities/entities/*"));
    assert_eq!(code.matches("pub entities: Vec<MemoryEntity>,").count(), 5, "{code}");
}

#[test]
fn shared_parameter_is_strict_if_every_use_is_strict() {
    let tool = |name: &str, more: bool| {
        json!({"name": name, "inputSchema": {"type": "object", "properties": {"it": {
            "type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": more}}}})
    };
    let mut lenient = tool("take", false);
    lenient["inputSchema"]["properties"]["it"].as_object_mut().unwrap().remove("additionalProperties");
    let options = Options::new("s").shared("It", "put/it");
    let strict = code(&list(&json!([tool("put", false), tool("take", false)])), &options);
    assert!(strict.contains("} deny"), "{strict}");
    let mixed = code(&list(&json!([tool("put", false), lenient])), &options);
    assert!(mixed.contains("pub it: Option<SIt>") && !mixed.contains("} deny"), "{mixed}");
    let kept = code(&list(&json!([tool("put", false), tool("take", true)])), &options);
    assert!(kept.contains("pub struct STakeParamsIt "), "another type, with a field for what is not declared: {kept}");
}

#[test]
fn shared_type_of_a_result_is_lenient_everywhere() {
    let entity = |open: bool| {
        json!({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"],
               "additionalProperties": open})
    };
    let tool = |name: &str, output: bool| {
        let schema = json!({"type": "object", "properties": {"it": entity(false)}});
        let mut tool = json!({"name": name, "inputSchema": schema});
        if output {
            tool["outputSchema"] = schema;
        }
        tool
    };
    let options = Options::new("s").shared("Thing", "put/it");
    let sent = code(&list(&json!([tool("put", false), tool("take", false)])), &options);
    assert!(sent.contains("} deny"), "{sent}");
    assert!(!sent.contains("open Other"), "{sent}");
    let answered = code(&list(&json!([tool("put", false), tool("take", true)])), &options);
    assert!(!answered.contains("} deny"), "{answered}");
    assert_eq!(answered.matches("open Other").count(), 1, "{answered}");
    assert_eq!(types(&answered).iter().filter(|name| name.starts_with("SThing")).count(), 2, "{answered}");
    assert!(answered.contains("pub enum SThingKind"), "{answered}");
}

#[test]
fn order_of_tools_and_rules_has_no_effect() {
    let read = |snapshot: &Snapshot, options: &Options| {
        let code = code(snapshot, options);
        let mut names: Vec<String> = types(&code).into_iter().map(str::to_owned).collect();
        names.sort();
        names
    };
    let (mut forwards, mut backwards) = (memory(), memory());
    backwards.tools.reverse();
    let first = shared("Graph", "read_graph/$output").shared("Entity", "create_entities/entities/*");
    let second = shared("Entity", "create_entities/entities/*").shared("Graph", "read_graph/$output");
    assert_eq!(read(&forwards, &first), read(&backwards, &second));
    forwards.tools.rotate_left(3);
    assert_eq!(read(&forwards, &second), read(&backwards, &first));
}

#[test]
fn whole_result_can_be_shared() {
    let text = code(&memory(), &shared("Graph", "search_nodes/$output"));
    assert_eq!(text.matches("pub struct MemoryGraph ").count(), 1);
    assert_eq!(text.matches("-> Result<MemoryGraph, CallError>").count(), 3, "handlers");
    assert_eq!(text.matches("MemoryGraph, output_schema of").count(), 1);
    let names = types(&text);
    assert!(names.contains(&"MemoryGraphEntitiesItem") && names.contains(&"MemoryGraphRelationsItem"), "{names:?}");
    // The types inside a shared type are shared with it, also elsewhere.
    assert!(!names.contains(&"MemoryCreateEntitiesParamsEntitiesItem"), "{names:?}");
    let (tools, _) = Bindings::describe(&memory(), &shared("Graph", "search_nodes/$output"));
    let outputs: Vec<_> = tools.iter().filter_map(|tool| tool.output_type.as_deref()).collect();
    assert_eq!(outputs.iter().filter(|name| **name == "MemoryGraph").count(), 3, "{outputs:?}");
}

#[test]
fn recursive_types_are_shared() {
    let node = |next: &str| {
        json!({"type": "object", "properties": {"value": {"type": "string"}, "next": {"$ref": next}},
               "required": ["value"]})
    };
    let tool = |name: &str, definitions: Value| {
        json!({"name": name, "inputSchema": {
            "type": "object", "properties": {"list": {"$ref": "#/$defs/Node"}}, "$defs": definitions}})
    };
    let plain = tool("plain", json!({"Node": node("#/$defs/Node")}));
    let unrolled = tool("unrolled", json!({"Node": node("#/$defs/Inner"), "Inner": node("#/$defs/Inner")}));
    let list = list(&json!([plain, unrolled]));
    for place in ["plain/list", "unrolled/list", "unrolled/list/next"] {
        let code = code(&list, &Options::new("s").shared("Node", place));
        assert_eq!(types(&code).iter().filter(|name| name.contains("Node")).count(), 1, "{place}: {code}");
        assert!(code.contains("pub next: Option<Box<SNode>>"), "{place}: {code}");
    }
}

#[test]
fn types_that_contain_their_parameters_are_not_shared() {
    let schema = json!({"type": "object", "properties": {
        "it": {"type": "object", "properties": {"all": {"$ref": "#"}}, "required": ["all"]}}});
    let list = list(&json!([{"name": "a", "inputSchema": schema}, {"name": "b", "inputSchema": schema}]));
    let code = code(&list, &Options::new("s").shared("It", "a/it"));
    assert!(code.contains("pub struct SIt {") && code.contains("pub struct SBParamsIt {"), "{code}");
}

#[test]
fn type_inside_two_shared_types_has_one_name() {
    let kind = json!({"enum": ["x", "y"]});
    let tool = |name: &str, key: &str| {
        json!({"name": name, "inputSchema": {"type": "object", "properties": {
            "it": {"type": "object", "properties": {key: kind}, "required": [key]}}}})
    };
    let list = list(&json!([tool("a", "first"), tool("b", "second")]));
    let code = code(&list, &Options::new("s").shared("Alpha", "a/it").shared("Beta", "b/it"));
    assert_eq!(code.matches("pub enum ").count() - code.matches("pub enum SCall").count(), 1, "{code}");
    assert!(code.contains("pub enum SAlphaFirst"), "{code}");
    assert!(code.contains("pub second: SAlphaFirst"), "{code}");
}

#[test]
fn field_of_a_shared_type_is_renamed_everywhere() {
    let rename = |options: Options, name: &str| options.rename("read_graph/$output/entities/*/entityType", name);
    let entity = shared("Entity", "create_entities/entities/*");
    let code = code(&memory(), &rename(entity.clone(), "kind"));
    assert!(code.contains("pub kind: String") && !code.contains("pub entity_type"), "{code}");
    let twice = rename(entity.clone(), "kind").rename("open_nodes/$output/entities/*/entityType", "sort");
    assert_eq!(
        fault(&memory(), &twice),
        "in `rename`: `open_nodes/$output/entities/*/entityType` is the same field as another place, which renames it to `kind`\n  = help: both places have one type: use one name"
    );
    let wrapped = shared("Graph", "read_graph/$output").rename("open_nodes/$output/entities", "nodes");
    assert!(self::code(&memory(), &wrapped).contains("pub nodes: Vec<MemoryGraphEntitiesItem>"));
}

#[test]
fn keeping_unknown_keys_does_not_affect_sharing() {
    let options = shared("Entity", "create_entities/entities/*").unknown(UnknownKeys::Keep);
    let code = code(&memory(), &options);
    assert_eq!(code.matches("pub entities: Vec<MemoryEntity>,").count(), 5, "{code}");
    let (_, entity) = code.split_once("pub struct MemoryEntity ").unwrap();
    let (entity, _) = entity.split_once("::mcp_bindgen::__private::__tool!").unwrap();
    assert!(entity.contains("pub extra: BTreeMap<String, Value>"), "{entity}");
    // A type that occurs only in arguments and refuses other keys has no field for undeclared keys.
    let tool = |name: &str| {
        json!({"name": name, "inputSchema": {"type": "object", "properties": {"it": {
            "type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}}}})
    };
    let options = Options::new("s").shared("It", "put/it").unknown(UnknownKeys::Keep);
    let strict = self::code(&list(&json!([tool("put"), tool("take")])), &options);
    let (_, it) = strict.split_once("pub struct SIt ").unwrap();
    assert!(it.split_once("deny").unwrap().0.find("extra").is_none(), "{strict}");
    assert_eq!(
        Bindings::alike_shapes(&memory(), &Options::new("memory")),
        Bindings::alike_shapes(&memory(), &Options::new("memory").unknown(UnknownKeys::Keep)),
    );
}

#[test]
fn derives_of_a_shared_type_consider_every_use() {
    // In parameters alone the enum would be `Copy`, and so would what holds it.
    let schema = json!({"type": "object", "properties": {"it": {"enum": ["a", "b"]}}, "required": ["it"]});
    let list = list(&json!([
        {"name": "put", "inputSchema": schema},
        {"name": "take", "inputSchema": {"type": "object"}, "outputSchema": schema},
        {"name": "flag", "inputSchema": {"type": "object", "properties": {"on": {"type": "boolean"}}}},
    ]));
    let derives = |options: &Options| {
        let code = code(&list, options);
        let (before, _) = code.split_once("pub struct SPutParams ").unwrap();
        before.rsplit("#[derive(").next().unwrap().contains("Copy")
    };
    let plain = Options::new("s").derive(["Copy"]);
    assert!(derives(&plain));
    assert!(!derives(&plain.clone().shared("Choice", "take/$output/it")));
    assert!(!derives(&plain.shared("Choice", "put/it")));
}

#[test]
fn shared_rule_names_a_single_use() {
    let code = code(&memory(), &shared("Added", "add_observations/$output/results/*"));
    assert!(code.contains("pub struct MemoryAdded {"), "{code}");
    let bare = Options::new("memory").prefix(Prefix::None).shared("Added", "add_observations/$output/results/*");
    assert!(self::code(&memory(), &bare).contains("pub struct Added {"));
}

#[test]
fn invalid_shared_rules_are_refused() {
    let entities = "create_entities/entities/*";
    for (options, expected) in [
        (
            shared("Entity", "create_entities/entitys/*"),
            "in `shared`: `create_entities/entitys/*` not found: no `entitys` in `create_entities`\n  = help: did you mean `entities`?",
        ),
        (
            shared("Entity", "create_entity/entities/*"),
            "in `shared`: `create_entity/entities/*` not found: unknown tool `create_entity`\n  = help: did you mean `create_entities`?",
        ),
        (
            shared("Entity", "create_entities/entities"),
            "in `shared`: `create_entities/entities` is an array, which has no type of its own\n  = help: share what is \
             in it: `create_entities/entities/*`",
        ),
        (
            shared("Name", "create_entities/entities/*/name"),
            "in `shared`: `create_entities/entities/*/name` is a string, which has no type of its own\n  = help: only \
             objects with properties, lists of values and unions have one",
        ),
        (
            shared("Entities", "create_entities"),
            "in `shared`: `create_entities` are the arguments of a tool, which have their own type\n  = help: share parts of them, or of results",
        ),
        (
            shared("Entity", entities).shared("Thing", "read_graph/$output/entities/*"),
            "in `shared`: `read_graph/$output/entities/*` is already shared as `Entity`, and cannot be `Thing` too\n  = help: one shape has one name: remove one of them",
        ),
        (
            shared("DeleteEntitiesParams", entities),
            "in `shared`: tool `delete_entities` already has a type `MemoryDeleteEntitiesParams`\n  = help: choose another name",
        ),
        (
            shared("Call", entities),
            "in `shared`: the bindings already have a `MemoryCall`\n  = help: choose another name",
        ),
        (
            shared("Result", entities).prefix(Prefix::None),
            "in `shared`: the bindings already have a `Result`\n  = help: choose another name",
        ),
        (shared("entity", entities), "in `shared`: invalid type name `entity`\n  = help: did you mean `Entity`?"),
        (shared("En-tity", entities), "in `shared`: invalid type name `En-tity`\n  = help: did you mean `EnTity`?"),
        (
            shared("", entities),
            "in `shared`: invalid type name ``\n  = help: use letters and digits, beginning with a capital: `Entity`",
        ),
        (
            shared("Entity", entities).types(Types::Typify),
            "`shared` has no effect with `types = \"typify\"`\n  = help: remove one of the two",
        ),
    ] {
        assert_eq!(fault(&memory(), &options), expected);
    }
}

#[test]
fn place_with_several_types_is_refused() {
    let branch = |kind: &str| {
        json!({"type": "object", "properties": {"kind": {"const": kind}, "it": {
            "type": "object", "properties": {kind: {"type": "string"}}}}, "required": ["kind"]})
    };
    let schema = json!({"type": "object", "properties": {"all": {"oneOf": [branch("x"), branch("y")]}}});
    let list = list(&json!([{"name": "a", "inputSchema": schema}]));
    assert_eq!(
        fault(&list, &Options::new("s").shared("It", "a/all/it")),
        "in `shared`: `a/all/it` has types of several shapes\n  = help: `mcp-bindgen list --shapes` shows places of one type"
    );
    assert!(code(&list, &Options::new("s").shared("All", "a/all")).contains("pub enum SAll {"));
}

/// All listed shapes can be shared at once, and each becomes one type.
#[test]
fn all_repeated_shapes_in_the_fixtures_can_be_shared() {
    let mut groups = 0;
    for folder in ["lists", "features", "hostile", "snapshots"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if let (Some("json"), Ok(snapshot)) = (path.extension().and_then(|end| end.to_str()), Snapshot::load(&path))
            {
                groups += shares_everything(&path, &snapshot);
            }
        }
    }
    assert!(groups > 30, "{groups}");
}

fn shares_everything(path: &Path, snapshot: &Snapshot) -> usize {
    let shapes = Bindings::alike_shapes(snapshot, &Options::new("s"));
    let share = |options: Options, shape: &AlikeShapes| options.shared(&shape.suggested, &shape.places[0].place);
    let options = shapes.iter().fold(Options::new("s"), share);
    let faults: Vec<String> =
        Bindings::faults(snapshot, &options).iter().map(|fault| fault.error.to_string()).collect();
    assert!(faults.is_empty(), "{}: {faults:?}", path.display());
    let code = format(Bindings::generate(snapshot, &options).0).unwrap();
    let names = types(&code);
    let different: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), different.len(), "{}: a type is there twice: {names:?}", path.display());
    for (before, after) in shapes.iter().zip(Bindings::alike_shapes(snapshot, &options)) {
        let name = format!("S{}", before.suggested);
        assert!(different.contains(name.as_str()), "{}: {name}", path.display());
        assert!(after.places.iter().all(|place| place.type_name == name), "{}: {after:?}", path.display());
        assert_eq!(before.places.len(), after.places.len(), "{}", path.display());
    }
    shapes.len()
}
