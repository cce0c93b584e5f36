//! Simulated sessions with a server that reads, answers and crashes as a seed determines, in virtual time.
//!
//! Callers, session, ledger, writer and reader are real. The pipes and the server are simulated, and the server knows
//! what it has executed. A seed is one interleaving: the cuts of writes, the times of answers, and the calls that are
//! given up, each at one of its awaits. `SIMULATIONS` is the number of runs, `SIMULATION_SEED` the first seed.

mod pipes;
mod server;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, yield_now};
use tokio_util::sync::CancellationToken;

use self::pipes::{Pipes, SimulatedReader, SimulatedSink};
use self::server::Server;
use super::handlers::{Answers, Handlers};
use super::ledger::Ledger;
use super::messages::MAX_MESSAGE;
use super::notes::Notes;
use super::request::{RequestError, Terms};
use super::sent::MethodCall;
use super::transports::lines::connect;
use super::{receiving, session::Session};
use crate::Dispatched;
use crate::ground::deadline::Patience;
use crate::ground::redact::Redactor;

const DEFAULT_SIMULATIONS: u64 = 400;
const CALLS: usize = 8;
const STEPS: usize = 200;

/// Random numbers that a seed determines: SplitMix64.
pub(super) struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number in `0..n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(n.max(1)).unwrap_or(1)).unwrap_or_default()
    }

    /// Returns `true` once in `n` times on average.
    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A future that is dropped when it has been polled so often.
struct GivenUp<F> {
    future: Option<Pin<Box<F>>>,
    polls: usize,
}

impl<F: Future> Future for GivenUp<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<F::Output>> {
        if self.polls == 0 {
            self.future = None;
        }
        self.polls = self.polls.saturating_sub(1);
        match &mut self.future {
            Some(future) => future.as_mut().poll(context).map(Some),
            None => Poll::Ready(None),
        }
    }
}

/// The outcome that a caller receives; `None` if it did not wait.
type Told = Option<Result<Value, RequestError>>;

/// Counts of outcomes over all seeds.
#[derive(Debug, Default)]
struct Sums {
    calls: usize,
    answered: usize,
    refused: usize,
    not_sent: usize,
    unknown: usize,
    unknown_never_ran: usize,
    given_up: usize,
    ran: usize,
}

/// One interleaving.
struct Simulation {
    chance: Chance,
    ledger: Arc<Ledger>,
    session: Session,
    server: Server,
    pipes: Pipes,
    cancellations: Vec<CancellationToken>,
    calls: Vec<(usize, JoinHandle<Told>)>,
}

impl Simulation {
    /// Begins a call, which may be given up, be cancelled, or take too long.
    fn call(&mut self) {
        let number = self.calls.len();
        let padding = "x".repeat(self.chance.below(60));
        let arguments = Map::from_iter([("call".to_owned(), json!(number)), ("padding".to_owned(), padding.into())]);
        let params = [("name".to_owned(), json!("t")), ("arguments".to_owned(), arguments.into())];
        let request = MethodCall::new("tools/call", Map::from_iter(params));
        let patience = match self.chance.below(4) {
            0 => Patience::strictly(Duration::MAX),
            1 => Patience::strictly(Duration::from_millis(1 + self.chance.next() % 150)),
            2 => Patience::renewed_by_progress(Duration::from_millis(60), Duration::from_millis(200)),
            _ => Patience::strictly(Duration::from_secs(3600)),
        };
        let mut terms = Terms::from(patience);
        if self.chance.once_in(3) {
            let token = CancellationToken::new();
            self.cancellations.push(token.clone());
            terms.cancellation = Some(token);
        }
        if self.chance.once_in(4) {
            terms.list = Some(self.ledger.list_changes.count());
        }
        let session = self.session.clone();
        let future = Some(Box::pin(async move { session.request(request, terms).await }));
        let polls = if self.chance.once_in(4) { self.chance.below(7) } else { usize::MAX };
        self.calls.push((number, tokio::spawn(GivenUp { future, polls })));
    }

    async fn step(&mut self) {
        match self.chance.below(16) {
            0 if self.calls.len() < CALLS => self.call(),
            2 if !self.cancellations.is_empty() => {
                let at = self.chance.below(self.cancellations.len());
                self.cancellations.swap_remove(at).cancel();
            }
            3 => tokio::time::advance(Duration::from_millis(self.chance.next() % 12)).await,
            4..=7 => self.pipes.with(|pipes| self.server.read(&mut self.chance, pipes)),
            8..=11 => self.pipes.with(|pipes| self.server.say(&mut self.chance, pipes)),
            12 if !self.calls.is_empty() && self.chance.once_in(6) => {
                let at = self.chance.below(self.calls.len());
                self.calls[at].1.abort();
            }
            13 if self.chance.once_in(25) => self.pipes.with(|pipes| self.server.die(&mut self.chance, pipes)),
            _ => {}
        }
        // The session has its turns.
        for _ in 0..self.chance.below(4) {
            yield_now().await;
        }
    }
}

/// Runs the interleaving of a seed, and adds its results to `sums`.
fn simulate(runtime: &Runtime, seed: u64, sums: &mut Sums) {
    runtime.block_on(async {
        let mut chance = Chance(seed);
        let pipes = Pipes::new(chance.next());
        let ledger = Ledger::new(Duration::from_secs(3600), Redactor::default());
        let notes = Notes::new("simulated", Redactor::default());
        let sink = SimulatedSink(pipes.clone()).into();
        let reader = Box::new(SimulatedReader(pipes.clone()));
        let sides = connect(Box::new(()), (reader, sink), ledger.clone(), Some(notes), MAX_MESSAGE).unwrap();
        let answers = Arc::new(Answers::new(Handlers::default()));
        let (session, receiving) = receiving::open(sides, ledger.clone(), answers, Some(Default::default()));
        let hang_up = CancellationToken::new();
        let receiving = tokio::spawn(receiving.run(hang_up.clone()));
        let (cancellations, calls, server) = Default::default();
        let mut simulation = Simulation { chance, ledger, session, server, pipes, cancellations, calls };
        for _ in 0..STEPS {
            simulation.step().await;
        }
        let Simulation { mut chance, ledger, session, mut server, pipes, cancellations: _, calls } = simulation;
        if chance.once_in(2) {
            // Pending calls finish by themselves, except lost ones, which end with the session.
            for _ in 0..40 {
                pipes.with(|pipes| server.catch_up(&mut chance, pipes));
                for _ in 0..4 {
                    yield_now().await;
                }
            }
        }
        for _ in 0..8 {
            yield_now().await;
        }
        let unfinished = calls.iter().filter(|(_, call)| !call.is_finished()).count();
        assert!(ledger.open_requests() <= unfinished, "seed {seed}: the ledger keeps a request that has ended");
        hang_up.cancel();
        receiving.await.unwrap();
        for _ in 0..8 {
            yield_now().await;
        }
        for (number, call) in calls {
            assert!(call.is_finished(), "seed {seed}: call {number} outlives the session");
            // An aborted call receives no outcome.
            let told = call.await.ok().flatten();
            check(seed, number, &told, &server, sums);
        }
        drop(session);
        assert_eq!(ledger.open_requests(), 0, "seed {seed}: the ledger keeps a request");
        for _ in 0..8 {
            yield_now().await;
        }
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        assert_eq!(tasks, 0, "seed {seed}: tasks outlive the session");
    });
}

/// Compares the outcome of a call with the actions of the server.
fn check(seed: u64, number: usize, told: &Told, server: &Server, sums: &mut Sums) {
    let ran = server.runs(number);
    sums.calls += 1;
    sums.ran += ran;
    assert!(ran <= 1, "seed {seed}: call {number} ran {ran} times");
    let dispatched = match told {
        None => {
            sums.given_up += 1;
            return;
        }
        Some(Ok(result)) => {
            sums.answered += 1;
            assert_eq!(result["call"], number, "seed {seed}: call {number} has the answer to another");
            Dispatched::Yes
        }
        Some(Err(RequestError::Rpc(error))) => {
            sums.refused += 1;
            assert_eq!(ran, 0, "seed {seed}: call {number} ran, but its error says {error:?}");
            return;
        }
        Some(Err(RequestError::Timeout(dispatched) | RequestError::Cancelled(dispatched))) => *dispatched,
        Some(Err(RequestError::Failed(failure))) => failure.dispatched,
    };
    match dispatched {
        Dispatched::No => {
            sums.not_sent += 1;
            assert_eq!(ran, 0, "seed {seed}: call {number} ran, and is said not to have been sent: {told:?}");
        }
        Dispatched::Unknown => {
            sums.unknown += 1;
            sums.unknown_never_ran += 1 - ran;
        }
        Dispatched::Yes => {}
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn no_interleaving_runs_a_call_twice_or_denies_one_that_ran() {
    let (first, simulations) = (number("SIMULATION_SEED", 0), number("SIMULATIONS", DEFAULT_SIMULATIONS));
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let begun = Instant::now();
    let mut sums = Sums::default();
    for seed in first..first + simulations {
        simulate(&runtime, seed, &mut sums);
    }
    println!("{simulations} interleavings from seed {first} in {:.1} s: {sums:?}", begun.elapsed().as_secs_f64());
    let Sums { calls, answered, refused, not_sent, unknown, given_up, .. } = sums;
    let least = simulations / 20;
    for (what, count) in [
        ("calls", calls),
        ("answered", answered),
        ("refused", refused),
        ("not sent", not_sent),
        ("unknown", unknown),
        ("given up", given_up),
    ] {
        assert!(u64::try_from(count).unwrap() >= least, "only {count} were {what}");
    }
}
