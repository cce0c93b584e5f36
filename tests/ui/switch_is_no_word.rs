mcp_bindgen::mcp_tools!("small", setters = "yes");

fn main() {}
