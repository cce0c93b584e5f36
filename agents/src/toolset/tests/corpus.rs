//! The cost of long lists, and searches in them, over real lists.

use std::path::PathBuf;
use std::sync::Arc;

use mcp_bindgen_schema::Role;
use mcp_samples::corpus::{List, Samples};
use serde_json::{Value, json};

use crate::toolset::testing::{Server, entry, on_server, toolset};
use crate::toolset::{Entry, Toolset};

/// One of this many tools is searched for.
const SAMPLE: usize = 5;

fn corpus() -> PathBuf {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus"));
    std::env::var_os("MCP_BINDGEN_CORPUS").map_or_else(beside, PathBuf::from)
}

fn lists() -> Vec<List> {
    mcp_samples::corpus::lists(&corpus(), |_| true).expect("MCP_BINDGEN_CORPUS is the folder of the corpus")
}

fn set_of(tools: &[Value]) -> Toolset {
    let caller = Server::saying("done");
    let mut names = std::collections::BTreeSet::new();
    let entries = tools.iter().filter_map(|tool| {
        let name = tool["name"].as_str()?;
        if !names.insert(name) {
            return None;
        }
        let mut made = entry("server", name, tool["inputSchema"].clone(), on_server(caller.clone()));
        made.title = tool["title"].as_str().map(Arc::from);
        made.description = tool["description"].as_str().map(Arc::from);
        Some(made)
    });
    toolset(entries)
}

/// Counts the bytes of the definitions before a provider's rewrite.
fn bytes(set: &Toolset) -> usize {
    let declared = |entry: &Arc<Entry>| {
        let description = entry.description.as_deref().unwrap_or_default();
        json!({"name": entry.public, "description": description, "input_schema": *entry.input_schema}).to_string().len()
    };
    set.entries().iter().map(declared).sum()
}

#[test]
#[ignore = "reads the whole corpus"]
fn deferred_lists_are_short() {
    let mut shares: Vec<(f64, String)> = lists()
        .into_iter()
        .map(|list| (list.name, set_of(&list.snapshot.tools)))
        .filter(|(_, set)| set.entries().len() >= 10)
        .map(|(name, set)| (bytes(set.deferred().listed()) as f64 / bytes(&set) as f64, name))
        .collect();
    shares.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let at = |share: f64| shares[((shares.len() - 1) as f64 * share) as usize].0 * 100.0;
    let (median, p90) = (at(0.5), at(0.9));
    println!("deferred lists of {} servers with 10 tools or more: median {median:.1} %, p90 {p90:.1} %", shares.len());
    assert!(shares.len() > 100 && median <= 15.0);
}

/// Returns the number of searches, of first hits, and of hits anywhere in the results.
async fn searched(query_of: impl Fn(&str) -> String) -> (usize, usize, usize) {
    let (mut asked, mut first, mut among) = (0, 0, 0);
    for list in lists().into_iter().filter(|list| list.snapshot.tools.len() >= 10) {
        let set = set_of(&list.snapshot.tools);
        let deferred = set.deferred();
        for entry in set.entries().iter().step_by(SAMPLE) {
            let description = entry.description.as_deref().unwrap_or_default();
            let sentence = description.split(['.', '\n']).next().unwrap_or_default();
            if sentence.split_whitespace().count() < 4 {
                continue;
            }
            let reply = deferred.dispatch("find_tools", json!({"query": query_of(sentence)})).await;
            let found = &reply.value["structuredContent"]["tools"];
            let place = found.as_array().and_then(|found| found.iter().position(|tool| tool["name"] == entry.public));
            asked += 1;
            first += usize::from(place == Some(0));
            among += usize::from(place.is_some());
        }
    }
    (asked, first, among)
}

#[tokio::test]
#[ignore = "reads the whole corpus"]
async fn tools_are_found_by_words_of_their_description() {
    let half = |sentence: &str| sentence.split_whitespace().step_by(2).collect::<Vec<_>>().join(" ");
    let all = searched(str::to_owned).await;
    for (words, (asked, first, among), least) in
        [("the words", all, 95.0), ("half the words", searched(half).await, 90.0)]
    {
        let share = |count: usize| count as f64 * 100.0 / asked as f64;
        let (first, among) = (share(first), share(among));
        println!("by {words} of its first sentence, of {asked} tools {first:.1} % are first, {among:.1} % among five");
        assert!(asked > 1000 && among >= least);
    }
}

/// Returns the number of removed nulls, or `None` if anything else differs, including the order.
fn left_out(sample: &Value, sent: &Value) -> Option<usize> {
    match (sample, sent) {
        (Value::Object(sample), Value::Object(sent)) => {
            let mut count = 0;
            let mut left = sent.iter().peekable();
            for (key, value) in sample {
                match left.next_if(|(name, _)| *name == key) {
                    Some((_, kept)) => count += left_out(value, kept)?,
                    None => count += value.is_null().then_some(1)?,
                }
            }
            left.next().is_none().then_some(count)
        }
        (Value::Array(sample), Value::Array(sent)) if sample.len() == sent.len() => {
            sample.iter().zip(sent).map(|(value, kept)| left_out(value, kept)).sum()
        }
        _ => (sample == sent).then_some(0),
    }
}

/// Values that the schema allows reach the server unchanged; refusals of others name a position.
#[tokio::test]
#[ignore = "reads the whole corpus"]
async fn sample_values_reach_the_server_or_are_explained() {
    let lists = mcp_samples::corpus::lists_with_samples(&corpus(), |_| true).expect("the corpus is there");
    let (mut valid, mut nulls, mut refused, mut mended) = (0, 0, 0, 0);
    for list in &lists {
        for line in &list.samples {
            let samples = Samples::parse(line).expect("it is read");
            if samples.role != Role::Input {
                continue;
            }
            let server = Server::saying("done");
            let schema = list.schema(samples.index, Role::Input).cloned().unwrap_or_default();
            let set = toolset([entry("s", "t", schema, on_server(server.clone()))]);
            let at = || format!("{} {}", list.name, list.tool_name(samples.index));
            for sample in samples.valid.iter().filter(|sample| sample.is_object()) {
                let reply = set.dispatch("s_t", sample.to_string()).await;
                assert!(reply.success, "{}: {sample}: {}", at(), reply.message);
                let sent = Value::Object(server.calls().pop().expect("it was called").arguments);
                nulls += left_out(sample, &sent).unwrap_or_else(|| panic!("{}: {sample} became {sent}", at()));
                valid += 1;
            }
            for sample in samples.invalid.iter().filter(|sample| sample.is_object()) {
                let called = server.calls().len();
                let reply = set.dispatch("s_t", sample.to_string()).await;
                if reply.success {
                    let sent = Value::Object(server.calls().pop().expect("it was called").arguments);
                    assert!(left_out(sample, &sent).is_some_and(|nulls| nulls > 0), "{}: {sample} became {sent}", at());
                    mended += 1;
                } else {
                    assert!(reply.message.contains("Nothing was sent"), "{}: {}", at(), reply.message);
                    assert_eq!(server.calls().len(), called, "{}: {sample}", at());
                    refused += 1;
                }
            }
        }
    }
    println!(
        "{valid} valid arguments reached the server as they are, but for {nulls} nulls that stand for what is absent; of \
         others {refused} were refused, and {mended} needed no more than a null taken out"
    );
    assert!(valid > 50_000 && refused > 50_000 && mended * 10 < refused);
}

/// Counts the tokens of tools with declared results, with and without their types, for each provider.
#[cfg(feature = "tokens")]
#[test]
#[ignore = "reads the whole corpus"]
fn output_types_cost_few_tokens() {
    use crate::Provider;

    let providers = [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini];
    for provider in providers {
        let (mut shares, mut with, mut without, mut all) = (Vec::new(), 0, 0, 0);
        for list in lists() {
            let costs = |tools: &[Value]| {
                let set = Toolset::builder().server("server", tools, mcp_bindgen_runtime::Fake::new()).build();
                set.expect("a list is a set").cost(provider).tools
            };
            let declares = |tool: &&Value| tool["outputSchema"].is_object();
            let declaring: Vec<Value> = list.snapshot.tools.iter().filter(declares).cloned().collect();
            let mut silent = declaring.clone();
            silent.iter_mut().filter_map(Value::as_object_mut).for_each(|tool| drop(tool.remove("outputSchema")));
            for (typed, plain) in costs(&declaring).iter().zip(costs(&silent)) {
                assert_eq!(typed.name, plain.name);
                (with, without, all) = (with + typed.tokens, without + plain.tokens, all + 1);
                if typed.tokens > plain.tokens {
                    shares.push((typed.tokens as f64 / plain.tokens as f64 - 1.0) * 100.0);
                }
            }
        }
        shares.sort_by(f64::total_cmp);
        let at = |share: f64| shares[((shares.len() - 1) as f64 * share) as usize];
        let (median, p95) = (at(0.5), at(0.95));
        println!(
            "{provider:?}: {} of {all} tools that declare results say their type: {without} -> {with} tokens; of these \
             median {median:.1} %, p95 {p95:.1} %",
            shares.len()
        );
        assert!(shares.len() > 200 && median <= 5.0);
    }
}

/// Returns the schema with every definition in the places that refer to it.
#[cfg(feature = "tokens")]
fn inlined(schema: &Value, root: &Value) -> Value {
    match schema {
        Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
            Some(target) => inlined(&root["$defs"][target.trim_start_matches("#/$defs/")], root),
            None => {
                let members = members.iter().filter(|(key, _)| *key != "$defs");
                Value::Object(members.map(|(key, value)| (key.clone(), inlined(value, root))).collect())
            }
        },
        Value::Array(items) => items.iter().map(|item| inlined(item, root)).collect(),
        other => other.clone(),
    }
}

/// Counts the tokens that definitions save for repeated parts, in schemas without references.
#[cfg(feature = "tokens")]
#[test]
#[ignore = "reads the whole corpus"]
fn repeated_schemas_are_declared_once() {
    use crate::Provider;
    use crate::toolset::definitions::tokens_of;

    let providers = [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini];
    for provider in providers {
        let (mut all, mut saved, mut tools) = (0, 0, 0);
        for list in lists() {
            let plain: Vec<Value> =
                list.snapshot.tools.iter().filter(|tool| !tool.to_string().contains("$ref")).cloned().collect();
            let set = Toolset::builder().server("server", &plain, mcp_bindgen_runtime::Fake::new()).build();
            for declared in set.expect("a list is a set").definitions(provider).declarations() {
                let said = tokens_of(&declared.to_string());
                all += said;
                let schema = |key: &str| Some((key.to_owned(), declared.get(key)?.clone()));
                let at = ["parameters", "input_schema", "parametersJsonSchema"].into_iter().find_map(schema);
                let (key, schema) = at
                    .or_else(|| Some(("function".to_owned(), declared["function"]["parameters"].clone())))
                    .expect("a schema");
                if schema.get("$defs").is_none() {
                    continue;
                }
                let whole = inlined(&schema, &schema).to_string();
                let more = tokens_of(&whole).saturating_sub(tokens_of(&schema.to_string()));
                assert!(more > 0, "{key} of {declared}");
                saved += more;
                tools += 1;
            }
        }
        println!("{provider:?}: {tools} tools say repeated schemas once: {} -> {all} tokens", all + saved);
        assert!(tools > 50 && saved > 5_000);
    }
}
