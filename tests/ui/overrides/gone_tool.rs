// The server has no such tool, or no longer.
mcp_bindgen::mcp_tools!("gone-tool");

fn main() {}
