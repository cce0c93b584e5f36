mcp_bindgen::mcp_tools!("github", tool = ["create_issue"]);

fn main() {}
