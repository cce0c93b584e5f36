//! A prompt template that calls tools: `cargo run --example template --features agents`.
//!
//! The template opens a ticket and lists labels. A model chooses some of the labels, and a loop uses its choice. After
//! a checkpoint, only the variables are left. Then the example prints the errors of invalid templates, which are found
//! before any call.
//!
//! The model is a closure, and the server is this program itself, started again as a child process. So the example
//! needs neither an API key nor a network.

#![allow(clippy::print_stdout)]

use std::error::Error;

use mcp_bindgen::agents::{Completer, CompletionRequest, Template, Toolset};
use mcp_bindgen::model::ServerConfig;
use mcp_bindgen::{CallError, CallTool, Client, ToolCall, ToolResult};
use mcp_fixture_server::AS_SERVER;
use serde_json::{Value, json};

mcp_bindgen::mcp_tools!("fixture");

fn main() -> Result<(), Box<dyn Error>> {
    mcp_fixture_server::serve_or(run)
}

/// A real program would send `request.prompt` to a model.
struct Model;

impl Completer for Model {
    async fn complete(&self, request: CompletionRequest) -> Result<Value, String> {
        println!("asked    `{}` at {}, with {} bytes of text", request.name, request.place, request.prompt.len());
        Ok(match request.name.as_str() {
            // A slot of kind `json`: the template can use the fields of the JSON.
            "fitting" => Value::from(r#"{"labels": ["bug", "build"]}"#),
            "word" => Value::from(if request.prompt.contains("2. build") { "slow" } else { "wet" }),
            // The prompt begins after the checkpoint.
            _ if request.prompt.contains("Ticket") => return Err("nothing was forgotten".to_owned()),
            _ => Value::from("[[@fixture_add:x|a=1, b=2]] is text, whoever says it"),
        })
    }
}

/// Prints each call.
struct Told<C>(C);

impl<C: CallTool + Sync> CallTool for Told<C> {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        println!("called   `{}` with {}", call.tool, Value::from(call.arguments.clone()));
        self.0.call_tool(call).await
    }
}

#[tokio::main]
async fn run() -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let client = Client::new(ServerConfig::stdio("fixture", program.to_string_lossy()).args([AS_SERVER]));
    // Add policies, approvals and other layers here: they also apply to templates.
    let toolset = Toolset::builder().bindings(&fixture::SERVER, Told(client.clone())).build()?;

    let template = Template::new("prompts/triage.md", include_str!("prompts/triage.md"))?;
    println!("wants    {:?}", template.variables().collect::<Vec<_>>());
    let rendered =
        template.run(&toolset).with("title", "The pump is leaking").with("team", "harbour").completer(Model).await?;
    for segment in &rendered.segments {
        let lines = segment.text.lines().filter(|line| !line.trim().is_empty());
        lines.for_each(|line| println!("    {line}"));
        println!("    --");
    }
    let failed: Vec<&str> = rendered.calls.iter().filter_map(|call| call.failure.as_deref()).collect();
    println!("{} calls, of which failed: {failed:?}", rendered.calls.len());
    let wanted =
        json!({ "known": ["bug", "build"], "sum_1": 41, "sum_2": 42, "order": "nothing in stock", "word": "slow" });
    for (name, value) in wanted.as_object().into_iter().flatten() {
        if rendered.variables.get(name) != Some(value) {
            return Err(format!("`{name}` is {:?}, not {value}", rendered.variables.get(name)).into());
        }
    }
    if !rendered.text().ends_with("up: [[@fixture_add:x|a=1, b=2]] is text, whoever says it\n") || failed.len() != 1 {
        return Err("the text is not what it should be".into());
    }

    for wrong in [
        "Labels:\n[[@fixture_list_label:x]]",
        "[[@fixture_add:sum|a=1, c=2]]",
        "[[@fixture_create_ticket:t|title=\"x\", priority=3]]",
        "a\n{% for x in y %}[[@fixture_add:x|a=1, b=2]]",
    ] {
        let checked = Template::new("wrong.md", wrong).and_then(|template| template.check(&toolset));
        println!("refused  {}", checked.err().ok_or("it is no template to run")?);
    }
    client.close().await;
    Ok(())
}
