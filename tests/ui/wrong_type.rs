mcp_bindgen::mcp_tools!("small");

use small::SmallCreateIssueParams;

fn main() {
    let mut params = SmallCreateIssueParams::new("owner", "repo", "title");
    params.labels = Some(vec![1]);
    params.owner = None;
}
