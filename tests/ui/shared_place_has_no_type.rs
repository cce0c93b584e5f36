mcp_bindgen::mcp_tools!("memory", shared = { Entities = "create_entities/entities" });

fn main() {}
