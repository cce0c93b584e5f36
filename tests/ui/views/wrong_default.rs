mcp_bindgen::mcp_tools!("wrong-default");

fn main() {}
