// learnedFrom is a count.
mcp_bindgen::mcp_tools!("learned-from-words");

fn main() {}
