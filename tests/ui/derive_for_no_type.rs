mcp_bindgen::mcp_tools!("small", derive = ["Copy"]);

fn main() {}
