mcp_bindgen::mcp_tools!("renamed");

fn main() {}
