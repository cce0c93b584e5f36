mcp_bindgen::mcp_tools!("wrong-type");

fn main() {}
