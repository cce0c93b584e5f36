// Bindings that a newer version made, and that were checked in.
#[path = "../../checked_in/newer.rs"]
mod bindings;

fn main() {
    let params = bindings::github::GithubCreateIssueParams::new("o", "r", "t");
    println!("{params:?}");
}
