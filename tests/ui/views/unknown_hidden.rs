mcp_bindgen::mcp_tools!("unknown-hidden");

fn main() {}
