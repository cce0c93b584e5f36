// A string where a schema should be.
mcp_bindgen::mcp_tools!("no-schema-inside");

fn main() {}
