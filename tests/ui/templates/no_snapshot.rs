mcp_bindgen::mcp_template!("prompts/no_snapshot.md");

fn main() {}
