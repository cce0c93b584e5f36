// Everything that is wrong is said at once, in the order of the template.
mcp_bindgen::mcp_template!("prompts/several.md");

fn main() {}
