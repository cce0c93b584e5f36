//! A tool has one prefixed name: in bindings, toolsets, sections, the proxy and `list`.

use std::collections::{BTreeMap, BTreeSet};

use mcp_bindgen_agents::{McpSection, Prompt, PromptParams, PromptState, SectionServer, Toolset};
use mcp_bindgen_codegen::{Bindings, Options};
use mcp_bindgen_model::{Config, ServerConfig, Snapshot};
use mcp_bindgen_proxy::{HttpOptions, Proxy};
use mcp_bindgen_runtime::{Client, Fake, ServerSpec, ToolSpec};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

use crate::common::Project;

type Names = BTreeMap<(String, String), String>;

/// A server with what it has in `mcp.toml`, and its tools.
struct Listed {
    name: String,
    keys: &'static str,
    tools: Vec<Value>,
}

fn server(name: &str, keys: &'static str, tools: &[&str]) -> Listed {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    Listed { name: name.to_owned(), keys, tools: tools.iter().map(tool).collect() }
}

/// A project of these servers without snapshots.
fn untyped(servers: &[Listed]) -> Project {
    let project = Project::empty();
    let section = |server: &Listed| format!("[servers.{}]\ncommand = \"x\"\n{}\n", server.name, server.keys);
    project.write("mcp.toml", &servers.iter().map(section).collect::<String>());
    project
}

fn project(servers: &[Listed]) -> Project {
    let project = untyped(servers);
    for server in servers {
        project.write(&format!("mcp/{}.json", server.name), &json!({ "tools": server.tools }).to_string());
    }
    project
}

fn bindings(config: &Config, snapshots: &[(&str, Snapshot)]) -> Names {
    let of_server = |(name, snapshot): &(&str, Snapshot)| {
        let options = Options::for_server(config.server(name).unwrap()).beside(config);
        Bindings::describe(snapshot, &options).0
    };
    let bound = snapshots.iter().flat_map(of_server);
    bound.map(|tool| ((tool.server, tool.tool), tool.prefixed)).collect()
}

fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn names(toolset: &Toolset) -> Names {
    let named = |name: &str| {
        let (server, tool) = toolset.tool_of(name).unwrap();
        ((server.to_owned(), tool.to_owned()), name.to_owned())
    };
    toolset.names().map(named).collect()
}

fn toolset_of_bindings(bound: &Names) -> Names {
    let servers: BTreeSet<&str> = bound.keys().map(|(server, _)| server.as_str()).collect();
    let builder = servers.into_iter().fold(Toolset::builder(), |builder, server| {
        let own = bound.iter().filter(|((of, _), _)| of == server);
        let tools = own.map(|((_, tool), name)| ToolSpec::new(kept(tool), "{}").prefixed(kept(name)));
        let spec = ServerSpec::new(kept(server)).tools(Vec::leak(tools.collect()));
        builder.bindings(Box::leak(Box::new(spec)), Fake::new())
    });
    names(&builder.build().unwrap())
}

fn toolset_of_lists(config: &Config, snapshots: &[(&str, Snapshot)]) -> Names {
    let client = |name: &str| Client::new(config.server(name).unwrap().clone());
    let builder = snapshots
        .iter()
        .fold(Toolset::builder(), |builder, (name, snapshot)| builder.server(name, &snapshot.tools, client(name)));
    names(&builder.build().unwrap())
}

fn sections(config: &Config, snapshots: &[(&str, Snapshot)]) -> BTreeSet<String> {
    let server = |(name, snapshot): &(&str, Snapshot)| {
        SectionServer::from(config.server(name).unwrap().clone()).snapshot(snapshot.clone())
    };
    let prompt = Prompt::new().section(McpSection::new(snapshots.iter().map(server))).build().unwrap();
    let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
    let lines = rendered.text().lines().filter_map(|line| line.strip_prefix("- `")?.split('`').next());
    lines.map(str::to_owned).collect()
}

/// Answers as a server with these tools.
async fn serve(far: DuplexStream, tools: Vec<Value>) {
    let (read, mut write) = split(far);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = request.get("id") else { continue };
        let mut answer = json!({ "jsonrpc": "2.0", "id": id });
        match request["method"].as_str() {
            Some("initialize") => {
                let version = &request["params"]["protocolVersion"];
                let info = json!({ "name": "test", "version": "1" });
                answer["result"] =
                    json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": info });
            }
            Some("tools/list") => answer["result"] = json!({ "tools": tools }),
            _ => answer["error"] = json!({ "code": -32601, "message": "unknown method" }),
        }
        if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The tools that a proxy serves of the servers that are up.
async fn proxied(config: &Config, servers: &[&Listed]) -> BTreeSet<String> {
    let builder = config.servers.keys().fold(Proxy::builder().names_from(config), |builder, server| {
        let tools = servers.iter().find(|listed| listed.name == *server).map(|listed| listed.tools.clone());
        let name = server.clone();
        let connect = move |options| {
            let (near, far) = duplex(1 << 20);
            // Without tools nobody is there.
            if let Some(tools) = tools.clone() {
                tokio::spawn(serve(far, tools));
            }
            let (read, write) = split(near);
            Client::over_with_options(name.clone(), read, write, options)
        };
        builder.connecting(server, connect, |client| client)
    });
    let proxy = builder.build().unwrap();
    let served = proxy.serve_http(HttpOptions::new().address(([127, 0, 0, 1], 0))).await.unwrap();
    let client = Client::new(ServerConfig::http("proxy", served.url()));
    let tools = client.list_tools_raw().await.unwrap();
    client.close().await;
    served.close().await;
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn listed(project: &Project) -> Names {
    let text = project.run(&["list", "--format", "json"]).exits_with(0).stdout;
    let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
    let tools = entries.iter().filter(|entry| entry["kind"] == "tool");
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    tools.map(|tool| ((text(tool, "server"), text(tool, "tool")), text(tool, "prefixed"))).collect()
}

/// The names of these servers' tools, which are the same everywhere.
fn same_everywhere(servers: &[Listed]) -> Names {
    let project = project(servers);
    let config = Config::load(project.path("mcp.toml")).unwrap();
    let load = |server: &Listed| Snapshot::load(config.snapshot_path(&server.name)).unwrap();
    let snapshots: Vec<(&str, Snapshot)> = servers.iter().map(|server| (server.name.as_str(), load(server))).collect();
    let bound = bindings(&config, &snapshots);
    assert_eq!(toolset_of_bindings(&bound), bound, "a toolset of bindings");
    assert_eq!(toolset_of_lists(&config, &snapshots), bound, "a toolset of lists");
    assert_eq!(listed(&project), bound, "list");
    let names: BTreeSet<String> = bound.values().cloned().collect();
    assert_eq!(names.len(), bound.len(), "no two tools share a name: {bound:?}");
    assert!(names.iter().all(|name| mcp_bindgen_schema::names::is_accepted(name)), "{names:?}");
    assert_eq!(sections(&config, &snapshots), names, "sections");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(proxied(&config, &servers.iter().collect::<Vec<_>>())), names, "the proxy");
    bound
}

fn name<'n>(names: &'n Names, server: &str, tool: &str) -> &'n str {
    &names[&(server.to_owned(), tool.to_owned())]
}

#[test]
fn tool_has_one_prefixed_name_everywhere() {
    let long = "x".repeat(70);
    let everything = ["get-sum", "echo", "getTinyImage", "connect", "a.b", "課題", &long];
    let names = same_everywhere(&[server("everything", "", &everything), server("my-fs", "", &["read_file"])]);
    let of = |tool: &str| name(&names, "everything", tool);
    assert_eq!(
        [of("get-sum"), of("echo"), of("getTinyImage"), of("connect"), of("a.b")],
        [
            "everything_get_sum",
            "everything_echo",
            "everything_get_tiny_image",
            "everything_connect_tool",
            "everything_a_b"
        ]
    );
    assert_eq!(name(&names, "my-fs", "read_file"), "my_fs_read_file");
}

#[test]
fn ambiguous_names_have_a_fingerprint_of_their_server() {
    let names = same_everywhere(&[server("a", "", &["b_c", "b_d"]), server("a_b", "", &["c", "e"])]);
    for (server, tool) in [("a", "b_c"), ("a_b", "c")] {
        let name = name(&names, server, tool);
        assert!(name.starts_with("a_b_c_") && name.len() == "a_b_c_".len() + 8, "{name}");
    }
    assert_eq!([name(&names, "a", "b_d"), name(&names, "a_b", "e")], ["a_b_d", "a_b_e"]);

    let bare = "prefix = false";
    let names = same_everywhere(&[
        server("one", bare, &["search", "find_tools", "x"]),
        server("two", bare, &["search", "get-sum", "get_sum", "three_x"]),
        server("three", "", &["x", "three_x"]),
    ]);
    assert_eq!([name(&names, "two", "get_sum"), name(&names, "one", "x")], ["get_sum", "x"]);
    assert!(name(&names, "one", "search") != name(&names, "two", "search"));
    assert!(names.values().all(|name| name != "search" && name != "find_tools" && name != "three_x"), "{names:?}");
}

#[test]
fn names_without_snapshots_do_not_depend_on_connected_servers() {
    let cases = [
        [server("a", "", &["b_c", "d"]), server("a_b", "", &["c"])],
        [server("a", "prefix = false", &["b_c", "c"]), server("b", "", &["c"])],
        [server("a", "prefix = \"x\"", &["c"]), server("b", "prefix = \"x\"", &["c"])],
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for servers in &cases {
        let project = untyped(servers);
        let config = Config::load(project.path("mcp.toml")).unwrap();
        let [one, other] = servers;
        let both = runtime.block_on(proxied(&config, &[one, other]));
        let apart = [one, other].map(|server| runtime.block_on(proxied(&config, &[server])));
        assert!(apart[0].is_disjoint(&apart[1]), "{apart:?}");
        assert_eq!(both, apart[0].union(&apart[1]).cloned().collect());
    }
}

#[test]
fn servers_that_begin_with_a_digit_have_one_name_everywhere() {
    same_everywhere(&[server("2fa", "", &["x"]), server("n2fa", "", &["x", "y"])]);
}

#[test]
fn prefix_option_avoids_names_of_other_servers() {
    let project = project(&[server("gh-one", "", &["x"]), server("foo", "", &["one_x"])]);
    let expanded = |arguments: &[&str]| project.run(&[&["expand"], arguments].concat()).exits_with(0).stdout;
    assert!(expanded(&["gh-one"]).contains("\"gh_one_x\""));
    assert!(!expanded(&["foo", "--prefix", "gh"]).contains("\"gh_one_x\""));
}

#[test]
fn call_accepts_the_prefixed_name() {
    let project = project(&[server("everything", "", &["get-sum"])]);
    let params = |tool: &str| -> Value {
        let run = project.run(&["call", "everything", tool, "--dry-run"]).exits_with(0);
        serde_json::from_str(&run.stdout).unwrap()
    };
    assert_eq!(params("everything_get_sum")["params"]["name"], "get-sum");
    assert_eq!(params("everything_get_sum"), params("get-sum"));
}

#[test]
#[ignore = "needs the corpus"]
fn toolset_corpus_pairs_have_one_name_everywhere() {
    let Some(corpus) = std::env::var_os("MCP_BINDGEN_CORPUS") else { return };
    let folder = std::path::Path::new(&corpus).join("lists");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let tools = |path: &std::path::PathBuf| {
        let mut seen = BTreeSet::new();
        let mut tools = Snapshot::load(path).unwrap().tools;
        tools.retain(|tool| tool["name"].as_str().is_some_and(|name| seen.insert(name.to_owned())));
        tools
    };
    let sample: Vec<Vec<Value>> = paths.iter().step_by(paths.len().div_ceil(12)).map(tools).collect();
    for (place, one) in sample.iter().enumerate() {
        for other in &sample[..place] {
            let pair = [("one", one), ("two", other)];
            same_everywhere(&pair.map(|(name, tools)| Listed {
                name: name.to_owned(),
                keys: "prefix = false",
                tools: tools.clone(),
            }));
        }
    }
}
