mcp_bindgen::mcp_template!("prompts/wrong_expression.md");

fn main() {}
