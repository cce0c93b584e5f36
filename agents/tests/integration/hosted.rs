//! Servers as providers are told of them, to the last key, and those that they are not told of.

use std::collections::BTreeMap;

use mcp_bindgen_agents::{
    HostedDeclarations, HostedNoteKind, HostedServers, NotHostedReason, Prompt, PromptParams, PromptState, Provider,
    Section, SectionServer, Toolset, Visibility,
};
use mcp_bindgen_model::{AuthConfig, Config, Drift, Rate, ServerConfig, Snapshot};
use mcp_bindgen_runtime::events::Event;
use mcp_bindgen_runtime::middleware::Policy;
use mcp_bindgen_runtime::{Client, SecretError, SecretRef, SecretSource, ServerSpec, ToolSpec};
use serde_json::{Value, json};

const TOOLS: [&str; 4] = ["list_issues", "create_issue", "merge", "delete_issue"];

struct Vault;

impl SecretSource for Vault {
    async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
        Ok((secret.to_string() == "${TRACKER_TOKEN}").then(|| "t0ken".to_owned()))
    }
}

fn tracker() -> ServerConfig {
    ServerConfig::http("tracker", "https://mcp.example.com/mcp")
        .header("Authorization", "Bearer ${TRACKER_TOKEN}")
        .description("issues of the team")
        .hosted()
}

fn governed() -> ServerConfig {
    tracker().exclude(["delete_*"]).approve(["merge"])
}

async fn declared(provider: Provider, config: ServerConfig) -> HostedDeclarations {
    HostedServers::new().with_tools(config, TOOLS).declarations(provider, &Vault).await
}

#[tokio::test]
async fn openai_receives_one_tool_per_server() {
    let plain = declared(Provider::OpenAiResponses, tracker()).await;
    let expected = json!([{
        "type": "mcp",
        "server_label": "tracker",
        "server_description": "issues of the team",
        "server_url": "https://mcp.example.com/mcp",
        "authorization": "t0ken",
        "require_approval": "never",
    }]);
    assert_eq!(Value::from(plain.tools), expected);
    assert_eq!((plain.mcp_servers.len(), plain.beta, plain.hosted.len()), (0, None, 1));
    assert!(plain.not_hosted.is_empty());

    let governed = declared(Provider::OpenAiResponses, governed().header("X-Team", "blue")).await;
    let tool = &governed.tools[0];
    assert_eq!(tool["allowed_tools"], json!(["create_issue", "list_issues", "merge"]));
    let approval = json!({
        "always": { "tool_names": ["merge"] },
        "never": { "tool_names": ["create_issue", "list_issues"] },
    });
    assert_eq!(tool["require_approval"], approval);
    assert_eq!(tool["headers"], json!({ "X-Team": "blue" }));

    let every = declared(Provider::OpenAiResponses, tracker().approve(["*"])).await;
    assert_eq!(every.tools[0]["require_approval"], "always");
    let unlisted = HostedServers::new().with(tracker().approve(["merge"]));
    let unlisted = unlisted.declarations(Provider::OpenAiResponses, &Vault).await;
    assert_eq!(unlisted.tools[0]["require_approval"], "always");
    assert!(unlisted.notes.iter().any(|note| note.kind == HostedNoteKind::MoreApprovals));
}

#[tokio::test]
async fn anthropic_receives_a_server_and_a_toolset() {
    let plain = declared(Provider::Anthropic, tracker()).await;
    assert_eq!(Value::from(plain.tools), json!([{ "type": "mcp_toolset", "mcp_server_name": "tracker" }]));
    let server = json!([{
        "type": "url",
        "url": "https://mcp.example.com/mcp",
        "name": "tracker",
        "authorization_token": "t0ken",
    }]);
    assert_eq!(Value::from(plain.mcp_servers), server);
    assert_eq!(plain.beta, Some("mcp-client-2025-11-20"));

    let governed = declared(Provider::Anthropic, governed()).await;
    let toolset = json!({
        "type": "mcp_toolset",
        "mcp_server_name": "tracker",
        "default_config": { "enabled": false },
        "configs": { "create_issue": { "enabled": true }, "list_issues": { "enabled": true } },
    });
    assert_eq!(governed.tools[0], toolset);
    let left = &governed.not_hosted[0];
    assert_eq!(
        (left.reason, left.tools.as_deref()),
        (NotHostedReason::Approval, Some(["merge".to_owned()].as_slice()))
    );
    assert!(left.to_string().contains("tracker: `merge` not hosted, use the program's own client"), "{left}");
}

#[tokio::test]
async fn configurations_that_cannot_be_hosted_are_not_handed_over() {
    let both = [Provider::OpenAiResponses, Provider::Anthropic];
    let only_anthropic = [Provider::Anthropic];
    let url = |url: &str| ServerConfig::http("tracker", url).hosted();
    let cases: Vec<(ServerConfig, &[Provider], NotHostedReason)> = vec![
        (tracker().drift(Drift::Deny), &both, NotHostedReason::Drift),
        (tracker().ca("ca.pem"), &both, NotHostedReason::Network),
        (tracker().client_cert("client.pem"), &both, NotHostedReason::Network),
        (tracker().proxy("http://proxy.example:3128"), &both, NotHostedReason::Network),
        (tracker().auth(AuthConfig::default()), &both, NotHostedReason::Network),
        (tracker().limit(Rate::parse("10/s").expect("a rate")), &both, NotHostedReason::Network),
        (tracker().tools(["none_*"]), &both, NotHostedReason::Tools),
        (tracker().tools(Vec::<String>::new()), &both, NotHostedReason::Tools),
        (tracker().header("X", "${NOWHERE}"), &both, NotHostedReason::Secrets),
        (tracker().header("X", "a\nb"), &both, NotHostedReason::Headers),
        (url("https://localhost/mcp"), &both, NotHostedReason::Address),
        (ServerConfig::stdio("tracker", "server").hosted(), &both, NotHostedReason::Transport),
        (ServerConfig::http("tracker", "https://mcp.example.com"), &both, NotHostedReason::NotAsked),
        (url("http://mcp.example.com/mcp"), &only_anthropic, NotHostedReason::Address),
        (url("http://mcp.example.com/mcp").header("X-Api-Key", "${TRACKER_TOKEN}"), &both, NotHostedReason::Address),
        (url("http://mcp.example.com/mcp").header("Authorization", "Bearer a"), &both, NotHostedReason::Address),
        (url("http://mcp.example.com/?api_key=5ecret-5ecret"), &both, NotHostedReason::Address),
        (tracker().header("X-Team", "blue"), &only_anthropic, NotHostedReason::Headers),
        (tracker().header("Authorization", "Basic dTpw"), &only_anthropic, NotHostedReason::Headers),
        (tracker().approve(["*"]), &only_anthropic, NotHostedReason::Approval),
        (
            ServerConfig::http("7tracker", "https://mcp.example.com").hosted(),
            &[Provider::OpenAiResponses],
            NotHostedReason::Name,
        ),
    ];
    let mut refusals = 0;
    for (config, refusing, reason) in cases {
        for provider in [Provider::OpenAiResponses, Provider::Anthropic] {
            // Another server of the same request is declared whatever becomes of this one.
            let other = ServerConfig::http("other", "https://other.example.com").hosted();
            let servers = HostedServers::new().with_tools(config.clone(), TOOLS).with(other);
            let declared = servers.declarations(provider, &Vault).await;
            assert!(declared.hosted.contains(&"other".to_owned()));
            let refused: Vec<NotHostedReason> = declared.not_hosted.iter().map(|left| left.reason).collect();
            if refusing.contains(&provider) {
                assert_eq!(refused, [reason], "{provider:?} {config:?}");
                assert_eq!(declared.tools.len(), 1);
                refusals += 1;
            } else {
                assert!(refused.is_empty(), "{provider:?} {config:?}: {refused:?}");
            }
        }
    }
    println!("{refusals} refusals, each with its reason");
    for provider in [Provider::OpenAiChat, Provider::Gemini] {
        let none = declared(provider, tracker()).await;
        assert!(none.tools.is_empty() && none.mcp_servers.is_empty() && none.hosted.is_empty());
        assert_eq!((none.not_hosted[0].reason, &none.not_hosted[0].tools), (NotHostedReason::Provider, &None));
        assert!(none.not_hosted[0].to_string().contains("not hosted, use the program's own client"));
    }
}

#[tokio::test]
async fn rules_that_a_provider_cannot_apply_are_reported() {
    let config = tracker().timeout(std::time::Duration::from_secs(5)).drift(Drift::Warn);
    let declared = declared(Provider::OpenAiResponses, config).await;
    let [note] = declared.notes.as_slice() else { panic!("{:?}", declared.notes) };
    assert_eq!(note.kind, HostedNoteKind::NotGoverned);
    assert!(note.message.contains("`timeout`, `drift` of its configuration has no effect"), "{note}");

    for (url, kind) in [
        ("https://mcp.example.com/?api_key=5ecret-5ecret", HostedNoteKind::SecretInUrl),
        ("http://mcp.example.com/", HostedNoteKind::NotEncrypted),
    ] {
        let open = self::declared(Provider::OpenAiResponses, ServerConfig::http("tracker", url).hosted()).await;
        let kinds: Vec<HostedNoteKind> = open.notes.iter().map(|note| note.kind).collect();
        assert_eq!(kinds, [HostedNoteKind::NotGoverned, kind]);
    }
}

#[tokio::test]
async fn configuration_selects_hosted_servers_and_snapshots_their_tools() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("mcp")).unwrap();
    let config = "[defaults]\ndrift = \"ignore\"\n\
        [servers.own]\nurl = \"https://own.example.com\"\n\
        [servers.tracker]\nurl = \"https://mcp.example.com\"\nhosted = true\nexclude = [\"delete_*\"]\n";
    mcp_bindgen_model::write_if_changed(&path("mcp.toml"), config.as_bytes()).unwrap();
    let load = || HostedServers::from_config(&Config::load(path("mcp.toml")).unwrap());
    let unlisted = load().unwrap();
    assert_eq!(unlisted.names().collect::<Vec<_>>(), ["tracker"]);
    let unlisted = unlisted.declarations(Provider::Anthropic, &Vault).await;
    assert_eq!(unlisted.not_hosted[0].reason, NotHostedReason::Tools);
    assert!(unlisted.not_hosted[0].message.contains("run `mcp-bindgen sync`"));

    let snapshot = r#"{"tools": [{"name": "delete_all"}, {"name": "read"}, {"no": "name"}, 7]}"#;
    mcp_bindgen_model::write_if_changed(&path("mcp/tracker.json"), snapshot.as_bytes()).unwrap();
    let listed = load().unwrap().declarations(Provider::Anthropic, &Vault).await;
    assert_eq!(listed.tools[0]["configs"], json!({ "read": { "enabled": true } }));

    mcp_bindgen_model::write_if_changed(&path("mcp/tracker.json"), b"{").unwrap();
    assert!(load().unwrap_err().to_string().contains("tracker.json"));
}

#[tokio::test]
async fn bindings_contain_the_server_and_its_tools() {
    static TOOL: [ToolSpec; 1] = [ToolSpec::new("read", "{}")];
    static SERVER: ServerSpec = ServerSpec::new("tracker")
        .config(r#"{"url":"https://mcp.example.com","tools":["re*"],"hosted":true}"#)
        .tools(&TOOL);
    let servers = HostedServers::new().with_bindings(&SERVER).unwrap();
    let declared = servers.declarations(Provider::OpenAiResponses, &Vault).await;
    assert_eq!(declared.tools[0]["allowed_tools"], json!(["read"]));
    assert!(HostedServers::new().with_bindings(&ServerSpec::new("bare")).is_err());
}

#[tokio::test]
async fn only_bound_tools_are_handed_over() {
    static TOOLS: [ToolSpec; 2] = [ToolSpec::new("list_a", "{}"), ToolSpec::new("list_b", "{}")];
    static SERVER: ServerSpec =
        ServerSpec::new("tracker").config(r#"{"url":"https://mcp.example.com","hosted":true}"#).tools(&TOOLS);
    static EMPTY: ServerSpec = ServerSpec::new("empty").config(r#"{"url":"https://mcp.example.com","hosted":true}"#);
    let servers = HostedServers::new().with_bindings(&SERVER).unwrap().with_bindings(&EMPTY).unwrap();
    let openai = servers.declarations(Provider::OpenAiResponses, &Vault).await;
    assert_eq!(openai.tools[0]["allowed_tools"], json!(["list_a", "list_b"]));
    let anthropic = servers.declarations(Provider::Anthropic, &Vault).await;
    assert_eq!(anthropic.tools[0]["default_config"], json!({ "enabled": false }));
    assert_eq!(anthropic.tools[0]["configs"], json!({ "list_a": { "enabled": true }, "list_b": { "enabled": true } }));
    for declared in [openai, anthropic] {
        assert_eq!(
            (declared.not_hosted[0].server.as_str(), declared.not_hosted[0].reason),
            ("empty", NotHostedReason::Tools)
        );
    }
}

fn listed(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect()
}

/// Returns the tools of a provider's declarations; `all` stands for a server that is declared whole.
fn called(declared: &HostedDeclarations, all: &[&str]) -> Vec<String> {
    let mut called = Vec::new();
    for tool in &declared.tools {
        let (server, names): (&str, Option<Vec<&str>>) = match declared.provider {
            Provider::OpenAiResponses => (
                tool["server_label"].as_str().unwrap(),
                tool.get("allowed_tools")
                    .map(|names| names.as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect()),
            ),
            _ => (
                tool["mcp_server_name"].as_str().unwrap(),
                tool.get("configs").map(|names| names.as_object().unwrap().keys().map(String::as_str).collect()),
            ),
        };
        called.extend(names.unwrap_or_else(|| all.to_vec()).into_iter().map(|tool| format!("{server}/{tool}")));
    }
    called
}

#[tokio::test]
async fn hosted_and_local_declarations_contain_every_tool_once() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}
    // The server has got one more since somebody listed it.
    let now = ["list_issues", "create_issue", "merge", "delete_issue", "list_new"];
    let mut told = 0;
    for config in [
        tracker(),
        governed(),
        tracker().tools(["list_*"]),
        tracker().approve(["*"]),
        tracker().header("X-Team", "blue"),
        tracker().drift(Drift::Deny),
    ] {
        let set = Toolset::builder()
            .server("tracker", &listed(&now), Client::new(config.clone()))
            .server("files", &listed(&["merge"]), Client::new(ServerConfig::stdio("files", "x")))
            .group("tracker")
            .function("own", "The program's.", async |_: Nothing| Ok::<_, String>(1))
            .build()
            .unwrap();
        let expected: BTreeMap<String, usize> = set
            .names()
            .map(|name| set.tool_of(name).unwrap())
            .map(|(server, tool)| (format!("{server}/{tool}"), 1))
            .collect();
        let servers = HostedServers::new().with_tools(config, TOOLS);
        for servers in [servers.clone(), servers.limited_to(&set)] {
            for provider in [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini] {
                let declared = servers.declarations(provider, &Vault).await;
                let own = declared.beside(&set);
                let mut found = BTreeMap::<String, usize>::new();
                let of_set =
                    own.names().map(|name| own.tool_of(name).unwrap()).map(|(server, tool)| format!("{server}/{tool}"));
                for tool in called(&declared, &now).into_iter().chain(of_set) {
                    *found.entry(tool).or_default() += 1;
                }
                assert_eq!(found, expected, "{provider:?} {:?}", declared.not_hosted);
                assert!(own.names().all(|name| set.tool_of(name) == own.tool_of(name)));
                for left in declared.not_hosted.iter().filter_map(|left| left.tools.as_ref()) {
                    assert!(left.iter().all(|tool| own.name_of("tracker", tool).is_some()), "{left:?}");
                }
                told += found.len();
            }
        }
    }
    println!("{told} tools, each told of once");
}

/// A prompt limits each server to the tools that its sections offer, also where the server's configuration does not.
#[tokio::test]
async fn hosted_servers_of_a_prompt_are_limited_to_its_sections() {
    let names = ["list_issues", "merge", "drop", "read"];
    let known = Snapshot::parse(&json!({ "tools": listed(&names) }).to_string()).unwrap();
    let server = SectionServer::from(tracker()).snapshot(known).only(["list_*", "merge", "drop"]);
    let closed = ServerConfig::http("closed", "https://closed.example.com").hosted();
    let hidden = Section::new("hidden", "Hidden").summary("More.").visibility(Visibility::Summary);
    let prompt = Prompt::new()
        .section(Section::new("issues", "Issues").server(server).policy(Policy::deny(["drop"])))
        .section(hidden.server(closed.clone()))
        .build()
        .unwrap();
    let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
    let config = rendered.servers()[0].config().unwrap().clone();
    let (set, _) = rendered.toolset().await.unwrap();
    let servers = HostedServers::new().with(config).with(closed);

    let loose = servers.clone().declarations(Provider::OpenAiResponses, &Vault).await;
    assert_eq!(loose.hosted, ["closed", "tracker"]);
    let declared = servers.limited_to(&set).declarations(Provider::OpenAiResponses, &Vault).await;
    assert_eq!(declared.hosted, ["tracker"]);
    assert_eq!(declared.tools[0]["allowed_tools"], json!(["list_issues", "merge"]));
    assert_eq!(
        (declared.not_hosted[0].server.as_str(), declared.not_hosted[0].reason),
        ("closed", NotHostedReason::Tools)
    );
    assert_eq!(declared.beside(&set).names().collect::<Vec<_>>(), ["open_sections"]);
}

#[tokio::test]
async fn tool_order_does_not_affect_the_request() {
    let mut reordered = TOOLS;
    reordered.reverse();
    for provider in [Provider::OpenAiResponses, Provider::Anthropic] {
        let texts: Vec<String> = {
            let mut texts = Vec::new();
            for tools in [TOOLS, reordered] {
                let servers = HostedServers::new().with_tools(governed(), tools);
                let declared = servers.declarations(provider, &Vault).await;
                texts.push(Value::from(declared.tools).to_string());
            }
            texts
        };
        assert_eq!(texts[0], texts[1]);
    }
}

#[tokio::test]
async fn hosted_calls_emit_events() {
    let servers = HostedServers::new().with_tools(tracker(), TOOLS);
    let mut events = servers.clone().events();
    let openai = json!({ "output": [
        { "type": "mcp_list_tools", "server_label": "tracker" },
        { "type": "mcp_call", "server_label": "tracker", "name": "merge", "error": null, "output": "done" },
        { "type": "mcp_call", "server_label": "tracker", "name": "merge", "error": { "type": "http_error" } },
        { "type": "function_call", "name": "ours" },
    ] });
    let anthropic = json!({ "content": [
        { "type": "mcp_tool_use", "id": "1", "server_name": "tracker", "name": "list_issues", "input": {} },
        { "type": "mcp_tool_use", "id": "2", "server_name": "tracker", "name": "merge", "input": {} },
        { "type": "mcp_tool_result", "tool_use_id": "1", "is_error": false },
        { "type": "mcp_tool_result", "tool_use_id": "2", "is_error": true },
    ] });
    servers.report(Provider::OpenAiResponses, &openai);
    servers.report(Provider::Anthropic, &anthropic);
    servers.report(Provider::Gemini, &anthropic);
    drop(servers);
    let mut told = Vec::new();
    while let Some(Event::ToolInvoked(call)) = events.next().await {
        told.push(format!("{} {} {}/{}: {}", call.kind, call.source, call.server, call.tool, call.outcome));
    }
    assert_eq!(
        told,
        [
            "hosted openai tracker/merge: success",
            "hosted openai tracker/merge: tool_error",
            "hosted anthropic tracker/list_issues: success",
            "hosted anthropic tracker/merge: tool_error",
        ]
    );
}
