//! `list --shapes`, and what `shared` and `extern` in the configuration lead to.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{Project, fixtures};
use serde_json::{Value, json};

fn with_memory(rust: &str) -> Project {
    let project = Project::empty();
    project.write("mcp.toml", &format!("[servers.memory]\nnpm = \"x\"\n{rust}"));
    let list = std::fs::read_to_string(fixtures().join("lists/memory.json")).expect("the list can be read");
    project.write("mcp/memory.json", &list);
    project
}

const ENTITY: &str = "[servers.memory.rust]\nshared = { Entity = \"create_entities/entities/*\" }\n";

#[test]
fn repeated_shapes_are_listed_with_a_suggested_name() {
    let list = with_memory("").run(&["list", "--shapes"]).exits_with(0);
    assert_eq!(
        list.stdout,
        "memory: Entity = \"create_entities/entities/*\"\n\
         \x20   create_entities/entities/*          MemoryCreateEntitiesParamsEntitiesItem\n\
         \x20   open_nodes/$output/entities/*       MemoryOpenNodesOutputEntitiesItem\n\
         \x20   read_graph/$output/entities/*       MemoryReadGraphOutputEntitiesItem\n\
         \x20   search_nodes/$output/entities/*     MemorySearchNodesOutputEntitiesItem\n\
         \x20   create_entities/$output/entities/*  MemoryCreateEntitiesOutputEntitiesItem\n\
         memory: Relation = \"create_relations/relations/*\"\n\
         \x20   create_relations/relations/*          MemoryCreateRelationsParamsRelationsItem\n\
         \x20   open_nodes/$output/relations/*        MemoryOpenNodesOutputRelationsItem\n\
         \x20   read_graph/$output/relations/*        MemoryReadGraphOutputRelationsItem\n\
         \x20   search_nodes/$output/relations/*      MemorySearchNodesOutputRelationsItem\n\
         \x20   create_relations/$output/relations/*  MemoryCreateRelationsOutputRelationsItem\n\
         memory: OpenNodes = \"open_nodes/$output\"\n\
         \x20   open_nodes/$output    MemoryOpenNodesOutput\n\
         \x20   read_graph/$output    MemoryReadGraphOutput\n\
         \x20   search_nodes/$output  MemorySearchNodesOutput\n"
    );
}

#[test]
fn listed_shapes_can_be_shared_as_printed() {
    let listed = with_memory("").run(&["list", "--shapes", "--format", "json"]).exits_with(0).json();
    let rules: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|shape| format!("{} = {}", shape["suggested"].as_str().unwrap(), shape["places"][0]["place"]))
        .collect();
    let project = with_memory(&format!("[servers.memory.rust]\nshared = {{ {} }}\n", rules.join(", ")));
    let shared = project.run(&["list", "--shapes", "--format", "json"]).exits_with(0).json();
    let types = |shape: &Value| -> Vec<String> {
        let places = shape["places"].as_array().unwrap().iter();
        places.map(|place| place["type"].as_str().unwrap().to_owned()).collect()
    };
    for (before, after) in listed.as_array().unwrap().iter().zip(shared.as_array().unwrap()) {
        assert_eq!((&before["name"], &after["name"]), (&Value::Null, &before["suggested"]), "{after}");
        assert_eq!(after["server"], json!("memory"));
        let name = format!("Memory{}", after["name"].as_str().unwrap());
        assert!(types(before).len() > 1 && types(after).iter().all(|found| *found == name), "{after}");
    }
}

#[test]
fn snapshot_without_repeated_shapes_is_reported() {
    let project = Project::empty();
    project.write("gh.json", r#"{"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}"#);
    let list = project.run(&["list", "--shapes", "--snapshot", "gh.json"]).exits_with(0);
    assert_eq!(list.stdout, "");
    list.says("`gh`: no repeated shapes");
}

#[test]
fn expand_and_list_apply_shared_types() {
    let expanded = with_memory(ENTITY).run(&["expand", "memory"]).exits_with(0);
    assert_eq!(expanded.stdout.matches("pub struct MemoryEntity ").count(), 1);
    assert!(!expanded.stdout.contains("EntitiesItem"), "{}", expanded.stdout);
    let listed = with_memory(ENTITY).run(&["list", "memory"]).exits_with(0).stdout;
    assert!(listed.contains("memory::memory_read_graph(MemoryReadGraphParams) -> MemoryReadGraphOutput"), "{listed}");
}

#[test]
fn invalid_rule_is_reported_at_its_line() {
    for (rust, message) in [
        (
            "[servers.memory.rust.shared]\nEntity = \"create_entities/entity/*\"\n",
            "in `shared`: `create_entities/entity/*` not found: no `entity` in `create_entities`\n --> mcp.toml:4:1\n  = help: there is `entities`",
        ),
        (
            "[servers.memory.rust.extern]\n\"#/$defs/Entity\" = \"crate::Entity\"\n",
            "in `extern`: no bound tool has the definition `#/$defs/Entity`\n --> mcp.toml:4:1\n  = help: no schema of these tools has `$defs` or `definitions`",
        ),
    ] {
        for command in ["list", "expand"] {
            with_memory(rust).run(&[command, "memory"]).exits_with(1).says(message);
        }
    }
}
