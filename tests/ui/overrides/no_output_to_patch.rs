// There is no outputSchema that a patch could change.
mcp_bindgen::mcp_tools!("no-output-to-patch");

fn main() {}
