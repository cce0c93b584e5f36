mcp_bindgen::mcp_tools!("traced");

fn main() {}
