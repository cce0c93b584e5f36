mcp_bindgen::mcp_tools!("small", exclude = ["create_*"]);

fn main() {}
