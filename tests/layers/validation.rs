//! Tests the validation layer, which needs the `validation` feature.

use mcp_bindgen::middleware::{Stack, Validate};
use mcp_bindgen::{CallError, CallTool};

use super::*;

#[tokio::test]
async fn invalid_arguments_are_not_sent() {
    let (server, client) = served();
    let stack = Stack::new(client).validate(Validate::new());
    let mut call = get("a");
    stack.call_tool(call.clone()).await.unwrap();
    call.arguments.insert("key".to_owned(), json!("a key that is much too long"));
    let error = stack.call_tool(call.clone()).await.unwrap_err();
    assert!(matches!(&error, CallError::InvalidArguments { pointer, .. } if pointer == "/key"), "{error}");
    assert_eq!(server.executions("get"), 1);
    call.spec = None;
    stack.call_tool(call).await.expect("nothing is known of its tool");
}

#[tokio::test]
async fn invalid_results_are_decode_errors() {
    let (_, client) = served();
    let stack = Stack::new(client).validate(Validate::new());
    stack.call_tool(put("a", 1_000_001)).await.unwrap();
    let error = stack.call_tool(get("a")).await.unwrap_err();
    let CallError::Decode { pointer, result, .. } = &error else { panic!("{error}") };
    assert_eq!((pointer.as_str(), value(result)), ("/value", 1_000_001));
    assert!(stack.call_tool(untyped("fail", json!({}))).await.unwrap().is_error);
}
