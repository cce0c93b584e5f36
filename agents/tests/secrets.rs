//! Secrets of servers that are handed to providers, and of those that the program reaches itself: whatever is done with
//! them and whatever goes wrong, the declarations themselves are the only place that shows one.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../runtime/tests/recorder/mod.rs"]
mod recorder;

use std::error::Error;
use std::fmt::{Debug, Display};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_bindgen_agents::{
    HostedServers, McpSection, ModelCall, Prompt, PromptParams, PromptState, Provider, Section, SectionServer, Toolset,
};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{Client, ClientOptions, SecretError, SecretRef, SecretSource};
use recorder::Recorder;
use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tracing::{Level, Metadata};

/// Each is in no other text.
const TOKEN: &str = "hosted-token-5a7c9e1b3d5f7091";
const TEAM: &str = "hosted-header-6b8d0f2a4c6e8013";
const IN_URL: &str = "in-url-7c9e1b3d5f709142";
const LITERAL: &str = "literal-8d0f2a4c6e801357";
const BROKEN: &str = "broken-9e1b3d5f70914268\n";
const ENV: &str = "env-a0c2e4f6b8d01357";
const ARGUMENT: &str = "argument-b1d3f5a7c9e02468";
const SECRETS: [&str; 7] = [TOKEN, TEAM, IN_URL, LITERAL, BROKEN, ENV, ARGUMENT];

const PROVIDERS: [Provider; 4] =
    [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini];

/// Gives secrets, and fails with one of them in its words.
struct Vault;

impl SecretSource for Vault {
    async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
        let SecretRef::Variable(name) = secret else { return Ok(None) };
        Ok(Some(match name.as_str() {
            "TOKEN" => TOKEN.to_owned(),
            "TEAM" => TEAM.to_owned(),
            "IN_URL" => IN_URL.to_owned(),
            "BROKEN" => BROKEN.to_owned(),
            "ENV" => ENV.to_owned(),
            "ARGUMENT" => ARGUMENT.to_owned(),
            "ZZ_FAILS" => return Err(SecretError::new(format!("the vault is locked; {TOKEN} was the last one"))),
            _ => return Ok(None),
        }))
    }
}

/// Keeps all that the crates of this project log, and what others log with a level above DEBUG.
fn is_kept(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("mcp_") || *metadata.level() <= Level::INFO
}

fn secret_in(text: &str) -> Option<&'static str> {
    SECRETS.into_iter().find(|secret| text.contains(secret.trim()))
}

#[derive(Default)]
struct Watch(AtomicUsize);

impl Watch {
    fn text(&self, text: &str) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert_eq!(secret_in(text), None, "{text}");
    }

    fn shown(&self, value: &(impl Debug + Display)) {
        self.text(&value.to_string());
        self.debug(value);
    }

    fn debug(&self, value: &impl Debug) {
        self.text(&format!("{value:?}"));
        self.text(&format!("{value:#?}"));
    }

    fn error(&self, error: &(dyn Error + 'static)) {
        let mut next = Some(error);
        while let Some(error) = next {
            self.text(&error.to_string());
            self.text(&format!("{error:?}"));
            next = error.source();
        }
    }
}

/// A server over HTTP that answers every request with an error that repeats the whole of it.
async fn parrot() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 64 * 1024];
            let read = stream.read(&mut head).await.unwrap_or_default();
            let text = String::from_utf8_lossy(&head[..read]).into_owned();
            let answer = format!("HTTP/1.1 500 {}\r\ncontent-length: {}\r\n\r\n{text}", "No", text.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/mcp")
}

/// Servers that can be handed over, and one for each way in which they cannot.
fn hosted() -> HostedServers {
    let server = |name: &str, url: &str| ServerConfig::http(name, url).hosted();
    let url = "https://mcp.example.com/mcp";
    let bearer = "Bearer ${TOKEN}";
    let child = ServerConfig::stdio("child", "server").args(["--token", "${ARGUMENT}"]).env("KEY", "${ENV}").hosted();
    HostedServers::new()
        .with(server("plain", url).header("Authorization", bearer))
        .with(server("team", url).header("Authorization", bearer).header("X-Team", "${TEAM}"))
        .with(server("url", "https://mcp.example.com/${IN_URL}/mcp?api_key=${IN_URL}"))
        .with(server("literal", url).header("X-Api-Key", LITERAL))
        .with(server("basic", url).header("Authorization", format!("Basic {LITERAL}")))
        .with(server("broken", url).header("Authorization", "Bearer ${BROKEN}"))
        .with(server("twice", url).header("Authorization", bearer).header("authorization", "Bearer ${TEAM}"))
        .with(server("user", "https://me:${IN_URL}@mcp.example.com/"))
        .with(server("private", "https://${IN_URL}.internal/"))
        .with(server("scheme", "http://${IN_URL}.example.com/"))
        .with(server("open", "http://mcp.example.com/").header("X-Team", "${TEAM}"))
        .with(server("locked", url).header("Authorization", bearer).header("X", "${ZZ_FAILS}"))
        .with(server("missing", url).header("Authorization", bearer).header("X", "${UNSET_FOR_CERTAIN}"))
        .with(server("globs", url).header("Authorization", bearer).tools(["a*"]))
        .with_tools(server("approved", url).header("Authorization", bearer).approve(["b"]), ["a", "b"])
        .with(child)
}

async fn hand_over(watch: &Watch) {
    let servers = hosted();
    watch.debug(&servers);
    let (mut declared, mut refused) = (0, 0);
    for provider in PROVIDERS {
        let declarations = servers.declarations(provider, &Vault).await;
        watch.debug(&declarations);
        for left in &declarations.not_hosted {
            watch.shown(left);
            refused += 1;
        }
        declarations.notes.iter().for_each(|note| watch.shown(note));
        declared += declarations.hosted.len();
        let body = Value::from([declarations.tools.clone(), declarations.mcp_servers.clone()].concat()).to_string();
        let is_there = matches!(provider, Provider::OpenAiResponses | Provider::Anthropic);
        assert_eq!(body.contains(TOKEN), is_there, "{provider:?}");
        // Only where the server takes it.
        assert_eq!(body.contains(TEAM), provider == Provider::OpenAiResponses);
        assert!(!body.contains(BROKEN.trim()) && !body.contains(ARGUMENT) && !body.contains(ENV));
    }
    assert_eq!((declared, refused), (10, 55), "declared, refused");
    let spec = mcp_bindgen_runtime::ServerSpec::new("bare").config("{\"url\": 7}");
    watch.error(&HostedServers::new().with_bindings(&spec).unwrap_err());
}

/// The program's own clients, for what is not handed over.
async fn reach(watch: &Watch) {
    let url = parrot().await;
    let script = "echo \"$KEY $1\" >&2; echo \"{\\\"$KEY\\\": \\\"$1\\\"}\"; exit 3";
    let configs = [
        ServerConfig::http("parrot", format!("{url}?api_key=${{IN_URL}}"))
            .header("Authorization", "Bearer ${TOKEN}")
            .header("X-Team", "${TEAM}")
            .header("X-Api-Key", LITERAL)
            .hosted(),
        ServerConfig::sse("old-parrot", url).header("Authorization", "Bearer ${TOKEN}").hosted(),
        ServerConfig::http("broken", "http://127.0.0.1:9/").header("Authorization", "Bearer ${BROKEN}").hosted(),
        ServerConfig::stdio("child", "sh").args(["-c", script, "sh", "${ARGUMENT}"]).env("KEY", "${ENV}"),
        ServerConfig::stdio("nothing", "no-such-program-${ARGUMENT}").env("KEY", "${ENV}"),
        ServerConfig::stdio("locked", "sh").env("A", "${TOKEN}").env("B", "${ZZ_FAILS}"),
    ];
    for config in configs {
        let patience = Duration::from_secs(2);
        let options =
            ClientOptions::new().secrets(Vault).timeout(patience).connect_timeout(patience).record_content(true);
        let in_prompt = in_a_prompt(watch, config.clone());
        let client = Client::with_options(config, options);
        in_prompt.await;
        let mut events = client.events();
        watch.debug(&client);
        watch.debug(client.config());
        watch.error(&client.connect().await.unwrap_err());
        watch.error(&client.call("any", Map::new()).await.unwrap_err());
        watch.error(&client.list_tools_raw().await.unwrap_err());
        through_a_toolset(watch, &client).await;
        watch.debug(&client);
        client.close().await;
        let mut told = 0;
        while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(20), events.next()).await {
            watch.debug(&event);
            told += 1;
        }
        assert!(told > 0, "{client:?}");
    }
}

/// Checks the texts that a model receives for failed calls.
async fn through_a_toolset(watch: &Watch, client: &Client) {
    let tool = serde_json::json!({ "name": "any", "inputSchema": { "type": "object" } });
    let toolset = Toolset::builder().server(client.name(), &[tool], client.clone()).build().unwrap();
    watch.debug(&toolset);
    watch.text(&toolset.summary());
    if let Err(error) = Toolset::builder().live(client.clone()).await {
        watch.error(&error);
    }
    let name = toolset.names().next().unwrap().to_owned();
    for provider in PROVIDERS {
        watch.debug(&toolset.definitions(provider));
        let calls = [
            ModelCall::new("1", name.as_str(), "{}"),
            ModelCall::new("2", "unknown", "{"),
            ModelCall::new("3", name.as_str(), "["),
        ];
        let answers = toolset.turn(calls.to_vec()).await;
        assert!(answers.iter().all(|answer| !answer.reply.success), "{answers:?}");
        watch.debug(&answers);
        watch.text(&Value::from(answers.results(provider)).to_string());
    }
    let deferred = toolset.deferred();
    watch.debug(&deferred);
    let call = serde_json::json!({ "name": name, "arguments": {} });
    watch.debug(&deferred.dispatch("call_tool", call).await);
}

/// Checks how a prompt renders a server, and how it reports a failed connection.
async fn in_a_prompt(watch: &Watch, config: ServerConfig) {
    let name = config.name.clone();
    let section = McpSection::new([config.clone()]);
    watch.debug(&section);
    // Its own connection has no vault: that is one more way to fail.
    let failed = section.connect().await;
    assert_eq!(failed.len(), 1, "{failed:?}");
    failed.iter().for_each(|error| watch.error(error));
    let again = Section::new("again", "Again").server(SectionServer::from(config.env("OTHER", ARGUMENT)));
    let prompt = Prompt::new().section(&section).section(again).build().unwrap();
    watch.debug(&prompt);
    let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
    watch.text(rendered.text());
    watch.debug(&rendered);
    watch.debug(&rendered.warnings());
    assert_eq!(rendered.servers()[0].name(), name);
    let (toolset, failed) = rendered.toolset().await.unwrap();
    watch.debug(&toolset);
    failed.iter().for_each(|error| watch.error(error));
    prompt.close().await;
}

#[tokio::test]
async fn only_declarations_contain_secrets() {
    let recorder = Recorder::global(is_kept);
    let watch = Watch::default();
    hand_over(&watch).await;
    reach(&watch).await;
    let log = recorder.lines();
    assert!(log.iter().any(|line| line.contains("[redacted]")), "nothing that had a secret was logged: {log:#?}");
    log.iter().for_each(|line| watch.text(line));
    println!("0 of {} texts hold a secret, {} records of the log among them", watch.0.into_inner(), log.len());
}

/// `secret_in` finds each secret in every form.
#[test]
fn secret_search_finds_every_visible_form() {
    for secret in SECRETS {
        assert_eq!(secret_in(&format!("it was {secret}, {:?}", Some(1))), Some(secret));
        assert_eq!(secret_in(&format!("{:?}", Some(secret))), Some(secret));
    }
    assert_eq!(secret_in("${TOKEN} and [redacted]"), None);
}
