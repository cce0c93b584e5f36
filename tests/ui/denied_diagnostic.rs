// mcp.toml denies MCP0007.
mcp_bindgen::mcp_tools!("dangling");

fn main() {}
