mcp_bindgen::mcp_tools!("out-of-bounds");

fn main() {}
