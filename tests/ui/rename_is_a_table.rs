mcp_bindgen::mcp_tools!("small", rename = ["create_issue"]);

fn main() {}
