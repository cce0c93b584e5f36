mcp_macros::mcp_tools!();

fn main() {}
