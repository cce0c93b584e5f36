// JSON that is cut off.
mcp_bindgen::mcp_tools!("not-json");

fn main() {}
