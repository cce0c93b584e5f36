mcp_bindgen::mcp_tools!("gitub");

fn main() {}
