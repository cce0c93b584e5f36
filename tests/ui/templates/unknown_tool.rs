mcp_bindgen::mcp_template!("prompts/unknown_tool.md");

fn main() {}
