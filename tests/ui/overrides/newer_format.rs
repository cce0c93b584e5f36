// Written by a later version.
mcp_bindgen::mcp_tools!("newer-format");

fn main() {}
