// JSON keeps only one of two.
mcp_bindgen::mcp_tools!("key-twice");

fn main() {}
