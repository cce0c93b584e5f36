// One schema, given in two ways.
mcp_bindgen::mcp_tools!("both-ways");

fn main() {}
