//! Servers that say anything.

use proptest::prelude::*;
use serde_json::json;

use crate::harness::{IDS, check};

/// Messages as servers send them.
fn messages() -> Vec<String> {
    let [first, second] = IDS;
    [
        json!({ "jsonrpc": "2.0", "id": first, "result": { "content": [{ "type": "text", "text": "yes" }] } }),
        json!({ "jsonrpc": "2.0", "id": second.to_string(), "result": { "structuredContent": { "n": 1 } } }),
        json!({ "jsonrpc": "2.0", "id": second, "error": { "code": -32602, "message": "no such tool", "data": [1] } }),
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "unclear" } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 1, "progress": 1 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }),
        json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": { "message": "who?" } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
        json!([{ "jsonrpc": "2.0", "id": first, "result": {} }, { "jsonrpc": "2.0", "id": second, "result": [] }]),
    ]
    .map(|message| message.to_string())
    .to_vec()
}

/// Damage to a text: its place, its kind, and a byte.
fn damage() -> impl Strategy<Value = (prop::sample::Index, u8, u8)> {
    (any::<prop::sample::Index>(), 0..4_u8, any::<u8>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_completes_for_arbitrary_server_bytes(
        picked in prop::collection::vec(prop::sample::select(messages()), 1..6),
        damages in prop::collection::vec(damage(), 0..4),
    ) {
        let mut said: Vec<u8> = picked.iter().flat_map(|message| format!("{message}\n").into_bytes()).collect();
        for (at, how, byte) in damages {
            let at = at.index(said.len());
            match how {
                0 => said[at] = byte,
                1 => said.insert(at, b"{}[]\",:\\\n\xff"[usize::from(byte % 10)]),
                2 => said.truncate(at.max(1)),
                _ if said.len() > 1 => drop(said.remove(at)),
                _ => {}
            }
        }
        check(&said);
    }
}
