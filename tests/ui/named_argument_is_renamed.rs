mcp_bindgen::mcp_tools!("small", named = true);

use small::SmallCreateIssueParams;

fn main() {
    let _ = SmallCreateIssueParams::builder().repo("repo").owner("owner").subject("title").build();
}
