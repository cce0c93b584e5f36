mcp_bindgen::mcp_template!("prompts/fnie.md");

fn main() {}
