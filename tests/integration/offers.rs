//! Prompts and resource templates by their bindings: what goes on the wire, what is refused, what never collides.

#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::sync::Mutex;
use std::time::Duration;

use mcp_bindgen::{
    CallError, CallTool, GetPrompt, PromptRequest, PromptResult, ReadResource, ResourceRequest, ResourceResult,
    ToolCall, ToolResult,
};
use mcp_bindgen_codegen::{Bindings, Listed, Options};
use mcp_bindgen_model::Snapshot;
use serde_json::{Value, json};

mcp_bindgen::mcp_tools!("prompts", path = "fixtures/features/prompts.json");
mod hostile {
    mcp_bindgen::mcp_tools!("offers", path = "fixtures/hostile/offers.json");
    mcp_bindgen::mcp_tools!("get", path = "fixtures/hostile/offers.json", prefix = false);
}

use prompts::{
    PROMPTS, Prompts, PromptsAnyFileResource, PromptsDynamicTextResource, PromptsRepoContentsResource,
    PromptsReviewPrompt, RESOURCE_TEMPLATES,
};

/// Takes whatever it is asked for, and answers with nothing.
#[derive(Default)]
struct Recorder(Mutex<Vec<Value>>);

impl Recorder {
    fn put(&self, asked: Value) {
        self.0.lock().unwrap().push(asked);
    }

    fn last(&self) -> Option<Value> {
        self.0.lock().unwrap().pop()
    }
}

impl CallTool for Recorder {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        self.put(json!({ "tool": call.tool }));
        Ok(ToolResult::new(call.server, call.tool))
    }
}

impl GetPrompt for Recorder {
    async fn get_prompt(&self, request: PromptRequest) -> Result<PromptResult, CallError> {
        let PromptRequest { server, prompt, arguments, options, .. } = request;
        let is_timed = !format!("{options:?}").contains("timeout: None");
        self.put(json!({ "server": server, "prompt": prompt, "arguments": arguments, "timed": is_timed }));
        Ok(PromptResult::from_json(server, prompt, json!({ "messages": [] })))
    }
}

impl ReadResource for Recorder {
    async fn read_resource(&self, request: ResourceRequest) -> Result<ResourceResult, CallError> {
        self.put(json!({ "server": request.server, "uri": request.uri }));
        Ok(ResourceResult::from_json(request.server, request.uri, json!({ "contents": [] })))
    }
}

#[tokio::test]
async fn prompt_is_requested_by_its_wire_name() {
    let server = Prompts::with(Recorder::default());
    let arguments = PromptsReviewPrompt { r#type: Some("fix".into()), ..PromptsReviewPrompt::new("a diff") };
    server.prompt_review_prompt(arguments.clone()).await.unwrap();
    let asked = json!({ "change": "a diff", "type": "fix" });
    let expected = json!({ "server": "prompts", "prompt": "review", "arguments": asked, "timed": false });
    assert_eq!(server.client().last(), Some(expected.clone()));
    // By the function, and with options for all that is asked.
    prompts::prompts_prompt_review_prompt(server.client(), arguments).await.unwrap();
    assert_eq!(server.client().last(), Some(expected));
    server.within(Duration::from_secs(1)).prompt_plain(prompts::PromptsPlainPrompt::new()).await.unwrap();
    assert_eq!(server.client().last().unwrap()["timed"], true);
    // The tool keeps its name.
    server.prompt_review(prompts::PromptsPromptReviewParams::new()).await.unwrap();
    assert_eq!(server.client().last(), Some(json!({ "tool": "prompt_review" })));
}

#[test]
fn futures_of_prompts_and_resources_are_send() {
    fn is_send(_: &impl Send) {}
    let server = Prompts::with(Recorder::default());
    is_send(&server.prompt_review_prompt(PromptsReviewPrompt::new("a diff")));
    is_send(&prompts::prompts_prompt_review_prompt(server.client(), PromptsReviewPrompt::new("a diff")));
    is_send(&server.resource_dynamic_text_resource(PromptsDynamicTextResource::new("a")));
}

#[test]
fn missing_or_non_string_prompt_arguments_are_refused() {
    let read = serde_json::from_value::<PromptsReviewPrompt>;
    assert_eq!(read(json!({ "change": "x", "style": "dry" })).unwrap().style.as_deref(), Some("dry"));
    let error = read(json!({ "style": "dry" })).unwrap_err().to_string();
    assert!(error.contains("change"), "{error}");
    assert!(read(json!({ "change": 5 })).is_err());
}

#[tokio::test]
async fn resource_template_is_expanded_and_read() {
    let server = Prompts::with(Recorder::default());
    let path = vec!["src".to_owned(), "a file?.rs".to_owned()];
    let file = PromptsRepoContentsResource {
        r#ref: Some("v1&x=2".into()),
        ..PromptsRepoContentsResource::new("o", "r/s", path)
    };
    let uri = "repo://o/r%2Fs/contents/src/a%20file%3F.rs?ref=v1%26x%3D2";
    assert_eq!(file.uri().unwrap(), uri);
    server.resource_repo_contents(file).await.unwrap();
    assert_eq!(server.client().last(), Some(json!({ "server": "prompts", "uri": uri })));
    let whole = PromptsRepoContentsResource::new("o", "r", vec![]);
    assert_eq!(whole.uri().unwrap(), "repo://o/r/contents");
}

#[tokio::test]
async fn hostile_values_are_encoded_or_refused_and_never_sent() {
    let server = Prompts::with(Recorder::default());
    for (value, uri) in [
        ("../../etc/passwd", "..%2F..%2Fetc%2Fpasswd"),
        ("a?b=c#d", "a%3Fb%3Dc%23d"),
        ("a\r\nb\0", "a%0D%0Ab%00"),
        ("%2e%2e", "%252e%252e"),
    ] {
        let filled = PromptsDynamicTextResource::new(value).uri().unwrap();
        assert_eq!(filled, format!("demo://resource/dynamic/text/{uri}"));
    }
    assert_eq!(PromptsAnyFileResource::new("a/b c\n?").uri().unwrap(), "file:///a/b%20c%0A?");
    for value in ["../etc/passwd", "a/../../etc", "..", "%2E%2e/x", "./x"] {
        let error = server.resource_any_file(PromptsAnyFileResource::new(value)).await.unwrap_err();
        let CallError::InvalidArguments { pointer, tool, .. } = &error else { panic!("{error:?}") };
        assert_eq!((pointer.as_str(), tool.as_str()), ("/path", "file:///{+path}"));
    }
    let up = PromptsRepoContentsResource::new("o", "r", vec!["..".to_owned()]);
    assert!(server.resource_repo_contents(up).await.is_err());
    assert!(server.resource_dynamic_text_resource(PromptsDynamicTextResource::new("..")).await.is_err());
    assert_eq!(server.client().last(), None, "nothing was asked for");
}

#[test]
fn constants_match_the_declarations_of_the_server() {
    let review = PROMPTS.iter().find(|prompt| prompt.name == "review").unwrap();
    assert_eq!(review.title, Some("Review a change"));
    let arguments: Vec<_> = review.arguments.iter().map(|argument| (argument.name, argument.is_required)).collect();
    assert_eq!(arguments, [("change", true), ("style", false), ("type", false)]);
    let contents = &RESOURCE_TEMPLATES[0];
    assert_eq!(contents.uri_template, "repo://{owner}/{repo}/contents{/path*}{?ref}");
    assert_eq!(contents.mime_type, Some("application/octet-stream"));
}

fn snapshot() -> (Snapshot, String) {
    let text = include_str!("../../fixtures/features/prompts.json");
    (Snapshot::parse(text).unwrap(), text.to_owned())
}

#[test]
fn unbindable_offers_are_reported_at_their_position() {
    let (snapshot, text) = snapshot();
    let (_, said) = Bindings::generate(&snapshot, &Options::new("prompts"));
    let said: Vec<(Listed, &str, &str, String)> =
        said.iter().map(|said| (said.listed, said.tool.as_str(), said.code.id, said.message.clone())).collect();
    for (listed, name, code, message) in [
        (Listed::Prompt, "half", "MCP0016", "an argument has no name"),
        (Listed::Prompt, "half", "MCP0016", "duplicate argument"),
        (Listed::Prompt, "no_list", "MCP0016", "they are not an array"),
        (Listed::Prompt, "#9", "MCP0016", "it has no name"),
        (Listed::Prompt, "#10", "MCP0016", "it is not an object"),
        (Listed::Prompt, "same", "MCP0016", "another prompt has the same name"),
        (Listed::ResourceTemplate, "open", "MCP0017", "a `{` is not closed"),
        (Listed::ResourceTemplate, "absent", "MCP0017", "it has no `uriTemplate`"),
        (Listed::ResourceTemplate, "#9", "MCP0017", "it has no name"),
        (Listed::ResourceTemplate, "#10", "MCP0017", "it is not an object"),
    ] {
        let found = said.iter().any(|found| *found == (listed, name, code, message.to_owned()));
        assert!(found, "{listed} {name}: {message}\n{said:#?}");
    }
    let hyphen = said.iter().find(|(_, name, ..)| *name == "hyphen").expect("a template that is none");
    assert!(hyphen.3.contains("repo-name"), "{hyphen:?}");
    let (_, said) = Bindings::generate(&snapshot, &Options::new("prompts"));
    let open = said.iter().find(|said| said.tool == "open").unwrap();
    let line = text.lines().position(|line| line.contains("\"open\"")).unwrap() + 1;
    assert_eq!(open.position(&text).map(|(line, _)| line), Some(line));
    assert!(open.to_string().contains("(resource template open, /uriTemplate)"), "{open}");
    let (tools, _) = Bindings::describe(&snapshot, &Options::new("prompts"));
    assert!(tools.iter().all(|tool| tool.diagnostics.is_empty()), "what is said of prompts is no tool's");
}

/// Names hang on what a server offers, not on its order, and no patterns of tools touch them.
#[test]
fn list_order_does_not_affect_names() {
    let (snapshot, _) = snapshot();
    let names = |snapshot: &Snapshot, options: &Options| {
        let mut names: Vec<_> = Bindings::plan(snapshot, options)
            .offers()
            .into_iter()
            .map(|offer| (offer.name, offer.uri_template, offer.params_type, offer.handler, offer.method))
            .collect();
        names.sort();
        names
    };
    let options = Options::new("prompts");
    let forward = names(&snapshot, &options);
    assert_eq!(forward.len(), PROMPTS.len() + RESOURCE_TEMPLATES.len());
    let mut backward = snapshot.clone();
    backward.prompts.reverse();
    backward.resource_templates.reverse();
    backward.tools.reverse();
    assert_eq!(names(&backward, &options), forward);
    let excluded: Vec<_> = names(&snapshot, &options.clone().exclude(["*"]));
    assert_eq!(excluded.len(), forward.len(), "`exclude` is about tools");
    for (_, _, params, handler, method) in &forward {
        let same = |found: &&(String, Option<String>, String, String, String)| {
            found.2 == *params || found.3 == *handler || found.4 == *method
        };
        assert_eq!(forward.iter().filter(same).count(), 1, "{params}");
    }
}

/// That they compile is what matters; hostile names are names like any other on the wire.
#[tokio::test]
async fn hostile_offers_are_bound() {
    let server = hostile::offers::Offers::with(Recorder::default());
    let arguments = hostile::get::SelfPrompt::new("a", "b");
    let member =
        hostile::offers::OffersSelfPrompt { self_: arguments.self_, ..hostile::offers::OffersSelfPrompt::new("", "c") };
    let asked = hostile::offers::offers_prompt_self(server.client(), member).await;
    assert_eq!(asked.unwrap().prompt, "self");
    assert_eq!(server.client().last().unwrap()["arguments"], json!({ "self": "a", "Self": "c" }));
    assert_eq!(hostile::get::RESOURCE_TEMPLATES.len(), hostile::offers::RESOURCE_TEMPLATES.len());
    let operators = hostile::get::OperatorsResource {
        e: Some("e".into()),
        ..hostile::get::OperatorsResource::new("a", "b", "c", vec!["d".into(), "d".into()])
    };
    assert_eq!(operators.uri().unwrap(), "a#b.c/d/d;e=e");
}

#[test]
fn empty_lists_generate_no_items() {
    let snapshot = Snapshot::parse(r#"{"tools": [], "prompts": [], "resourceTemplates": []}"#).unwrap();
    let text = Bindings::generate(&snapshot, &Options::new("none")).0.to_string();
    assert!(!text.contains("PROMPTS") && !text.contains("RESOURCE_TEMPLATES") && !text.contains("GetPrompt"));
}
