// An override that says what the server says.
mcp_bindgen::mcp_tools!("says-the-same");

fn main() {}
