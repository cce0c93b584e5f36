mcp_bindgen::mcp_tools!("github", path = "lists/github.json");

fn main() {}
