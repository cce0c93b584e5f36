mcp_bindgen::mcp_tools!("unknown-default");

fn main() {}
