// The call of the template has no errors of its own.
mcp_bindgen::mcp_template!("prompts/no_snapshot.md");

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let clients = no_snapshot::Clients::connect().await?;
    println!("{}", no_snapshot::run(&clients, no_snapshot::Vars {}).await?.text());
    Ok(())
}

fn main() {
    drop(run());
}
