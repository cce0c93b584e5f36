mcp_bindgen::mcp_template!("prompts/wrong_literal.md");

fn main() {}
