mcp_bindgen::mcp_template!("prompts/open_bracket.md");

fn main() {}
