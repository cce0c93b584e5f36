mcp_bindgen::mcp_tools!("narrow");

fn main() {}
