mcp_bindgen::mcp_tools!("unknown-tool");

fn main() {}
