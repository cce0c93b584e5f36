//! What long lists cost, and what is found in them, over real lists.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::toolset::testing::{Server, entry, on_server, toolset};
use crate::toolset::{Entry, Toolset};

/// One of so many tools is looked for.
const SAMPLE: usize = 5;

fn lists() -> Vec<(String, Vec<Value>)> {
    let corpus = std::env::var_os("MCP_BINDGEN_CORPUS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus")), PathBuf::from);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(corpus.join("lists"))
        .expect("MCP_BINDGEN_CORPUS is the folder of the corpus")
        .map(|file| file.expect("a file").path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let list: Value = serde_json::from_slice(&std::fs::read(&path).expect("it is readable")).expect("it is JSON");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (name, list["tools"].as_array().cloned().unwrap_or_default())
    };
    paths.into_iter().map(read).collect()
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

/// As they are sent, less what each provider does to a schema.
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
        .map(|(name, tools)| (name, set_of(&tools)))
        .filter(|(_, set)| set.entries().len() >= 10)
        .map(|(name, set)| (bytes(set.deferred().listed()) as f64 / bytes(&set) as f64, name))
        .collect();
    shares.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let at = |share: f64| shares[((shares.len() - 1) as f64 * share) as usize].0 * 100.0;
    let (median, p90) = (at(0.5), at(0.9));
    println!("deferred lists of {} servers with 10 tools or more: median {median:.1} %, p90 {p90:.1} %", shares.len());
    assert!(shares.len() > 100 && median <= 15.0);
}

#[tokio::test]
#[ignore = "reads the whole corpus"]
async fn tools_are_found_by_words_of_their_own() {
    let (mut asked, mut first, mut among) = (0, 0, 0);
    for (_, tools) in lists().into_iter().filter(|(_, tools)| tools.len() >= 10) {
        let set = set_of(&tools);
        let deferred = set.deferred();
        for entry in set.entries().iter().step_by(SAMPLE) {
            let description = entry.description.as_deref().unwrap_or_default();
            let query = description.split(['.', '\n']).next().unwrap_or_default();
            if query.split_whitespace().count() < 3 {
                continue;
            }
            let reply = deferred.dispatch("find_tools", json!({"query": query})).await;
            let found = &reply.value["structuredContent"]["tools"];
            let place = found.as_array().and_then(|found| found.iter().position(|tool| tool["name"] == entry.public));
            asked += 1;
            first += usize::from(place == Some(0));
            among += usize::from(place.is_some());
        }
    }
    let share = |count: usize| count as f64 * 100.0 / asked as f64;
    println!("of {asked} tools, {:.1} % are found first and {:.1} % among the first five", share(first), share(among));
    assert!(asked > 1000 && share(among) >= 90.0);
}
