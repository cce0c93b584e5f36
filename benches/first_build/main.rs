//! The first build of a crate with one bound tool, in CPU time, beside a crate that calls the same tool through rmcp's
//! client with types by hand: debug and release, without and with `http`.
//!
//! `cargo bench --bench first_build` builds all eight; `-- debug stdio` builds those alone, and `-- ours` one side. Each
//! build starts from an empty target folder, so all of it takes minutes. Fails where the limit of a ratio is exceeded.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

mod builds;
mod costs;

use std::path::Path;
use std::process::ExitCode;

use builds::{Build, CRATES, Side};
use mcp_samples::Fallible;

/// The CPU time of our side against the one by hand, in the profiles and with the features of `CASES`.
const CASES: [(&str, &str, f64); 4] =
    [("debug", "stdio", 1.5), ("release", "stdio", 2.5), ("debug", "http", 2.5), ("release", "http", 2.5)];
const SIDES: [(&str, Side); 2] = [("ours", Side::Ours), ("by-hand", Side::ByHand)];
/// The most expensive crates that are printed of each build.
const EXPENSIVE: usize = 10;

fn main() -> Fallible<ExitCode> {
    // Cargo starts this program again in place of rustc.
    if let Some(folder) = std::env::var_os(CRATES) {
        return costs::compile(Path::new(&folder));
    }
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let known = ["debug", "release", "stdio", "http", "ours", "by-hand"];
    if let Some(unknown) = arguments.iter().find(|argument| !known.contains(&argument.as_str())) {
        return Err(format!("unknown argument `{unknown}`: expected one of {}", known.join(", ")).into());
    }
    let is_wanted = |name: &str, group: &[&str]| {
        let mut given = arguments.iter().filter(|argument| group.contains(&argument.as_str())).peekable();
        given.peek().is_none() || given.any(|argument| argument == name)
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first_build");
    let (mut kept, mut missed) = (0, 0);
    for (profile, transport, limit) in CASES {
        if !is_wanted(profile, &["debug", "release"]) || !is_wanted(transport, &["stdio", "http"]) {
            continue;
        }
        let mut seconds = Vec::new();
        for (name, side) in SIDES.iter().filter(|(name, _)| is_wanted(name, &["ours", "by-hand"])) {
            let build = Build::clean(&folder, *side, profile, transport)?;
            println!("{profile} {transport}, {name}: {:.1} s, {} crates", build.seconds, build.crates());
            for (krate, cost) in build.most_expensive(EXPENSIVE) {
                println!("{cost:>8.2} s  {krate}");
            }
            println!("{:>8.2} s  build scripts and cargo itself", build.elsewhere());
            seconds.push(build.seconds);
        }
        if let [ours, by_hand] = seconds[..] {
            let ratio = ours / by_hand;
            let verdict = if ratio <= limit { "kept" } else { "MISSED" };
            println!(
                "{profile} {transport}: {ours:.1} s / {by_hand:.1} s = {ratio:.2} x, limit {limit:.2} x  {verdict}\n"
            );
            if ratio <= limit { kept += 1 } else { missed += 1 }
        }
    }
    println!("{kept} passed, {missed} failed");
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
