mcp_bindgen::mcp_tools!("misshared");

fn main() {}
