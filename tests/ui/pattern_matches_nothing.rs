mcp_bindgen::mcp_tools!("github", tools = ["list_*", "creat_issue"]);

fn main() {}
