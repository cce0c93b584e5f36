// A reference without its target.
mcp_bindgen::mcp_tools!("leads-nowhere");

fn main() {}
