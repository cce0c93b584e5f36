//! Results that are too long for a model, and the tool that reads the rest.

#![allow(clippy::print_stdout)]

use mcp_bindgen_agents::{Answered, Answers, FunctionContext, Provider, Toolset};
use mcp_bindgen_runtime::{CallError, CallTool, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use crate::support::Nothing;
use crate::toolset_corpus::lists;

const LIMIT: usize = 20_000;
const LARGE: usize = 100_000;
/// How many large results are read.
const DOCUMENTS: usize = 50;

/// A server whose tool returns a result.
#[derive(Clone)]
struct Returns(Value);

impl CallTool for Returns {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        Ok(ToolResult::from_json(&*call.server, &*call.tool, self.0.clone()))
    }
}

fn returning(result: Value) -> Toolset {
    let tools = [json!({ "name": "get", "inputSchema": { "type": "object" } })];
    Toolset::builder().server("s", &tools, Returns(result)).build().unwrap()
}

async fn read(toolset: &Toolset, arguments: Value) -> String {
    let reply = toolset.dispatch("read_result", arguments).await;
    assert!(reply.success, "{}", reply.message);
    assert!(reply.message.len() <= LIMIT, "{} bytes", reply.message.len());
    reply.message
}

/// A page without its notes, and where the next one begins.
fn page(message: &str) -> (&str, Option<u64>) {
    let next = message.rsplit_once("\n[cut: go on at ").map(|(_, note)| {
        let from = note.split_once("\"from\": ").unwrap().1.split(']').next().unwrap();
        from.parse().unwrap()
    });
    let end = message.find("\n[cut: go on at ").or_else(|| message.find("\n[cut: read a marked place"));
    (message.get(..end.unwrap_or(message.len())).unwrap(), next)
}

fn has_marks(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("[cut: "),
        Value::Array(items) => items.iter().any(has_marks),
        Value::Object(members) => members.contains_key("[cut]") || members.values().any(has_marks),
        _ => false,
    }
}

/// Reads a place of result 1 to its end, and the marked places in it, as a model could.
fn whole<'t>(
    toolset: &'t Toolset,
    pointer: String,
    pages: &'t mut usize,
) -> futures_util::future::BoxFuture<'t, Value> {
    Box::pin(async move {
        let (mut text, mut items, mut members, mut from) = (String::new(), Vec::new(), Map::new(), 0);
        loop {
            *pages += 1;
            let message = read(toolset, json!({ "result": 1, "pointer": pointer, "from": from })).await;
            let (shown, next) = page(&message);
            match serde_json::from_str(shown) {
                Ok(Value::Array(shown)) => {
                    let is_mark = |item: &Value| item.as_str().is_some_and(|text| text.starts_with("[cut: "));
                    for (place, item) in shown.into_iter().filter(|item| !is_mark(item)).enumerate() {
                        let inner = format!("{pointer}/{}", from + place as u64);
                        items.push(if has_marks(&item) { whole(toolset, inner, pages).await } else { item });
                    }
                }
                Ok(Value::Object(shown)) => {
                    for (key, member) in shown.into_iter().filter(|(key, _)| key != "[cut]") {
                        let inner = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                        let member = if has_marks(&member) { whole(toolset, inner, pages).await } else { member };
                        members.insert(key, member);
                    }
                }
                _ => text.push_str(shown),
            }
            match next {
                Some(next) => from = next,
                None if !items.is_empty() => return items.into(),
                None if !members.is_empty() => return members.into(),
                None => return text.into(),
            }
        }
    })
}

/// Tools of the corpus, as many together as a large result has.
fn documents() -> Vec<Value> {
    let (mut documents, mut tools, mut bytes) = (Vec::new(), Vec::new(), 0);
    for tool in lists().into_iter().flatten().flat_map(|(_, tools)| tools) {
        bytes += tool.to_string().len();
        tools.push(tool.clone());
        if bytes > LARGE {
            documents.push(json!({ "count": tools.len(), "tools": std::mem::take(&mut tools) }));
            bytes = 0;
        }
    }
    documents.truncate(DOCUMENTS);
    documents
}

#[tokio::test]
async fn large_results_are_read_completely_in_pages() {
    let documents = documents();
    let (mut pages, mut bytes, count) = (0, 0, documents.len());
    for document in documents {
        bytes += document.to_string().len();
        for result in [
            json!({ "content": [], "structuredContent": document }),
            json!({ "content": [{ "type": "text", "text": document.to_string() }] }),
        ] {
            let toolset = returning(result).max_result(LIMIT);
            let reply = toolset.dispatch("s_get", "{}").await;
            assert!(reply.message.len() <= LIMIT && reply.message.contains("[cut"), "{}", reply.message.len());
            assert_eq!(whole(&toolset, String::new(), &mut pages).await, document);
        }
        // Plain text, of many lines.
        let text: String = document.to_string().replace(',', ",\n").split_off(1);
        let toolset = returning(json!({ "content": [{ "type": "text", "text": text }] })).max_result(LIMIT);
        toolset.dispatch("s_get", "{}").await;
        assert_eq!(whole(&toolset, String::new(), &mut pages).await, text);
    }
    println!("{count} results of {bytes} bytes were read three times, in {pages} pages");
    assert!(count == DOCUMENTS || lists().is_none(), "{count}");
}

#[tokio::test]
async fn hostile_results_respect_the_limit_and_are_read_completely() {
    let nested = (0..100).fold(json!("x".repeat(50_000)), |inner, _| json!([inner]));
    for value in [
        json!({ "content": "long ".repeat(20_000), "path": "/etc/passwd", "mode": 7 }),
        json!({ "lines": "\"quoted\"\n".repeat(10_000), "emoji": "👩‍💻".repeat(5_000) }),
        json!(
            (0..5_000).map(|n| (format!("key/{n}~"), json!({ "n": n, "text": "x".repeat(50) }))).collect::<Map<_, _>>()
        ),
        json!([["a".repeat(30_000)], "b".repeat(30_000), { "c": ["d".repeat(30_000), 1, 2] }]),
        json!((0..30_000).collect::<Vec<u32>>()),
        json!({ "wide": (0..300).map(|n| (format!("k{n}"), json!("v".repeat(200)))).collect::<Map<_, _>>(), "n": 1 }),
        nested,
    ] {
        let toolset = returning(json!({ "structuredContent": value })).max_result(LIMIT);
        let reply = toolset.dispatch("s_get", "{}").await;
        assert!(reply.message.len() <= LIMIT, "{}", reply.message.len());
        if value.get("path").is_some() {
            assert!(reply.message.contains("/etc/passwd") && reply.message.contains("\"mode\":7"), "{}", reply.message);
        }
        let mut pages = 0;
        assert_eq!(whole(&toolset, String::new(), &mut pages).await, value);
        assert!(pages < 120, "{pages} pages");
    }
    let key = json!({ "k".repeat(LARGE): 1 });
    let toolset = returning(json!({ "structuredContent": key })).max_result(0);
    assert!(toolset.dispatch("s_get", "{}").await.message.len() <= 1_000);
}

#[tokio::test]
async fn contains_finds_items_members_and_lines() {
    let issues: Vec<Value> =
        (0..2_000).map(|n| json!({ "number": n, "title": format!("Issue {n} of THE list") })).collect();
    let toolset = returning(json!({ "structuredContent": { "issues": issues, "n": 2_000 } })).max_result(LIMIT);
    toolset.dispatch("s_get", "{}").await;
    let found = read(&toolset, json!({ "result": 1, "pointer": "/issues", "contains": "issue 1999 of the" })).await;
    assert_eq!(found, r#"{"1999":{"number":1999,"title":"Issue 1999 of THE list"}}"#);
    let (mut from, mut places) = (json!(0), Vec::new());
    loop {
        let found = read(&toolset, json!({ "result": 1, "pointer": "/issues", "contains": "7", "from": from })).await;
        let (shown, next) = page(&found);
        places.extend(serde_json::from_str::<Map<String, Value>>(shown).unwrap().into_iter().map(|(place, _)| place));
        let Some(next) = next else { break };
        from = next.into();
    }
    places.retain(|place| place != "[cut]");
    assert_eq!(places.len(), (0..2_000).filter(|n: &u32| n.to_string().contains('7')).count());
    let member = read(&toolset, json!({ "result": 1, "contains": "2000" })).await;
    assert_eq!(member, r#"{"n":2000}"#);

    let log: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
    let toolset = returning(json!({ "content": [{ "type": "text", "text": log }] })).max_result(LIMIT);
    toolset.dispatch("s_get", "{}").await;
    let found = read(&toolset, json!({ "result": 1, "contains": "LINE 4321" })).await;
    let (at, line) = found.trim_end().split_once(": ").unwrap();
    assert_eq!(line, "line 4321");
    let there = read(&toolset, json!({ "result": 1, "from": at.parse::<u64>().unwrap() })).await;
    assert!(there.starts_with("line 4321\n"), "{there}");
    let begin = read(&toolset, json!({ "result": 1 })).await;
    for from in [json!(-1), json!(0.0)] {
        assert_eq!(read(&toolset, json!({ "result": 1, "from": from })).await, begin);
    }
}

#[tokio::test]
async fn invalid_read_is_explained() {
    let toolset = returning(json!({ "structuredContent": { "a": "x".repeat(LARGE) } })).max_result(LIMIT);
    toolset.dispatch("s_get", "{}").await;
    for (arguments, expected) in [
        (json!({ "result": 2 }), "no result 2 is kept: call its tool again"),
        (json!({ "result": -1 }), "no result 0 is kept: call its tool again"),
        (json!({ "result": 1, "pointer": "/b" }), "there is nothing at this `pointer`"),
        (json!({ "result": "1" }), "result"),
    ] {
        let reply = toolset.dispatch("read_result", arguments).await;
        assert!(!reply.success && reply.message.contains(expected), "{}", reply.message);
    }
    let text = returning(json!({ "content": [{ "type": "text", "text": "x".repeat(LARGE) }] })).max_result(LIMIT);
    text.dispatch("s_get", "{}").await;
    let reply = text.dispatch("read_result", json!({ "result": 1, "pointer": "/a" })).await;
    assert!(!reply.success && reply.message.contains("plain text"), "{}", reply.message);
    // A conversation of its own has results of its own.
    let other = toolset.max_result(LIMIT);
    assert!(!other.dispatch("read_result", json!({ "result": 1 })).await.success);
    assert_eq!(other.len(), 2);
}

#[tokio::test]
async fn result_limit_applies_to_subsets_extensions_and_deferred_sets() {
    let long = returning(json!({ "content": [{ "type": "text", "text": "x".repeat(LARGE) }] })).max_result(LIMIT);
    let subset = long.subset(["s/get"]).unwrap();
    let extended = long
        .extend()
        .function("more", "Returns a lot.", async |_: Nothing| Ok::<_, String>("y".repeat(LARGE)))
        .build()
        .unwrap();
    for (toolset, name) in [(&long, "s_get"), (&subset, "s_get"), (&extended, "s_get"), (&extended, "more")] {
        let reply = toolset.dispatch(name, "{}").await;
        assert!(reply.message.len() <= LIMIT, "{name}");
        assert!(toolset.names().any(|name| name == "read_result"));
    }
    let deferred = extended.deferred();
    assert!(deferred.listed().names().any(|name| name == "read_result"));
    assert!(deferred.dispatch("call_tool", r#"{"name": "s_get", "arguments": {}}"#).await.message.len() <= LIMIT);
    // All of them are read by any of them.
    assert!(deferred.dispatch("read_result", r#"{"result": 5, "from": 99990}"#).await.message.ends_with("xxxxxxxxxx"));
    assert!(subset.dispatch("read_result", r#"{"result": 4}"#).await.message.starts_with("yyy"));

    // A tool of this name stays what it is.
    let own = Toolset::builder()
        .function("read_result", "Its own.", async |_: Nothing| Ok::<_, String>("own"))
        .build()
        .unwrap()
        .max_result(LIMIT);
    assert_eq!(own.names().collect::<Vec<_>>(), ["read_result", "read_result_"]);
    assert_eq!(own.dispatch("read_result", "{}").await.message, "own");
}

#[tokio::test]
async fn functions_receive_whole_results_and_models_images() {
    let picture = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let embedded = json!({ "type": "resource", "resource": { "uri": "file:///log", "text": "z".repeat(LARGE) } });
    let toolset = returning(json!({ "content": [{ "type": "text", "text": "short" }, picture, embedded] }))
        .extend()
        .function_with("count", "Counts bytes.", async |context: FunctionContext, _: Nothing| {
            Ok::<_, String>(context.dispatch("s_get", "{}").await.value.to_string().len())
        })
        .build()
        .unwrap()
        .max_result(LIMIT);
    assert!(toolset.dispatch("count", "{}").await.message.parse::<usize>().unwrap() > LARGE);
    let reply = toolset.dispatch("s_get", "{}").await;
    let answers: Answers = [Answered::new("1", "s_get", reply)].into_iter().collect();
    let message = answers.results(Provider::Anthropic);
    let content = message[0].pointer("/content/0/content").and_then(Value::as_array).unwrap();
    let kinds: Vec<&str> = content.iter().filter_map(|part| part.get("type")?.as_str()).collect();
    assert_eq!(kinds, ["text", "image"]);
    let text = content[0]["text"].as_str().unwrap();
    assert!(text.starts_with("short\nfile:///log:\nzzz") && text.len() <= LIMIT, "{}", text.len());
}

/// The beginning of a PNG of this size, which is all that is looked at.
fn png(width: u32, height: u32) -> Value {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes().into_iter().chain(height.to_be_bytes()).chain([8, 6, 0, 0, 0]));
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes.resize(30, 0);
    let groups = bytes.chunks_exact(3).map(|group| u32::from_be_bytes([0, group[0], group[1], group[2]]));
    let data = groups.flat_map(|group| [18, 12, 6, 0].map(|shift| digits[(group >> shift & 63) as usize] as char));
    json!({ "type": "image", "data": data.collect::<String>(), "mimeType": "image/png" })
}

#[tokio::test]
async fn images_count_by_the_cost_at_providers() {
    // 1,334 tokens each by Anthropic, which is the most: 5,336 bytes.
    let pictures = vec![png(1_000, 1_000); 5];
    let content: Vec<Value> = std::iter::once(json!({ "type": "text", "text": "five" })).chain(pictures).collect();
    let toolset = returning(json!({ "content": content })).max_result(LIMIT);
    let reply = toolset.dispatch("s_get", "{}").await;
    let shown = |reply: &mcp_bindgen_runtime::ToolReply| {
        let content = reply.value["content"].as_array().unwrap();
        content.iter().filter(|block| block["type"] == "image").count()
    };
    assert_eq!(shown(&reply), 3, "{}", reply.message);
    let note = "five\n[left out: pictures 4, 5; see one with `read_result`: \"result\": 1, \"picture\": 4]";
    assert_eq!(reply.message, note);
    let fourth = toolset.dispatch("read_result", r#"{"result": 1, "picture": 4}"#).await;
    assert_eq!(shown(&fourth), 1);
    let none = toolset.dispatch("read_result", r#"{"result": 1, "picture": 6}"#).await;
    assert!(!none.success && none.message.contains("the result has 5 pictures"), "{}", none.message);
    // Small ones all fit.
    let small =
        returning(json!({ "content": vec![png(200, 200); 15] })).max_result(LIMIT).dispatch("s_get", "{}").await;
    assert_eq!(shown(&small), 15);
    // A long text leaves them half of the limit.
    let long =
        json!({ "content": [{ "type": "text", "text": "z".repeat(LARGE) }, png(1_000, 1_000), png(1_000, 1_000)] });
    let reply = returning(long).max_result(LIMIT).dispatch("s_get", "{}").await;
    assert_eq!(shown(&reply), 1);
    assert!((10_000..15_000).contains(&reply.message.len()), "{}", reply.message.len());
}
