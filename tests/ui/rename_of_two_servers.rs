mcp_bindgen::mcp_tools!("github", "small", rename = { create_issue = "open_issue" });

fn main() {}
