mcp_bindgen::mcp_tools!("small", types = "typify");

fn main() {}
