mcp_bindgen::mcp_tools!("small", derive = ["Eq + Hash"]);

fn main() {}
