mcp_bindgen::mcp_tools!("required-hidden");

fn main() {}
