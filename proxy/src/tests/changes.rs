//! Tests of list changes, and of the clients that are notified.

use super::*;

const CHANGED: &str = "notifications/tools/list_changed";

fn changed() -> Value {
    json!({ "method": CHANGED })
}

/// Counts the notifications that a client receives.
fn counting(client: &Client) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let (counts, mut changes) = (count.clone(), client.tool_changes());
    tokio::spawn(async move {
        while changes.changed().await.is_ok() {
            counts.fetch_add(1, Ordering::SeqCst);
        }
    });
    count
}

#[tokio::test]
async fn every_client_is_notified_once_of_each_real_change() {
    let server = Server::echo("s", &["a"]);
    let other = Server::echo("other", &["x"]);
    let proxy = proxy(&[&server, &other]);
    let clients = [legacy(&proxy), legacy(&proxy), modern(&proxy), modern(&proxy)];
    let mut counts = Vec::new();
    for client in &clients {
        assert_eq!(names(client).await, ["s_a", "other_x"]);
        counts.push(counting(client));
    }
    // The first notification of a connection is not a change of the list.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begin: Vec<usize> = counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    let told = |more: usize| {
        let (counts, begin) = (counts.clone(), begin.clone());
        move || counts.iter().zip(&begin).all(|(count, begin)| count.load(Ordering::SeqCst) == begin + more)
    };

    server.tools.lock().unwrap().push(tool("b"));
    server.tell(&changed());
    until(told(1)).await;
    for client in &clients {
        assert_eq!(names(client).await, ["s_a", "s_b", "other_x"]);
        assert_eq!(call(client, "s_b", json!({})).await.expect("a result").text(), "s: \"b\" {}");
    }
    // A server that says so and has the same list, in another order.
    server.tools.lock().unwrap().reverse();
    server.tell(&changed());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(told(1)(), "{counts:?} since {begin:?}");

    server.tools.lock().unwrap().retain(|tool| tool["name"] != "a");
    server.tell(&changed());
    until(told(2)).await;
    for client in &clients {
        assert_eq!(names(client).await, ["s_b", "other_x"]);
        let error = call(client, "s_a", json!({})).await.expect_err("it is gone");
        assert!(matches!(error, CallError::ToolNotFound { .. }), "{error}");
    }
    println!("{} clients were told of 2 changes of 3 that were announced", clients.len());
}

#[tokio::test]
async fn changes_of_denied_tools_are_not_announced() {
    use mcp_bindgen_runtime::middleware::{Policy, Stack};
    let server = Server::echo("s", &["a"]);
    let proxy = Proxy::builder()
        .connecting("s", server.connect(), |client| Stack::new(client).policy(Policy::deny(["hidden_*"])))
        .build()
        .expect("it is sound");
    let client = legacy(&proxy);
    assert_eq!(names(&client).await, ["s_a"]);
    let count = counting(&client);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let begin = count.load(Ordering::SeqCst);
    server.tools.lock().unwrap().push(tool("hidden_b"));
    server.tell(&changed());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(count.load(Ordering::SeqCst), begin);
    assert_eq!(names(&client).await, ["s_a"]);
}
