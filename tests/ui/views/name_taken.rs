mcp_bindgen::mcp_tools!("name-taken");

fn main() {}
