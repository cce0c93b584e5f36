mcp_bindgen::mcp_tools!("github", exclude = ["delete_everything"]);

fn main() {}
