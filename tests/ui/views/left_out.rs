mcp_bindgen::mcp_tools!("left-out");

fn main() {}
