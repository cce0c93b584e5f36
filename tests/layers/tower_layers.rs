//! tower's own layers around a client, and bindings that call through them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_bindgen::middleware::{Cache, Calls, Policy, Stack};
use mcp_bindgen::{CallError, CallTool};
use tokio::task::JoinSet;
use tower::ServiceBuilder;

use super::*;

/// Notes how many are under way at once.
#[derive(Clone, Default)]
struct Crowd {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl CallTool for Crowd {
    async fn call_tool(&self, _: ToolCall) -> Result<ToolResult, CallError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(2)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        done()
    }
}

#[tokio::test]
async fn tower_concurrency_limit_applies() {
    let crowd = Crowd::default();
    let stack = Stack::new(crowd.clone()).policy(Policy::allow(["s*"]));
    let limited = Calls::through(ServiceBuilder::new().concurrency_limit(3).service(stack));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let limited = limited.clone();
        callers.spawn(async move { limited.call_tool(set("a", 1)).await.unwrap() });
    }
    callers.join_all().await;
    assert_eq!(crowd.most.load(Ordering::SeqCst), 3);
    denied(limited.call_tool(get("a")).await);
}

#[tokio::test]
async fn bindings_call_through_tower_services() {
    let (server, client) = served();
    let service = ServiceBuilder::new().concurrency_limit(1).service(client.clone());
    let store = Store::with(Stack::new(Calls::through(service)).cache(Cache::new(SOON)));
    for _ in 0..3 {
        assert_eq!(store.get(StoreGetParams::new("a")).await.unwrap().value, 0);
    }
    assert_eq!(server.executions("get"), 1);
    // A service that is not `Clone` needs a buffer, which has its own error type.
    let pause = Duration::from_millis(20);
    let service = ServiceBuilder::new().buffer(8).rate_limit(1, pause).service(client);
    let store = Store::with(Calls::through(service));
    let start = Instant::now();
    for value in 0..3 {
        store.put(StorePutParams::new("a", value)).await.unwrap();
    }
    assert!(start.elapsed() >= 2 * pause, "{:?}", start.elapsed());
    let stack = Stack::new(Crowd::default()).policy(Policy::deny(["*"]));
    let denying = ServiceBuilder::new().buffer(8).service(stack);
    let error = Calls::through(denying).call_tool(get("a")).await.unwrap_err();
    assert!(matches!(error, CallError::Denied { .. }), "{error}");
}
