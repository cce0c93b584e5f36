mcp_bindgen::mcp_tools!("unknown-argument");

fn main() {}
