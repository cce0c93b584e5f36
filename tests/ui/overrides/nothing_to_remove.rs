// The patch removes a keyword that the schema does not have.
mcp_bindgen::mcp_tools!("nothing-to-remove");

fn main() {}
