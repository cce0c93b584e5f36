mcp_bindgen::mcp_tools!("github", mod = a, mod = b);

fn main() {}
