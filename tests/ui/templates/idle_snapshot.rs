mcp_bindgen::mcp_template!("prompts/fine.md", snapshots = { github = "mcp/github.json" });

fn main() {}
