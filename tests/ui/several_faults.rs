// Each server has its own error.
mcp_bindgen::mcp_tools!("github", "unsynced", "truncated");

fn main() {}
