mcp_bindgen::mcp_tools!("memory", shared = { entity = "create_entities/entities/*" });

fn main() {}
