mcp_bindgen::mcp_tools!("memory", shared = { DeleteEntitiesParams = "create_entities/entities/*" });

fn main() {}
