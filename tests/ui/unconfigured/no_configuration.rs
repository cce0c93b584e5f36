mcp_bindgen::mcp_tools!("github");

fn main() {}
