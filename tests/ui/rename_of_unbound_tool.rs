mcp_bindgen::mcp_tools!("github", tools = ["list_*"], rename = { create_issue = "open_issue" });

fn main() {}
