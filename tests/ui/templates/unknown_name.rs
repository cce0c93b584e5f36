mcp_bindgen::mcp_template!("prompts/unknown_name.md");

fn main() {}
