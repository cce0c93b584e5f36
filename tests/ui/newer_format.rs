mcp_bindgen::mcp_tools!("newer");

fn main() {}
