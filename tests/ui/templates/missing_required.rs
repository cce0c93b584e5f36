mcp_bindgen::mcp_template!("prompts/missing_required.md");

fn main() {}
