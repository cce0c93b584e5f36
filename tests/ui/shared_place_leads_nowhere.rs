mcp_bindgen::mcp_tools!("memory", shared = { Entity = "create_entities/entitys/*" });

fn main() {}
