mcp_bindgen::mcp_tools!("github", prefix = false, "small");

fn main() {}
