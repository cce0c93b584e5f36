//! Runs of programs, timed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mcp_samples::Fallible;

/// How long each of several runs took.
pub(crate) type Times = Vec<Duration>;

pub(crate) struct Runs;

impl Runs {
    /// So many runs, after one that is not counted.
    pub(crate) fn of(rounds: usize, mut run: impl FnMut() -> Fallible<Duration>) -> Fallible<Times> {
        run()?;
        (0..rounds.max(1)).map(|_| run()).collect()
    }
}

/// The same of several things in turn, so that what else the machine does meets all of them.
pub(crate) fn in_turn<const N: usize>(
    rounds: usize,
    mut runs: [&mut dyn FnMut() -> Fallible<Duration>; N],
) -> Fallible<[Times; N]> {
    let mut times: [Times; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..=rounds {
        for (run, times) in runs.iter_mut().zip(&mut times) {
            let took = run()?;
            if round > 0 {
                times.push(took);
            }
        }
    }
    Ok(times)
}

pub(crate) fn best(times: &[Duration]) -> Duration {
    times.iter().min().copied().unwrap_or(Duration::MAX)
}

pub(crate) fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).copied().unwrap_or(Duration::MAX)
}

/// From the start of a process to its end, with one of these exit codes. Nobody reads what it prints.
pub(crate) fn timed(command: &mut Command, codes: &[i32]) -> Fallible<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status().map_err(|error| format!("{command:?} does not start: {error}"))?;
    let took = begun.elapsed();
    match status.code() {
        Some(code) if codes.contains(&code) => Ok(took),
        _ => Err(format!("{command:?} ended with {status}").into()),
    }
}
