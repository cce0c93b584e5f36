mcp_bindgen::mcp_template!("prompts/unknown_argument.md");

fn main() {}
