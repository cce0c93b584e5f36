//! The rules for calls, each with calls that show it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen::middleware::{
    Approval, ApprovalAnswer, Cache, Policy, Retry, SequentialDependency, Stack, Transaction, Verdict,
};
use mcp_bindgen::{CallTool, Client};
use serde_json::{Value, json};

use super::{Approver, Arrives, Bound, Calls, Expected, Layers, Row, Step};

const NOT_NAMED: &str = "`remote_use` of ";

pub(crate) fn all() -> Vec<fn() -> Row> {
    vec![
        nothing,
        tools,
        exclude,
        approved,
        not_approved,
        nobody_to_approve,
        drift,
        pinned,
        denied_by_name,
        allowed_by_name,
        denied_by_arguments,
        denied_by_a_slow_policy,
        read_only,
        destructive,
        budget,
        sequence,
        transaction,
        approval_layer,
        cache,
        retried,
        timeout,
        total_cap,
        remote_use,
        no_remote_use,
    ]
}

fn made(tool: &'static str, arguments: Value) -> Step {
    Step { tool, arguments, expected: Expected::Made, arrives: Arrives::Always }
}

fn refused(tool: &'static str, arguments: Value, words: &'static str) -> Step {
    Step { tool, arguments, expected: Expected::Refused(words), arrives: Arrives::Never }
}

fn unlisted(tool: &'static str, arguments: Value, words: &'static str) -> Step {
    Step { tool, arguments, expected: Expected::Unlisted(words), arrives: Arrives::Never }
}

fn add() -> Value {
    json!({ "a": 20, "b": 22 })
}

fn none() -> Value {
    json!({})
}

/// A row with nothing but these calls.
fn row(name: &'static str, demands: Value, steps: Vec<Step>) -> Row {
    Row {
        name,
        demands,
        bound: Bound::AsItIs,
        approver: Approver::Nobody,
        is_remote: false,
        layers: around(Stack::new),
        steps,
        after: Box::new(|_| {}),
    }
}

fn around<C: CallTool + 'static>(layers: impl Fn(Client) -> C + Send + Sync + 'static) -> Layers {
    Arc::new(move |client| -> Calls { Arc::new(layers(client)) })
}

fn layered<C: CallTool + 'static>(
    name: &'static str,
    layers: impl Fn(Client) -> C + Send + Sync + 'static,
    steps: Vec<Step>,
) -> Row {
    Row { layers: around(layers), ..row(name, none(), steps) }
}

fn nothing() -> Row {
    row("nothing", none(), vec![made("add", add()), made("make_report", none())])
}

fn tools() -> Row {
    let words = "it is not selected by `tools` of the server";
    row("tools", json!({ "tools": ["list_*"] }), vec![unlisted("add", add(), words), made("list_labels", none())])
}

fn exclude() -> Row {
    let words = "it is excluded by `exclude` of the server";
    row("exclude", json!({ "exclude": ["ad?"] }), vec![unlisted("add", add(), words), made("list_labels", none())])
}

fn approve(name: &'static str, approver: Approver, add_is: Step) -> Row {
    let steps = vec![add_is, made("list_labels", none())];
    Row { approver, ..row(name, json!({ "approve": ["add"] }), steps) }
}

fn approved() -> Row {
    approve("approve, with a yes", Approver::Yes, made("add", add()))
}

fn not_approved() -> Row {
    approve("approve, with a no", Approver::No, refused("add", add(), "not approved"))
}

fn nobody_to_approve() -> Row {
    approve("approve, with nobody to ask", Approver::Nobody, refused("add", add(), ""))
}

fn drift() -> Row {
    let steps = vec![refused("add", add(), "is no longer valid"), made("make_report", none())];
    Row { bound: Bound::AsItWas, ..row("drift = deny", json!({ "drift": "deny", "pin": "schema" }), steps) }
}

fn pinned() -> Row {
    let steps = vec![refused("make_report", none(), "/description: changed")];
    Row { bound: Bound::AsItWas, ..row("drift = deny, pin = all", json!({ "drift": "deny", "pin": "all" }), steps) }
}

fn denied_by_name() -> Row {
    let steps = vec![unlisted("add", add(), "the policy denies `ad*`"), made("list_labels", none())];
    layered("Policy::deny", |client| Stack::new(client).policy(Policy::deny(["ad*"])), steps)
}

fn allowed_by_name() -> Row {
    let steps = vec![unlisted("add", add(), "the policy only allows `list_*`"), made("list_labels", none())];
    layered("Policy::allow", |client| Stack::new(client).policy(Policy::allow(["list_*"])), steps)
}

fn denied_by_arguments() -> Row {
    let steps = vec![refused("add", json!({ "a": 13, "b": 1 }), "thirteen brings bad luck"), made("add", add())];
    let policy = Policy::new(|call| match call.arguments.get("a").and_then(Value::as_i64) {
        Some(13) => Verdict::deny("thirteen brings bad luck"),
        _ => Verdict::Allow,
    });
    layered("Policy by arguments", move |client| Stack::new(client).policy(policy.clone()), steps)
}

fn denied_by_a_slow_policy() -> Row {
    let steps = vec![refused("add", add(), "looked at for a while"), made("list_labels", none())];
    let policy = Policy::new_async(|call| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if call.tool == "add" { Verdict::deny("looked at for a while") } else { Verdict::Allow }
    });
    layered("Policy that awaits", move |client| Stack::new(client).policy(policy.clone()), steps)
}

/// By its name alone no tool is known to be read-only.
fn read_only() -> Row {
    let words = "the policy only allows tools marked read-only";
    let echo = json!({ "text": "x", "choice": null });
    let steps = vec![
        refused("add", add(), words),
        Step {
            tool: "echo_arguments",
            arguments: echo,
            expected: Expected::MadeIfDescribed(words),
            arrives: Arrives::Always,
        },
    ];
    layered("Policy::read_only", |client| Stack::new(client).policy(Policy::read_only()), steps)
}

/// By its name alone no tool is known to destroy anything.
fn destructive() -> Row {
    let failing = Step {
        tool: "always_fails",
        arguments: json!({ "reason": "on purpose" }),
        expected: Expected::RefusedIfDescribed("nothing is destroyed here"),
        arrives: Arrives::Undescribed,
    };
    let policy = Policy::new(|call| match call.annotations.destructive {
        Some(true) => Verdict::deny("nothing is destroyed here"),
        _ => Verdict::Allow,
    });
    let steps = vec![failing, made("add", add())];
    layered("Policy by annotations", move |client| Stack::new(client).policy(policy.clone()), steps)
}

/// As many calls as may be made, over all connections of a program.
fn budget() -> Row {
    let left = Arc::new(AtomicUsize::new(2));
    let policy = Policy::new(move |_| {
        let has_some = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if has_some.is_ok() { Verdict::Allow } else { Verdict::deny("the budget is spent") }
    });
    let steps = vec![made("add", add()), made("list_labels", none()), refused("add", add(), "the budget is spent")];
    layered("a budget of calls", move |client| Stack::new(client).policy(policy.clone()), steps)
}

fn sequence() -> Row {
    let sequence = SequentialDependency::new("make_report", ["add"]);
    let steps = vec![
        refused("make_report", none(), "`add` must succeed first"),
        made("add", add()),
        made("make_report", none()),
    ];
    layered("SequentialDependency", move |client| Stack::new(client).sequential(sequence.clone()), steps)
}

fn transaction() -> Row {
    // How often the state was looked at, and how often it was put back.
    let state = Arc::new(Mutex::new((0, 0)));
    let (begun, restored) = (state.clone(), state.clone());
    let transaction = Transaction::new(move || begun.lock().unwrap().0 += 1, move |()| restored.lock().unwrap().1 += 1);
    let failing = Step {
        tool: "always_fails",
        arguments: json!({ "reason": "on purpose" }),
        expected: Expected::Refused("on purpose"),
        arrives: Arrives::Always,
    };
    let steps = vec![made("add", add()), failing, made("add", add())];
    let after = move |place: &str| assert_eq!(*state.lock().unwrap(), (3, 1), "{place}: begun and rolled back");
    Row {
        after: Box::new(after),
        ..layered("Transaction", move |client| Stack::new(client).transaction(transaction.clone()), steps)
    }
}

fn approval_layer() -> Row {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let approval = Approval::of(["add"], move |request| {
        count.fetch_add(1, Ordering::SeqCst);
        let is_small = request.arguments["a"].as_i64().is_some_and(|a| a < 100);
        async move {
            if is_small { ApprovalAnswer::Approve } else { ApprovalAnswer::Decline("too much for one day".to_owned()) }
        }
    });
    let steps = vec![
        made("add", add()),
        refused("add", json!({ "a": 100, "b": 1 }), "too much for one day"),
        made("list_labels", none()),
    ];
    let after = move |place: &str| assert_eq!(asked.load(Ordering::SeqCst), 2, "{place}: asked");
    Row {
        after: Box::new(after),
        ..layered("Approval", move |client| Stack::new(client).approval(approval.clone()), steps)
    }
}

fn cache() -> Row {
    let cache = Cache::new(Duration::from_secs(60)).tools(["list_*"]);
    let again = Step { arrives: Arrives::PastCaches, ..made("list_labels", none()) };
    let steps = vec![made("list_labels", none()), again, made("add", add()), made("list_labels", none())];
    layered("Cache", move |client| Stack::new(client).cache(cache.clone()), steps)
}

/// A call that the tool itself refuses is not retried.
fn retried() -> Row {
    let failing = Step {
        tool: "always_fails",
        arguments: json!({ "reason": "once" }),
        expected: Expected::Refused("once"),
        arrives: Arrives::Always,
    };
    let retry = || Retry::new().tries(5).pauses(Duration::ZERO, Duration::from_millis(1)).repeatable(["*"]);
    layered("Retry", move |client| Stack::new(client).retry(retry()), vec![failing, made("add", add())])
}

fn slow() -> Step {
    Step {
        tool: "count_slowly",
        arguments: json!({ "steps": 1, "pause_ms": 30_000 }),
        expected: Expected::Refused(""),
        arrives: Arrives::Always,
    }
}

fn timeout() -> Row {
    row("timeout", json!({ "timeout": "700ms" }), vec![made("add", add()), slow()])
}

fn total_cap() -> Row {
    let cap = Duration::from_millis(1500);
    layered("TotalCap", move |client| Stack::new(client).total_cap(cap), vec![made("add", add()), slow()])
}

fn remote_use() -> Row {
    let steps = vec![refused("add", add(), NOT_NAMED), made("list_labels", none())];
    Row { is_remote: true, ..row("remote_use", json!({ "remote_use": ["list_*"] }), steps) }
}

fn no_remote_use() -> Row {
    let steps = vec![refused("add", add(), NOT_NAMED), refused("list_labels", none(), NOT_NAMED)];
    Row { is_remote: true, ..row("no remote_use", none(), steps) }
}
