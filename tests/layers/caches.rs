//! Results that are kept.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_bindgen::middleware::{Cache, Stack};
use mcp_bindgen::{CallError, CallOptions, CallTool, Client};
use tokio::task::JoinSet;

use super::*;

fn cached(cache: Cache) -> (Server, Stack<Client>) {
    let (server, client) = served();
    (server, Stack::new(client).cache(cache))
}

fn slow_get(key: &str, pause_ms: u64) -> ToolCall {
    ToolCall::of(&StoreGetParams { pause_ms: Some(pause_ms), ..StoreGetParams::new(key) }).unwrap()
}

#[tokio::test]
async fn only_read_only_tools_are_cached() {
    let (server, stack) = cached(Cache::new(SOON));
    let store = Store::with(stack.clone());
    for _ in 0..3 {
        assert_eq!(store.get(StoreGetParams::new("a")).await.unwrap().value, 0);
    }
    assert_eq!(server.executions("get"), 1);
    let other_order = ["pause_ms", "key"].map(|key| (key.to_owned(), if key == "key" { json!("b") } else { json!(0) }));
    for arguments in [json!({ "key": "b", "pause_ms": 0 }), Value::Object(other_order.into_iter().collect())] {
        let params: StoreGetParams = serde_json::from_value(arguments.clone()).unwrap();
        let mut call = ToolCall::of(&params).unwrap();
        call.arguments = object(arguments);
        stack.call_tool(call).await.unwrap();
    }
    assert_eq!(server.executions("get"), 2, "equal arguments in another order");
    for _ in 0..2 {
        stack.call_tool(put("a", 1)).await.unwrap();
        // Of its tool nothing is known.
        stack.call_tool(untyped("get", json!({ "key": "a" }))).await.unwrap();
    }
    assert_eq!((server.executions("put"), server.executions("get")), (2, 4));
}

#[tokio::test]
async fn options_select_cached_and_invalidating_tools() {
    let (server, stack) = cached(Cache::new(SOON).tools(["g*", "fail"]).invalidated_by(["put", "get_*"]));
    for _ in 0..2 {
        stack.call_tool(untyped("get", json!({ "key": "a" }))).await.unwrap();
    }
    assert_eq!(server.executions("get"), 1);
    // Errors are never kept.
    for _ in 0..2 {
        assert!(stack.call_tool(untyped("fail", json!({}))).await.unwrap().is_error);
    }
    assert_eq!(server.executions("fail"), 2);
    stack.call_tool(put("a", 5)).await.unwrap();
    assert_eq!(value(&stack.call_tool(untyped("get", json!({ "key": "a" }))).await.unwrap()), 5);
    assert_eq!(server.executions("get"), 2);
}

#[tokio::test]
async fn cache_entries_expire_and_can_be_cleared() {
    let cache = Cache::new(Duration::from_millis(40));
    let (server, stack) = cached(cache.clone());
    stack.call_tool(get("a")).await.unwrap();
    cache.clear();
    stack.call_tool(get("a")).await.unwrap();
    assert_eq!(server.executions("get"), 2);
    tokio::time::sleep(Duration::from_millis(60)).await;
    stack.call_tool(get("a")).await.unwrap();
    assert_eq!(server.executions("get"), 3);
}

#[tokio::test]
async fn cache_entries_are_bounded() {
    let (server, stack) = cached(Cache::new(SOON).max_entries(2));
    for key in ["a", "b", "c", "c", "b", "a"] {
        stack.call_tool(get(key)).await.unwrap();
    }
    assert_eq!(server.executions("get"), 4, "`a` went when `c` came");
}

#[tokio::test]
async fn calls_with_meta_bypass_the_cache() {
    let (server, stack) = cached(Cache::new(SOON));
    for _ in 0..2 {
        stack.call_tool(get("a").with(CallOptions::new().meta("trace", "1"))).await.unwrap();
    }
    assert_eq!(server.executions("get"), 2);
}

/// Some clients always want to hear of it, and would never be served otherwise.
#[tokio::test]
async fn calls_with_progress_are_cached_but_not_shared() {
    let (server, stack) = cached(Cache::new(SOON));
    let hearing = || CallOptions::new().on_progress(|_| {});
    for _ in 0..3 {
        stack.call_tool(get("a").with(hearing())).await.unwrap();
        stack.call_tool(get("a")).await.unwrap();
    }
    assert_eq!(server.executions("get"), 1);
    let both = [slow_get("b", 30).with(hearing()), slow_get("b", 30).with(hearing())];
    join_all(both.map(|call| stack.call_tool(call))).await;
    assert_eq!(server.executions("get"), 3, "each hears of its own");
}

#[tokio::test]
async fn equal_concurrent_calls_are_sent_once() {
    let (server, stack) = cached(Cache::new(SOON));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let stack = stack.clone();
        callers.spawn(async move { value(&stack.call_tool(slow_get("a", 30)).await.unwrap()) });
    }
    assert_eq!(callers.join_all().await, vec![0; CALLERS]);
    assert_eq!(server.executions("get"), 1);
}

#[tokio::test]
async fn equal_concurrent_calls_share_a_failure_and_are_retried_later() {
    let bottom = By::new(|_, _| Err(CallError::transport("store", "get", "gone")));
    let stack = Stack::new(bottom.clone()).cache(Cache::new(SOON));
    for round in 1..=2 {
        let calls = (0..CALLERS).map(|_| stack.call_tool(get("a")));
        let outcomes = join_all(calls).await;
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(CallError::Transport { .. }))));
        assert_eq!(bottom.calls(), round);
    }
}

/// Polls all of them in one task.
async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |context| {
        for (future, output) in &mut futures {
            if output.is_none()
                && let std::task::Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *output = Some(ready);
            }
        }
        match futures.iter().all(|(_, output)| output.is_some()) {
            true => std::task::Poll::Ready(futures.iter_mut().filter_map(|(_, output)| output.take()).collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
async fn abandoned_call_does_not_affect_equal_calls() {
    let (server, stack) = cached(Cache::new(SOON));
    let call = |key: &'static str, options: CallOptions| {
        let stack = stack.clone();
        tokio::spawn(async move { stack.call_tool(get(key).with(options)).await })
    };
    for (key, hurry) in [("dropped", SOON), ("late", Duration::from_millis(150))] {
        server.answer_nothing("get", 1);
        let before = server.executions("get");
        let first = call(key, CallOptions::new().timeout(hurry));
        while server.executions("get") == before {
            tokio::task::yield_now().await;
        }
        let patient: Vec<_> = (0..CALLERS).map(|_| call(key, CallOptions::new())).collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(server.executions("get"), before + 1);
        if hurry == SOON {
            first.abort();
        } else {
            assert!(matches!(first.await.unwrap(), Err(CallError::Timeout { .. })));
        }
        for call in patient {
            call.await.unwrap().expect("somebody asked again");
        }
        assert_eq!(server.executions("get"), before + 2, "one that gave up, and one for all others");
    }
}

#[tokio::test]
async fn read_that_overlaps_a_write_is_neither_shared_nor_cached() {
    let (server, stack) = cached(Cache::new(SOON));
    let early = tokio::spawn({
        let stack = stack.clone();
        async move { value(&stack.call_tool(slow_get("a", 100)).await.unwrap()) }
    });
    while server.executions("get") == 0 {
        tokio::task::yield_now().await;
    }
    stack.call_tool(set("a", 7)).await.unwrap();
    assert_eq!(value(&stack.call_tool(slow_get("a", 100)).await.unwrap()), 7);
    assert_eq!(early.await.unwrap(), 0, "it looked before the write");
    assert_eq!(value(&stack.call_tool(slow_get("a", 100)).await.unwrap()), 7, "what it read was not kept");
    assert_eq!(server.executions("get"), 2);
}

/// One writer whose values grow, and readers who know what was written when they began.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cached_reads_are_never_older_than_the_last_write() {
    const WRITES: i64 = 60;
    let (server, stack) = cached(Cache::new(SOON));
    let written = Arc::new(AtomicI64::new(0));
    let reads = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    for reader in 0..CALLERS as u64 {
        let (stack, written, reads) = (stack.clone(), written.clone(), reads.clone());
        callers.spawn(async move {
            while written.load(Ordering::SeqCst) < WRITES {
                let before = written.load(Ordering::SeqCst);
                let read = value(&stack.call_tool(slow_get("a", reader % 4)).await.unwrap());
                assert!(read >= before, "read {read} after {before} was written");
                reads.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
    }
    for number in 1..=WRITES {
        let pause_ms = Some(u64::try_from(number % 3).unwrap());
        let call = ToolCall::of(&StoreSetParams {
            pause_ms: pause_ms.map(|pause| pause as _),
            ..StoreSetParams::new("a", number)
        });
        stack.call_tool(call.unwrap()).await.unwrap();
        written.store(number, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    while let Some(reader) = callers.join_next().await {
        reader.unwrap();
    }
    let (reads, executions) = (reads.load(Ordering::Relaxed), server.executions("get"));
    assert_eq!(server.executions("set"), usize::try_from(WRITES).unwrap());
    assert!(executions * 2 < reads, "{executions} executions for {reads} reads: the cache is of no use");
}
