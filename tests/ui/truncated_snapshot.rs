mcp_bindgen::mcp_tools!("truncated");

fn main() {}
