//! Servers as providers are told of them, to the last key, and those that they are not told of.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_agents::{HostedDeclarations, HostedNoteKind, HostedServers, NotHostedReason, Provider};
use mcp_model::{Config, Drift, ServerConfig};
use mcp_runtime::{SecretError, SecretRef, SecretSource, ServerSpec, ToolSpec};
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
async fn openai_gets_one_tool_a_server() {
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
async fn anthropic_gets_a_server_and_a_toolset() {
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
    assert!(left.to_string().contains("tracker: `merge` left to the program's own client"), "{left}");
}

#[tokio::test]
async fn what_cannot_be_handed_over_as_it_is_configured_is_not() {
    let both = [Provider::OpenAiResponses, Provider::Anthropic];
    let only_anthropic = [Provider::Anthropic];
    let url = |url: &str| ServerConfig::http("tracker", url).hosted();
    let cases: Vec<(ServerConfig, &[Provider], NotHostedReason)> = vec![
        (tracker().drift(Drift::Deny), &both, NotHostedReason::Drift),
        (tracker().tools(["none_*"]), &both, NotHostedReason::Tools),
        (tracker().tools(Vec::<String>::new()), &both, NotHostedReason::Tools),
        (tracker().header("X", "${NOWHERE}"), &both, NotHostedReason::Secrets),
        (tracker().header("X", "a\nb"), &both, NotHostedReason::Headers),
        (url("https://localhost/mcp"), &both, NotHostedReason::Address),
        (ServerConfig::stdio("tracker", "server").hosted(), &both, NotHostedReason::Transport),
        (ServerConfig::http("tracker", "https://mcp.example.com"), &both, NotHostedReason::NotAsked),
        (url("http://mcp.example.com/mcp"), &only_anthropic, NotHostedReason::Address),
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
        assert!(none.not_hosted[0].to_string().contains("left to the program's own client"));
    }
}

#[tokio::test]
async fn what_the_provider_cannot_be_held_to_is_said() {
    let config = tracker().timeout(std::time::Duration::from_secs(5)).drift(Drift::Warn);
    let declared = declared(Provider::OpenAiResponses, config).await;
    let [note] = declared.notes.as_slice() else { panic!("{:?}", declared.notes) };
    assert_eq!(note.kind, HostedNoteKind::NotGoverned);
    assert!(note.message.contains("`timeout`, `drift` of its configuration does nothing there"), "{note}");

    let open = ServerConfig::http("tracker", "http://mcp.example.com/?api_key=5ecret-5ecret").hosted();
    let open = self::declared(Provider::OpenAiResponses, open).await;
    let kinds: Vec<HostedNoteKind> = open.notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [HostedNoteKind::NotGoverned, HostedNoteKind::SecretInUrl, HostedNoteKind::NotEncrypted]);
}

#[tokio::test]
async fn a_configuration_s_file_says_which_servers_and_its_snapshots_which_tools() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("mcp")).unwrap();
    let config = "[defaults]\ndrift = \"ignore\"\n\
        [servers.own]\nurl = \"https://own.example.com\"\n\
        [servers.tracker]\nurl = \"https://mcp.example.com\"\nhosted = true\nexclude = [\"delete_*\"]\n";
    mcp_model::write_if_changed(&path("mcp.toml"), config.as_bytes()).unwrap();
    let load = || HostedServers::from_config(&Config::load(path("mcp.toml")).unwrap());
    let unlisted = load().unwrap();
    assert_eq!(unlisted.names().collect::<Vec<_>>(), ["tracker"]);
    let unlisted = unlisted.declarations(Provider::Anthropic, &Vault).await;
    assert_eq!(unlisted.not_hosted[0].reason, NotHostedReason::Tools);
    assert!(unlisted.not_hosted[0].message.contains("run `mcp-bindgen sync`"));

    let snapshot = r#"{"tools": [{"name": "delete_all"}, {"name": "read"}, {"no": "name"}, 7]}"#;
    mcp_model::write_if_changed(&path("mcp/tracker.json"), snapshot.as_bytes()).unwrap();
    let listed = load().unwrap().declarations(Provider::Anthropic, &Vault).await;
    assert_eq!(listed.tools[0]["configs"], json!({ "read": { "enabled": true } }));

    mcp_model::write_if_changed(&path("mcp/tracker.json"), b"{").unwrap();
    assert!(load().unwrap_err().to_string().contains("tracker.json"));
}

#[tokio::test]
async fn bindings_say_what_their_server_and_its_tools_are() {
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
async fn a_request_is_the_same_whatever_the_order_of_the_tools() {
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
