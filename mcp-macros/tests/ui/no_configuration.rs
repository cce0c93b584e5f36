mcp_macros::mcp_tools!("github");

fn main() {}
