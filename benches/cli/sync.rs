//! `sync` of many servers, beside the slowest of them alone. They take their time to start, as those that npx and uvx start
//! do: up to a second.

use std::time::Duration;

use mcp_fixture_server::AS_SERVER;
use mcp_samples::Fallible;

use crate::Bench;
use crate::figure::Figure;
use crate::rounds::{best, in_turn};

const SERVERS: u32 = 20;
const SLOWEST: Duration = Duration::from_secs(1);
const BUDGET: f64 = 1.2;

pub(crate) fn measure(bench: &Bench) -> Fallible<Vec<Figure>> {
    let project = bench.project("sync")?;
    let program = std::env::current_exe()?;
    let server = |number: u32| {
        let pause = (SLOWEST * number / SERVERS).as_millis();
        format!("[servers.server-{number}]\ncommand = {program:?}\nargs = [\"{AS_SERVER}\", \"{pause}\"]\n\n")
    };
    project.write("mcp.toml", &(1..=SERVERS).map(server).collect::<String>())?;
    let slowest = format!("server-{SERVERS}");
    // The first run writes the snapshots, and is not counted.
    let [all, slowest] = in_turn(
        bench.rounds(5),
        [&mut || project.run(&["sync"], &[0]), &mut || project.run(&["sync", &slowest], &[0])],
    )?;
    let (rounds, all, slowest) = (all.len(), best(&all), best(&slowest));
    let ratio = all.as_secs_f64() / slowest.as_secs_f64();
    let beside = format!("best of {rounds}: {all:.2?}; the slowest alone {slowest:.2?}");
    Ok(vec![Figure::ratio(&format!("sync of {SERVERS} servers"), ratio, BUDGET).beside(beside)])
}
