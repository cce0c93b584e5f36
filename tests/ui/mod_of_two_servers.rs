mcp_bindgen::mcp_tools!("github", "small", mod = gh);

fn main() {}
