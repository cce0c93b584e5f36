mcp_bindgen::mcp_tools!("name-reserved");

fn main() {}
