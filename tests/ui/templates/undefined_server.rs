mcp_bindgen::mcp_template!("prompts/undefined_server.md");

fn main() {}
