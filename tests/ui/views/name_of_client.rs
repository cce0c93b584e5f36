mcp_bindgen::mcp_tools!("name-of-client");

fn main() {}
