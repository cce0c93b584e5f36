mcp_bindgen::mcp_template!("prompts/fine.md");

fn main() {
    let _ = fine::run(&fine::Clients {}, fine::Vars {});
}
