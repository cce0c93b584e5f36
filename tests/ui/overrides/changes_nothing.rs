// An override that says nothing.
mcp_bindgen::mcp_tools!("changes-nothing");

fn main() {}
