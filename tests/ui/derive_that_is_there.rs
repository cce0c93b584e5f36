mcp_bindgen::mcp_tools!("small", derive = ["Eq", "serde::Serialize"]);

fn main() {}
