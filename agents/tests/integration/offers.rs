//! Prompts, resources and instructions of servers, for models.

use mcp_bindgen_agents::{McpSection, Prompt, PromptParams, PromptState, Provider, SectionServer, Toolset};
use mcp_bindgen_model::{ServerConfig, Snapshot};
use mcp_bindgen_runtime::middleware::{Policy, Stack, Verdict};
use mcp_bindgen_runtime::{Client, PromptResult};
use serde_json::{Value, json};

fn client(args: &[&str]) -> Client {
    let program = mcp_fixture_server::program();
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    Client::new(ServerConfig::stdio("notes", program.to_str().unwrap()).args(args))
}

#[tokio::test]
async fn model_lists_and_reads_resources_through_policies() {
    for args in [vec!["--offers"], vec!["--offers", "modern"]] {
        let client = client(&args);
        let notes_only = Policy::new(|call| match call.arguments.get("uri").and_then(Value::as_str) {
            Some(uri) if uri.starts_with("bin:") => Verdict::deny("binary files are not for models"),
            _ => Verdict::Allow,
        });
        let toolset = Toolset::builder()
            .functions_through(|functions| Stack::new(functions).policy(notes_only))
            .resources(client.clone())
            .build()
            .unwrap();
        assert_eq!(toolset.names().collect::<Vec<_>>(), ["notes_list_resources", "notes_read_resource"]);
        let list = toolset.dispatch("notes_list_resources", "{}").await;
        let listed = &list.value["structuredContent"];
        assert_eq!(listed["resources"][0], json!({ "uri": "note:///today", "name": "today" }), "{list:?}");
        assert!(listed["templates"].as_array().is_some_and(|templates| !templates.is_empty()));
        let read = |uri: &str| {
            let (toolset, arguments) = (toolset.clone(), json!({ "uri": uri }));
            async move { toolset.dispatch("notes_read_resource", arguments).await }
        };
        let note = read("note:///today").await;
        assert!(note.success && note.message.starts_with("note:///today:\ntoday"), "{}", note.message);
        let denied = read("bin:///x").await;
        assert!(!denied.success && denied.message.contains("not for models"), "{}", denied.message);
        let unknown = read("nothing:///here").await;
        assert!(!unknown.success && unknown.message.contains("nothing:///here"), "{}", unknown.message);
        let invalid = toolset.dispatch("notes_read_resource", "{}").await;
        assert!(!invalid.success && invalid.message.contains("`uri`"), "{}", invalid.message);
        client.close().await;
    }
}

#[tokio::test]
async fn server_prompt_becomes_messages_of_each_provider() {
    let client = client(&["--offers"]);
    let prompt = client.prompt("greet", [("who", "Ada")]).await.unwrap();
    client.close().await;
    let greeting = prompt.messages[0].content.as_text().unwrap().to_owned();
    let anthropic = Provider::Anthropic.prompt_messages(&prompt);
    let roles: Vec<&str> = anthropic.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"], "messages of one role that follow each other are one");
    assert_eq!(anthropic[0]["content"], json!([{ "type": "text", "text": greeting }]));
    assert_eq!(anthropic[1]["content"][0]["text"], "note:///today:\nsunny");
    assert!(anthropic[2]["content"][0]["text"].as_str().unwrap().contains("hologram"));

    let chat = Provider::OpenAiChat.prompt_messages(&prompt);
    assert_eq!(chat[0], json!({ "role": "user", "content": greeting }));
    assert_eq!(chat[1], json!({ "role": "assistant", "content": "note:///today:\nsunny" }));
    let responses = Provider::OpenAiResponses.prompt_messages(&prompt);
    assert_eq!(responses[0]["content"], json!([{ "type": "input_text", "text": greeting }]));
    assert_eq!(responses[1]["content"], json!([{ "type": "output_text", "text": "note:///today:\nsunny" }]));
    let gemini = Provider::Gemini.prompt_messages(&prompt);
    assert_eq!(gemini[1], json!({ "role": "model", "parts": [{ "text": "note:///today:\nsunny" }] }));
}

#[test]
fn prompt_images_are_sent_where_supported() {
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let messages = json!([
        { "role": "user", "content": { "type": "text", "text": "See:" } },
        { "role": "user", "content": image },
        { "role": "assistant", "content": image },
    ]);
    let prompt = PromptResult::from_json("s", "p", json!({ "messages": messages }));
    for (provider, expected) in [
        (Provider::OpenAiChat, json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } })),
        (Provider::OpenAiResponses, json!({ "type": "input_image", "image_url": "data:image/png;base64,AAAA" })),
        (
            Provider::Anthropic,
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } }),
        ),
        (Provider::Gemini, json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } })),
    ] {
        let messages = provider.prompt_messages(&prompt);
        let content = if provider == Provider::Gemini { &messages[0]["parts"] } else { &messages[0]["content"] };
        assert_eq!(content[1], expected);
        assert!(messages[1].to_string().contains("left out"), "an assistant's message has no images: {}", messages[1]);
    }
}

#[test]
fn instructions_are_quoted_only_on_request() {
    let snapshot = json!({ "instructions": "# Read first\nThen <write>.", "tools": [{ "name": "read" }] });
    let server = || {
        let snapshot = Snapshot::parse(&snapshot.to_string()).unwrap();
        SectionServer::from(ServerConfig::stdio("notes", "never-started")).snapshot(snapshot)
    };
    let text = |section: McpSection| {
        let prompt = Prompt::new().section(section).build().unwrap();
        prompt.render(&PromptParams::new(), &PromptState::new()).unwrap().text().to_owned()
    };
    assert!(!text(McpSection::new([server()])).contains("Read first"));
    let shown = text(McpSection::new([server()]).with_instructions());
    assert!(shown.contains("### notes\n\n> \\# Read first\n> Then &lt;write&gt;.\n\n- `notes_read`"), "{shown}");
    let template = "{{ instructions_by_server.notes }}";
    let templated = text(McpSection::new([server()]).with_instructions().template(template));
    assert!(templated.contains("> Then &lt;write&gt;."), "{templated}");
}
