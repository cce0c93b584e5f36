mcp_bindgen::mcp_template!("prompts/fine.md", module = fine);

fn main() {}
