mcp_bindgen::mcp_tools!("github", "github");

fn main() {}
