// Bindings that an older version made, and that were checked in.
#[path = "../../checked_in/older.rs"]
mod bindings;

fn main() {
    let params = bindings::github::GithubPingParams::new();
    println!("{params:?}");
}
