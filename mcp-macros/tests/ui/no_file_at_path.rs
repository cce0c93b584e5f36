mcp_macros::mcp_tools!("github", path = "lists/github.json");

fn main() {}
