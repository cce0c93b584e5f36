mcp_bindgen::mcp_tools!("small");

use small::SmallCreateIssueParams;

fn main() {
    let _ = SmallCreateIssueParams::new("owner", "repo");
}
