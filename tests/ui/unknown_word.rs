mcp_bindgen::mcp_tools!("small", unknown = "kept");

fn main() {}
