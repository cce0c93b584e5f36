//! Real tool lists as one set: names, and declarations for every provider.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;

use mcp_bindgen_agents::{
    DiagnosticKind, McpSection, Prompt, PromptParams, PromptState, Provider, SectionServer, Toolset, ToolsetBuilder,
};
use mcp_bindgen_model::Snapshot;
use mcp_bindgen_runtime::Fake;
use serde_json::{Value, json};

const PROVIDERS: [Provider; 4] =
    [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini];

pub(crate) type List = (String, Vec<Value>);

/// The lists, sorted by name; none where the corpus is not there.
pub(crate) fn lists() -> Option<&'static [List]> {
    static LISTS: OnceLock<Option<Vec<List>>> = OnceLock::new();
    LISTS.get_or_init(read_lists).as_deref()
}

fn read_lists() -> Option<Vec<List>> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    let corpus = std::env::var_os("MCP_BINDGEN_CORPUS").map_or_else(beside, PathBuf::from);
    let folder = corpus.join("lists");
    if !folder.exists() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "the corpus is not at {}", corpus.display());
        println!("skipped: the corpus is not at {}", corpus.display());
        return None;
    }
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let of =
        |path: &PathBuf| (path.file_stem().unwrap().to_str().unwrap().to_owned(), Snapshot::load(path).unwrap().tools);
    let lists: Vec<List> =
        paths.iter().filter(|path| path.extension().is_some_and(|it| it == "json")).map(of).collect();
    assert!(lists.len() > 300, "{} lists", lists.len());
    Some(lists)
}

fn all<'a>(lists: impl IntoIterator<Item = &'a List>) -> Toolset {
    let add = |builder: ToolsetBuilder, (name, tools): &List| builder.server(name, tools, Fake::new());
    lists.into_iter().fold(Toolset::builder(), add).build().unwrap()
}

/// Public names by server and tool.
fn names(toolset: &Toolset) -> BTreeMap<(String, String), String> {
    let named = |name: &str| {
        let (server, tool) = toolset.tool_of(name).unwrap();
        ((server.to_owned(), tool.to_owned()), name.to_owned())
    };
    toolset.names().map(named).collect()
}

/// Compares the names that an inventory shows with those that can be called, for pairs of lists: each list with every
/// `step`-th one behind it.
async fn inventories_show_what_can_be_called(step: usize) {
    let Some(lists) = lists() else { return };
    let bare = |tool: &Value| json!({ "name": tool["name"], "inputSchema": { "type": "object" } });
    let servers: Vec<SectionServer> = lists
        .iter()
        .map(|(name, tools)| {
            let tools: Vec<Value> = tools.iter().map(bare).collect();
            let snapshot = Snapshot::parse(&json!({ "tools": tools }).to_string()).unwrap();
            // Names of lists are not all names of servers.
            let name = name.to_lowercase().chars().take(64).collect::<String>();
            SectionServer::caller(name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"), Fake::new())
                .snapshot(snapshot)
        })
        .collect();
    let template = "{% for s, t in tools_by_server|items %}{{ t|map(attribute='name')|join(' ') }} {% endfor %}";
    let mut pairs = 0;
    for (at, one) in servers.iter().enumerate() {
        for other in servers.iter().skip(at + 1).step_by(step) {
            let section = McpSection::new([one.clone(), other.clone()]).template(template);
            let prompt = Prompt::new().section(section).build().unwrap();
            let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
            let text = rendered.text().split_once("\n\n").map_or("", |(_, text)| text);
            let shown: BTreeSet<&str> = text.split_whitespace().collect();
            let (toolset, failed) = rendered.toolset().await.unwrap();
            assert!(failed.is_empty());
            assert_eq!(shown, toolset.names().collect(), "{} and {}", one.name(), other.name());
            pairs += 1;
        }
    }
    println!("{pairs} pairs of {} lists: the inventory shows the names of the toolset", servers.len());
    assert!(pairs * step > servers.len());
}

#[tokio::test]
async fn inventories_of_sampled_pairs_show_callable_names() {
    inventories_show_what_can_be_called(200).await;
}

#[tokio::test]
#[ignore = "renders a prompt for each of 53,000 pairs of lists: minutes unoptimized"]
async fn inventories_of_all_pairs_show_callable_names() {
    inventories_show_what_can_be_called(1).await;
}

fn fits_every_provider(name: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_next = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.starts_with(is_first) && name.chars().all(is_next) && name.len() <= 64
}

#[test]
fn name_check_refuses_names_that_providers_refuse() {
    let long = "x".repeat(65);
    let refused = ["", "1st", "-x", "a b", "a.b", "a/b", "a:b", "é", "a\n", long.as_str()];
    assert!(refused.into_iter().all(|name| !fits_every_provider(name)));
    assert!(["a", "_", "A-b_9", &long[1..]].into_iter().all(fits_every_provider));
}

#[test]
fn names_of_all_lists_are_unique_and_stable() {
    let Some(lists) = lists() else { return };
    let whole = all(lists);
    let named = names(&whole);
    let repeated = whole.left_out().len();
    let listed: usize = lists.iter().map(|(_, tools)| tools.len()).sum();
    assert_eq!(whole.len() + repeated, listed);
    assert_eq!(named.len(), whole.len(), "a tool is in the set twice");
    assert_eq!(named.values().collect::<BTreeSet<_>>().len(), whole.len(), "two tools have one name");
    let unfit: Vec<_> = named.values().filter(|name| !fits_every_provider(name)).collect();
    assert!(unfit.is_empty(), "{unfit:?}");
    let longest = named.values().map(String::len).max().unwrap();
    let plain = named.iter().filter(|((server, tool), name)| **name == format!("{server}_{tool}")).count();

    let reversed: Vec<List> =
        lists.iter().rev().map(|(server, tools)| (server.clone(), tools.iter().rev().cloned().collect())).collect();
    assert_eq!(names(&all(&reversed)), named);
    println!(
        "{} tools of {} lists ({repeated} listed twice): no collision, longest name {longest}, {plain} are `server_tool` as it is",
        whole.len(),
        lists.len()
    );
}

#[test]
fn removing_sampled_lists_renames_no_tools() {
    a_list_less_renames_nothing(160);
}

#[test]
#[ignore = "names 250,000 tools: half a minute unoptimized"]
fn removing_a_tenth_of_the_lists_renames_no_tools() {
    a_list_less_renames_nothing(10);
}

fn a_list_less_renames_nothing(every: usize) {
    let Some(lists) = lists() else { return };
    // Names are all that this asks for.
    let bare = |tool: &Value| json!({ "name": tool["name"] });
    let lists: Vec<List> =
        lists.iter().map(|(server, tools)| (server.clone(), tools.iter().map(bare).collect())).collect();
    let named = names(&all(&lists));
    let (mut sets, mut compared, mut partners) = (0, 0, BTreeSet::new());
    for without in lists.iter().step_by(every) {
        sets += 1;
        let others = all(lists.iter().filter(|list| list.0 != without.0));
        for (tool, name) in names(&others) {
            compared += 1;
            if named[&tool] != name {
                partners.insert((without.0.clone(), tool));
            }
        }
    }
    // A partner of a collision is one whose plain name a tool of the missing list would have as well.
    for (without, (server, tool)) in &partners {
        let plain = format!("{server}_{tool}");
        let is_partner = named.keys().any(|(of, other)| of == without && format!("{of}_{other}") == plain);
        assert!(is_partner, "{server}/{tool} is called otherwise without {without}");
    }
    assert!(sets > 0 && compared > 0, "nothing was compared");
    println!("{compared} names compared over {sets} sets, {} partners of collisions renamed", partners.len());
}

/// The names of all properties of a schema, at whatever depth.
fn properties(schema: &Value) -> Vec<&str> {
    let Value::Object(keywords) = schema else {
        return schema.as_array().into_iter().flatten().flat_map(properties).collect();
    };
    let mut names = Vec::new();
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("enum" | "const" | "default" | "examples", _) => {}
            ("properties" | "$defs", Value::Object(members)) => {
                let named = members.keys().filter(|_| keyword == "properties").map(String::as_str);
                names.extend(named);
                names.extend(members.values().flat_map(properties));
            }
            _ => names.extend(properties(value)),
        }
    }
    names
}

/// Returns the faults of one declaration that make a provider reject the whole request.
fn faults(provider: Provider, declaration: &Value) -> Vec<&'static str> {
    let tool = declaration.get("function").unwrap_or(declaration);
    let schema = match provider {
        Provider::OpenAiChat | Provider::OpenAiResponses => &tool["parameters"],
        Provider::Anthropic => &tool["input_schema"],
        _ => &tool["parametersJsonSchema"],
    };
    let is_openai = matches!(provider, Provider::OpenAiChat | Provider::OpenAiResponses);
    let length = tool["description"].as_str().unwrap_or_default().chars().count();
    let combines = ["oneOf", "anyOf", "allOf"].iter().any(|key| schema.get(key).is_some());
    let is_key = |key: &str| match provider {
        Provider::Anthropic => {
            let is_next = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            (1..=64).contains(&key.len()) && key.chars().all(is_next)
        }
        Provider::Gemini => fits_every_provider(key) && !key.contains('-'),
        _ => true,
    };
    let rules = [
        (properties(schema).into_iter().all(is_key), "the name of a property"),
        (fits_every_provider(tool["name"].as_str().unwrap_or_default()), "name"),
        (schema["type"] == "object", "no object at the root"),
        (schema["properties"].is_object(), "no properties"),
        (!is_openai || tool["strict"].is_boolean(), "strict is not said"),
        (tool.get("description").is_none_or(Value::is_string), "description"),
        (provider != Provider::OpenAiChat || length <= 1024, "description too long"),
        (provider != Provider::Gemini || tool["description"].is_string(), "no description"),
        (provider != Provider::Anthropic || !combines, "a combinator at the root"),
    ];
    rules.into_iter().filter_map(|(holds, what)| (!holds).then_some(what)).collect()
}

#[test]
fn declaration_check_refuses_declarations_that_providers_refuse() {
    let long = "x".repeat(1025);
    let chat = json!({ "function": { "name": "a.b", "description": long, "parameters": { "anyOf": [] } } });
    let expected = ["name", "no object at the root", "no properties", "strict is not said", "description too long"];
    assert_eq!(faults(Provider::OpenAiChat, &chat), expected);
    let combined = json!({ "name": "a", "input_schema": { "type": "object", "properties": {}, "anyOf": [] } });
    assert_eq!(faults(Provider::Anthropic, &combined), ["a combinator at the root"]);
    let inner = json!({ "type": "object", "properties": { "a b": {} } });
    let schema = json!({ "type": "object", "properties": { "enum": { "items": inner } } });
    let named = json!({ "name": "a", "description": "", "input_schema": schema, "parametersJsonSchema": schema });
    for provider in [Provider::Anthropic, Provider::Gemini] {
        assert_eq!(faults(provider, &named), ["the name of a property"]);
    }
}

#[test]
#[ignore = "rewrites 7,720 schemas for three dialects, strictly and loosely: half a minute unoptimized"]
fn every_tool_is_declared_to_every_provider() {
    let Some(lists) = lists() else { return };
    let mut table: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    let mut reasons: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for list in lists {
        let toolset = all([list]);
        for provider in PROVIDERS {
            let definitions = toolset.definitions(provider);
            let at_most = match provider {
                Provider::OpenAiChat => 128,
                Provider::Gemini => 512,
                _ => usize::MAX,
            };
            assert_eq!(definitions.declarations().count(), toolset.len().min(at_most), "{}", list.0);
            let count = table.entry(format!("{provider:?}")).or_default();
            let mut strict = 0;
            for (name, declaration) in toolset.names().zip(definitions.declarations()) {
                let tool = declaration.get("function").unwrap_or(declaration);
                assert_eq!(tool["name"], name);
                *count.entry("declared".to_owned()).or_default() += 1;
                strict += usize::from(tool["strict"] == true);
                let faults = faults(provider, declaration);
                wrong.extend(faults.into_iter().map(|fault| format!("{provider:?} {name}: {fault}")));
            }
            assert!(provider != Provider::Anthropic || strict <= 20, "{}: {strict} strict tools", list.0);
            *count.entry("strict".to_owned()).or_default() += strict;
            for diagnostic in &definitions.diagnostics {
                *count.entry(format!("{:?}", diagnostic.kind)).or_default() += 1;
                if diagnostic.kind == DiagnosticKind::NotStrict {
                    *reasons.entry((format!("{provider:?}"), diagnostic.why.clone())).or_default() += 1;
                }
            }
        }
    }
    for (provider, counts) in &table {
        println!("{provider}: {counts:?}");
    }
    for ((provider, why), count) in &reasons {
        println!("{provider} not strict {count}: {why}");
    }
    assert!(wrong.is_empty(), "{} faults, first {:?}", wrong.len(), &wrong[..wrong.len().min(10)]);
}

#[test]
fn malformed_tool_does_not_change_other_declarations() {
    let good = |name: &str| json!({ "name": name, "inputSchema": { "type": "object", "properties": {} } });
    let nest = |inner, _| json!({ "type": "object", "properties": { "p": inner } });
    let broken = [
        json!("a string"),
        json!([1, 2]),
        json!(null),
        json!(false),
        json!(true),
        json!({ "type": "string" }),
        json!({ "type": "any" }),
        json!({ "$ref": "#/nowhere" }),
        json!({ "$ref": "https://example.com/schema.json" }),
        json!({ "$ref": "#" }),
        json!({ "anyOf": [{ "type": "object" }, { "type": "string" }] }),
        json!({ "oneOf": [] }),
        json!({ "type": "object", "properties": 7, "required": "all" }),
        json!({ "type": "object", "properties": { "p": "no schema", "q": [1] }, "required": ["r", 7] }),
        (0..50).fold(json!({ "type": "string" }), nest),
    ];
    for (index, schema) in broken.iter().enumerate() {
        let odd = json!({ "name": "m", "inputSchema": schema });
        let (alone, with): (List, List) =
            (("s".into(), vec![good("a"), good("z")]), ("s".into(), vec![good("a"), odd, good("z")]));
        for provider in PROVIDERS {
            let alone: Vec<Value> = all([&alone]).definitions(provider).declarations().cloned().collect();
            let with: Vec<Value> = all([&with]).definitions(provider).declarations().cloned().collect();
            assert_eq!([&with[0], &with[2]], [&alone[0], &alone[1]]);
            assert_eq!(faults(provider, &with[1]), Vec::<&str>::new(), "{provider:?} {index}: {}", with[1]);
        }
    }
}
