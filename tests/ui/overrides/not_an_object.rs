// A schema that is a list.
mcp_bindgen::mcp_tools!("not-an-object");

fn main() {}
