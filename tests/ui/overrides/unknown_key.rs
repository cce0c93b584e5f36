// A misspelt key.
mcp_bindgen::mcp_tools!("unknown-key");

fn main() {}
