mcp_bindgen::mcp_tools!("not-listed");

fn main() {}
