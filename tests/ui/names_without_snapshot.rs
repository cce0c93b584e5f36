// There is no snapshot, but the configuration names the tools.
mcp_bindgen::mcp_tools!("planned");

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let planned = planned::Planned::connect().await?;
    let issue = planned.create_issue(planned::PlannedCreateIssueParams::new("a", "b", "c")).await?;
    let same: planned::PlannedCreateIssueOutput = issue;
    println!("{}", same.number);
    Ok(())
}

fn main() {
    drop(run());
}
