mcp_bindgen::mcp_tools!("small", rename = { create_issue = "a", "create_issue" = "b" });

fn main() {}
