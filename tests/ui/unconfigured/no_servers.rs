mcp_bindgen::mcp_tools!();

fn main() {}
