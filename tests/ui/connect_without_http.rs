// The server is reached over HTTP, and the feature is off: types, `with` and fakes work, `connect()` does not compile.
mcp_bindgen::mcp_tools!("remote");

use remote::{Remote, RemoteCreateIssueParams};

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let fake = Remote::with(mcp_bindgen::Fake::new());
    fake.create_issue(RemoteCreateIssueParams::new("a", "b", "c")).await?;
    let remote = Remote::connect().await?;
    remote.create_issue(RemoteCreateIssueParams::new("a", "b", "c")).await?;
    Ok(())
}

fn main() {
    drop(run());
}
