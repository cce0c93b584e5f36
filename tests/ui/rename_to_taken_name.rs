mcp_bindgen::mcp_tools!("small", rename = { "create_issue/labels" = "title" });

fn main() {}
