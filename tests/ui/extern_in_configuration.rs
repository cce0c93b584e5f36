mcp_bindgen::mcp_tools!("misplaced");

fn main() {}
