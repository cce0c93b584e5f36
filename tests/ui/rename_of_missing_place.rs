mcp_bindgen::mcp_tools!("small", rename = { creat_issue = "open_issue", "create_issue/lables" = "tags" });

fn main() {}
