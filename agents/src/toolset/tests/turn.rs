//! Several calls of one turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_runtime::{CallError, CallTool, ToolCall, ToolResult};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::provider::{ModelCall, Provider};
use crate::toolset::Toolset;
use crate::toolset::testing::{Server, entry, on_server, toolset};

/// Takes its time, and keeps when calls began and ended.
#[derive(Clone, Default)]
struct Slow {
    log: Arc<Mutex<Vec<String>>>,
    under_way: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

struct Guard(Arc<AtomicUsize>, bool);

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.1 {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl CallTool for Slow {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let mut guard = Guard(self.dropped.clone(), false);
        let note = |what: &str| self.log.lock().unwrap().push(format!("{what} {}", call.arguments["n"]));
        note("begin");
        self.most.fetch_max(self.under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let pause = call.arguments.get("pause").and_then(Value::as_u64).unwrap_or(20);
        sleep(Duration::from_millis(pause)).await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        note("end");
        guard.1 = true;
        let text = format!("done {}", call.arguments["n"]);
        Ok(ToolResult::from_json("s", "t", json!({"content": [{"type": "text", "text": text}]})))
    }
}

fn set(slow: &Slow) -> Toolset {
    let of = |server: &str, tool: &str| entry(server, tool, json!({"type": "object"}), on_server(slow.clone()));
    let (mut read, mut put) = (of("a", "read"), of("a", "put"));
    read.annotations.read_only = Some(true);
    put.annotations.idempotent = Some(true);
    toolset([read, put, of("a", "write"), of("b", "write")])
}

fn call(id: &str, name: &str, n: u32) -> ModelCall {
    ModelCall::new(id, name, json!({"n": n}))
}

#[tokio::test]
async fn reads_run_concurrently_and_writes_in_order() {
    let slow = Slow::default();
    let calls = vec![
        ModelCall::new("1", "a_write", json!({"n": 1, "pause": 600})),
        call("2", "a_read", 2),
        call("3", "b_write", 3),
        call("4", "a_put", 4),
        call("5", "a_write", 5),
    ];
    let answers = set(&slow).turn(calls).await;
    let said: Vec<(&str, &str)> =
        answers.iter().map(|answer| (answer.id.as_str(), answer.reply.message.as_str())).collect();
    assert_eq!(said, [("1", "done 1"), ("2", "done 2"), ("3", "done 3"), ("4", "done 4"), ("5", "done 5")]);
    let log = slow.log.lock().unwrap().clone();
    let place = |what: &str| log.iter().position(|line| line == what).expect("it is there");
    assert!(place("end 1") < place("begin 3") && place("end 3") < place("begin 5"), "{log:?}");
    assert!(place("end 2") < place("end 1") && place("end 4") < place("end 1"), "{log:?}");
    assert_eq!(slow.most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn idempotent_calls_of_one_tool_run_in_order() {
    let slow = Slow::default();
    let first = ModelCall::new("1", "a_put", json!({"n": 1, "pause": 60}));
    let answers = set(&slow).turn(vec![first, call("2", "a_put", 2), call("3", "a_write", 3)]).await;
    assert!(answers.iter().all(|answer| answer.reply.success));
    let log = slow.log.lock().unwrap().clone();
    let place = |what: &str| log.iter().position(|line| line == what).expect("it is there");
    assert!(place("end 1") < place("begin 2") && place("end 3") < place("end 1"), "{log:?}");
}

#[tokio::test]
async fn concurrent_calls_of_a_turn_are_bounded() {
    let slow = Slow::default();
    let calls = (0..100).map(|n| call(&n.to_string(), "a_read", n)).collect();
    let answers = set(&slow).turn(calls).await;
    assert_eq!(answers.len(), 100);
    assert!(answers.iter().enumerate().all(|(n, answer)| answer.reply.message == format!("done {n}")));
    assert_eq!(slow.most.load(Ordering::SeqCst), 16);
}

#[tokio::test]
async fn repeated_call_runs_once_and_is_answered_twice() {
    let server = Server::saying("done");
    let set = toolset([entry("a", "write", json!({"type": "object"}), on_server(server.clone()))]);
    let calls = vec![
        call("1", "a_write", 1),
        call("1", "a_write", 1),
        call("1", "a_write", 2),
        call("", "a_write", 1),
        call("", "a_write", 1),
    ];
    let answers = set.turn(calls).await;
    assert_eq!(answers.len(), 5);
    assert!(answers.iter().all(|answer| answer.reply.success));
    let sent: Vec<Value> = server.calls().into_iter().map(|call| call.arguments["n"].clone()).collect();
    assert_eq!(sent, [json!(1), json!(2), json!(1), json!(1)], "without ids, two calls are two");
    let message = &answers.results(Provider::Anthropic)[0]["content"];
    assert_eq!(message.as_array().map(Vec::len), Some(3), "{message}");
}

#[tokio::test]
async fn every_call_of_a_turn_is_answered() {
    let slow = Slow::default();
    let mut cut = call("4", "a_write", 4);
    cut.is_unfinished = true;
    let calls = vec![
        call("1", "a_wriet", 1),
        ModelCall::new("2", "a_write", "{broken"),
        ModelCall::new("3", "a_write", "x".repeat(10 * 1024 * 1024)),
        cut,
        call("5", "a_write", 5),
    ];
    let answers = set(&slow).turn(calls).await;
    let said: Vec<&str> = answers.iter().map(|answer| answer.reply.message.as_str()).collect();
    for (said, part) in said.iter().zip(["`a_write`", "not JSON", "4194304", "truncated or withheld", "done 5"]) {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(slow.log.lock().unwrap().len(), 2);
    assert!(set(&slow).turn(Vec::new()).await.is_empty());
}

#[tokio::test]
async fn complete_calls_of_a_truncated_reply_run() {
    let slow = Slow::default();
    let reply = json!({"stop_reason": "max_tokens", "content": [
        {"type": "tool_use", "id": "1", "name": "a_write", "input": {"n": 1}},
        {"type": "tool_use", "id": "2", "name": "a_write", "input": {"n": 2}},
    ]});
    let answers = set(&slow).turn(Provider::Anthropic.calls(&reply)).await;
    assert_eq!((answers[0].reply.success, answers[1].reply.success), (true, false));
    assert_eq!(*slow.log.lock().unwrap(), ["begin 1", "end 1"]);
}

#[tokio::test]
async fn truncated_calls_are_answered_and_never_run() {
    let server = Server::saying("done");
    let set = toolset([entry("a", "write", json!({"type": "object"}), on_server(server.clone()))]);
    let whole = r#"{"path": "/tmp/ä\\", "deep": {"n": [1, 2]}}"#;
    let mut cuts = 0;
    for (end, _) in whole.char_indices() {
        let arguments = &whole[..end];
        let chat = |reason: Value| {
            let call = json!({"id": "1", "type": "function", "function": {"name": "a_write", "arguments": arguments}});
            json!({"choices": [{"finish_reason": reason, "message": {"tool_calls": [call]}}]})
        };
        let item = json!({"type": "function_call", "call_id": "1", "name": "a_write", "arguments": arguments});
        let block = json!({"type": "tool_use", "id": "1", "name": "a_write", "input": arguments});
        for (provider, reply) in [
            (Provider::OpenAiChat, chat(json!("length"))),
            (Provider::OpenAiChat, chat(Value::Null)),
            (Provider::OpenAiResponses, json!({"status": "incomplete", "output": [item]})),
            (Provider::OpenAiResponses, json!({"status": "in_progress", "output": [item]})),
            (Provider::Anthropic, json!({"stop_reason": "max_tokens", "content": [block]})),
            (Provider::Anthropic, json!({"stop_reason": null, "content": [block]})),
            (
                Provider::Anthropic,
                json!({"stop_reason": null, "content": [{"type": "tool_use", "id": "1", "name": "a_w"}]}),
            ),
        ] {
            let answers = set.turn(provider.calls(&reply)).await;
            assert_eq!((answers.len(), answers.results(provider).len()), (1, 1));
            assert!(!answers[0].reply.success && answers[0].reply.message.contains("did not run"), "{arguments}");
            cuts += 1;
        }
    }
    assert!(server.calls().is_empty());
    println!("{cuts} replies that were cut were answered, and nothing was called");
}

#[tokio::test]
async fn dropped_turn_is_cancelled() {
    let slow = Slow::default();
    let long = |id: &str, name: &str| ModelCall::new(id, name, json!({"n": 1, "pause": 60_000}));
    let calls = vec![long("1", "a_read"), long("2", "a_write"), long("3", "a_write")];
    assert!(timeout(Duration::from_millis(50), set(&slow).turn(calls)).await.is_err());
    assert_eq!(slow.dropped.load(Ordering::SeqCst), 2);
    assert_eq!(slow.log.lock().unwrap().len(), 2, "the third has never begun");
}

#[tokio::test]
async fn turns_can_be_spawned() {
    let set = set(&Slow::default());
    let turned = tokio::spawn(async move { set.turn(vec![call("1", "a_read", 1)]).await }).await;
    assert_eq!(turned.map(|answers| answers.len()).ok(), Some(1));
    let deferred = self::set(&Slow::default()).deferred();
    let turned = tokio::spawn(async move { deferred.turn(vec![call("1", "a_read", 1)]).await }).await;
    assert_eq!(turned.map(|answers| answers.len()).ok(), Some(1));
}
