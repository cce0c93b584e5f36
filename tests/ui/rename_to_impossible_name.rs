mcp_bindgen::mcp_tools!("small", rename = { create_issue = "open issue", "create_issue/labels" = "self" });

fn main() {}
