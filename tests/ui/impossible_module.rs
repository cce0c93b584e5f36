mcp_bindgen::mcp_tools!("github", mod = self);

fn main() {}
