mcp_bindgen::mcp_tools!("small", derive = ["Eq", "crate::Traced"]);

fn main() {}
