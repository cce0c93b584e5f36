// A conflict that nobody has resolved: names on both sides of it are known.
mcp_bindgen::mcp_tools!("merged");

use merged::{Merged, MergedCreateIssueParams, MergedGetMeParams};

async fn run(merged: &Merged) {
    let _ = merged.create_issue(MergedCreateIssueParams::new("a", "b", "c")).await;
    let _ = merged.get_me(MergedGetMeParams::new()).await;
}

fn main() {
    drop(run);
}
