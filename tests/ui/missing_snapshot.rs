mcp_bindgen::mcp_tools!("unsynced");

fn main() {}
