//! The order of a stack, and orders that are refused.

use std::time::Duration;

use mcp_bindgen::middleware::{
    Approval, ApprovalAnswer, Cache, Policy, Retry, SequentialDependency, Stack, Transaction, Verdict,
};
use mcp_bindgen::{CallError, CallTool};

use super::*;

type Set = Box<dyn Fn(Stack<By>) -> Stack<By>>;

fn noting(log: &Log, what: &'static str) -> Policy {
    let log = log.clone();
    Policy::new(move |_| {
        log.note(what);
        Verdict::Allow
    })
}

fn approving(log: &Log) -> Approval {
    let (which, asked) = (log.clone(), log.clone());
    Approval::of_those(
        move |_| {
            which.note("approval");
            true
        },
        move |_| {
            asked.note("asked");
            async { ApprovalAnswer::Approve }
        },
    )
}

fn transacting(log: &Log) -> Transaction {
    let (before, after) = (log.clone(), log.clone());
    Transaction::new(move || before.note("snapshot"), move |()| after.note("restored"))
}

fn sequential(log: &Log) -> SequentialDependency {
    let log = log.clone();
    SequentialDependency::new("nothing", ["get"]).scope(move |_| {
        log.note("sequence");
        String::new()
    })
}

/// Every layer, each with a way to see that it was there.
fn setters(log: &Log) -> Vec<Set> {
    let (policy, approval, transaction, sequence) =
        (noting(log, "policy"), approving(log), transacting(log), sequential(log));
    let cache = Cache::new(SOON);
    vec![
        Box::new(|stack| stack.try_timeout(SOON)),
        Box::new(|stack| stack.retry(Retry::new().pauses(Duration::from_millis(1), Duration::from_millis(2)))),
        Box::new(move |stack| stack.cache(cache.clone())),
        Box::new(move |stack| stack.transaction(transaction.clone())),
        Box::new(move |stack| stack.approval(approval.clone())),
        Box::new(move |stack| stack.sequential(sequence.clone())),
        Box::new(move |stack| stack.policy(policy.clone())),
        Box::new(|stack| stack.total_cap(SOON)),
    ]
}

#[tokio::test]
async fn layer_order_is_independent_of_setter_order() {
    let layers = setters(&Log::default()).len();
    for turn in 0..2 * layers {
        let log = Log::default();
        let mut setters = setters(&log);
        setters.rotate_left(turn % layers);
        if turn >= layers {
            setters.reverse();
        }
        let seen = log.clone();
        let bottom = By::new(move |number, _| {
            seen.note("client");
            if number == 1 { Err(CallError::transport("store", "get", "gone")) } else { done() }
        });
        let stack = setters.iter().fold(Stack::new(bottom), |stack, set| set(stack));
        assert!(stack.call_tool(get("a")).await.is_ok());
        let before = ["policy", "sequence", "approval", "asked", "snapshot"];
        // Two tries, one approval and one snapshot for both.
        assert_eq!(log.take(), [&before[..], &["client", "client"]].concat(), "turn {turn}");
        // The policy governs cached results as well as fresh ones.
        assert!(stack.call_tool(get("a")).await.is_ok());
        assert_eq!(log.take(), before, "turn {turn}");
    }
}

#[tokio::test]
async fn denial_ends_the_call_before_later_layers() {
    let log = Log::default();
    let bottom = By::new(|_, _| done());
    let stack = |denying: Policy, answer: ApprovalAnswer| {
        let asked = log.clone();
        let approval = Approval::of(["*"], move |_| {
            asked.note("asked");
            std::future::ready(answer.clone())
        });
        Stack::new(bottom.clone())
            .transaction(transacting(&log))
            .approval(approval)
            .policy(noting(&log, "first"))
            .policy(denying)
            .policy(noting(&log, "last"))
    };
    let no = ApprovalAnswer::Decline("not today".to_owned());
    let reason = denied(stack(Policy::deny(["get"]), no.clone()).call_tool(get("a")).await);
    assert!(reason.contains("`get`"), "{reason}");
    assert_eq!(log.take(), ["first"]);
    let reason = denied(stack(Policy::allow(["g*"]), no).call_tool(get("a")).await);
    assert!(reason.contains("not today"), "{reason}");
    assert_eq!(log.take(), ["first", "last", "asked"]);
    assert_eq!(bottom.calls(), 0);
}

#[tokio::test]
async fn invalid_layer_orders_are_refused() {
    let (server, client) = served();
    let log = Log::default();
    let (policy, approval) = (noting(&log, "policy"), approving(&log));
    let (cache, retry) = (Cache::new(SOON), Retry::new());
    macro_rules! refused {
        ($($outer:ident($of_outer:expr), $inner:ident($of_inner:expr) => $names:expr;)*) => {$(
            let inner = Stack::new(client.clone()).$inner($of_inner);
            let reason = denied(Stack::new(inner).$outer($of_outer).call_tool(get("a")).await);
            for name in $names {
                assert!(reason.contains(name), "{reason}");
            }
        )*};
    }
    refused! {
        cache(cache.clone()), policy(policy.clone()) => ["Cache", "Policy"];
        cache(cache.clone()), approval(approval.clone()) => ["Cache", "Approval"];
        cache(cache.clone()), sequential(sequential(&log)) => ["Cache", "SequentialDependency"];
        cache(cache.clone()), transaction(transacting(&log)) => ["Cache", "Transaction"];
        retry(retry.clone()), approval(approval.clone()) => ["Retry", "Approval"];
        retry(retry.clone()), transaction(transacting(&log)) => ["Retry", "Transaction"];
        retry(retry.clone()), sequential(sequential(&log)) => ["Retry", "SequentialDependency"];
        retry(retry.clone()), retry(retry.clone()) => ["Retry", "multiply"];
        retry(retry.clone()), total_cap(SOON) => ["Retry", "total_cap"];
        try_timeout(SOON), retry(retry.clone()) => ["try_timeout", "Retry"];
        try_timeout(SOON), approval(approval.clone()) => ["try_timeout", "Approval"];
    }
    assert_eq!(log.take(), [""; 0]);
    assert_eq!(server.all_executions(), 0);
}

#[tokio::test]
async fn cache_or_transaction_inside_its_clone_passes_calls_through() {
    let (server, client) = served();
    let log = Log::default();
    let (cache, transaction) = (Cache::new(SOON), transacting(&log));
    let twice = |stack: Stack<Client>| stack.cache(cache.clone()).transaction(transaction.clone());
    let stack = twice(twice(Stack::new(client)));
    let nested = Stack::new(stack.clone()).transaction(transaction.clone());
    for _ in 0..2 {
        stack.call_tool(get("a")).await.unwrap();
        nested.call_tool(get("a")).await.unwrap();
    }
    assert_eq!(log.take(), ["snapshot"; 4]);
    assert_eq!(server.executions("get"), 1);
}

#[tokio::test]
async fn stack_replaces_its_client() {
    let (server, client) = served();
    let stack = Stack::new(client).policy(Policy::read_only());
    let around = Stack::new(stack.clone()).policy(Policy::allow(["*"]));
    assert!(around.call_tool(get("a")).await.is_ok());
    let within = Stack::new(stack).retry(Retry::new()).cache(Cache::new(SOON));
    let reason = denied(within.call_tool(get("a")).await);
    assert!(reason.contains("Policy") && reason.contains("Cache"), "{reason}");
    assert_eq!(server.executions("get"), 1);
}
