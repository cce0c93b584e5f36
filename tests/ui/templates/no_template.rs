mcp_bindgen::mcp_template!();

fn main() {}
