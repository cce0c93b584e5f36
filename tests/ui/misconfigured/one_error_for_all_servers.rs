// No server can be configured: the error stands once, and nothing follows from it.
mcp_bindgen::mcp_tools!("github", "small");

use github::{Github, GithubCreateIssueParams};
use small::SmallCreateIssueParams;

async fn run(github: &Github) {
    let _ = github.create_issue(GithubCreateIssueParams::new("a", "b", "c")).await;
    drop(SmallCreateIssueParams::new("a", "b", "c"));
}

fn main() {
    drop(run);
}
