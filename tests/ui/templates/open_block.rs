mcp_bindgen::mcp_template!("prompts/open_block.md");

fn main() {}
