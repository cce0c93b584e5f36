// A pattern of the configuration matches nothing; what the program uses is there all the same.
mcp_bindgen::mcp_tools!("narrow");

use narrow::{Narrow, NarrowCreateIssueParams, narrow_create_issue};

async fn run(narrow: &Narrow) {
    let _ = narrow.create_issue(NarrowCreateIssueParams::new("a", "b", "c")).await;
    let _ = narrow_create_issue(narrow.client(), NarrowCreateIssueParams::new("a", "b", "c")).await;
}

fn main() {
    drop(run);
}
