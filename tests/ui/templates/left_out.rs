mcp_bindgen::mcp_template!("prompts/left_out.md");

fn main() {}
