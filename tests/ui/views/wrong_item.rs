mcp_bindgen::mcp_tools!("wrong-item");

fn main() {}
