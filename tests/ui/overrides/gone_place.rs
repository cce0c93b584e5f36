// The patch is for a property that the schema does not have.
mcp_bindgen::mcp_tools!("gone-place");

fn main() {}
