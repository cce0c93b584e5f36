mcp_bindgen::mcp_tools!(
    "memory",
    shared = { Entity = "create_entities/entities/*", Thing = "read_graph/$output/entities/*" }
);

fn main() {}
