// A type that JSON does not have.
mcp_bindgen::mcp_tools!("no-type");

fn main() {}
