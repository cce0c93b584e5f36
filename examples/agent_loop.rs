//! An agent: `cargo run --example agent_loop --features agents`.
//!
//! A model opens a section of its prompt and gets the tools of the section. It calls some of them in one turn, corrects
//! a wrong call, and requests a call that needs an approval. Then it orders an item that is sold out, and a transaction
//! is rolled back. The example does this with four APIs of providers, and again with a deferred toolset of two tools.
//!
//! The model is a script behind a local HTTP server that checks requests as strictly as the providers. The MCP server
//! is this program itself, started again as a child process. So the example needs neither an API key nor a network.

#![allow(clippy::print_stdout)]

mod scripted_model;

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_bindgen::agents::{
    Model, Prompt, PromptParams, PromptState, Provider, Reply, Run, RunEvent, RunTools, Section, SectionServer,
    Toolset, Visibility,
};
use mcp_bindgen::middleware::{Approval, ApprovalAnswer, Stack, Transaction};
use mcp_bindgen::model::ServerConfig;
use mcp_bindgen::{CallError, CallTool, Client, ToolCall, ToolResult};
use mcp_fixture_server::AS_SERVER;
use schemars::JsonSchema;
use scripted_model::{ScriptedModel, Seen, Turn};
use serde::Serialize;
use serde_json::{Map, Value, json};

mcp_bindgen::mcp_tools!("fixture");

const PROVIDERS: [Provider; 4] =
    [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini];
const QUESTION: &str = "The pump is leaking. Open a ticket, and order a new seal.";

#[derive(Serialize, JsonSchema)]
struct Team {
    name: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    mcp_fixture_server::serve_or(run)
}

/// The program's list of orders.
type Books = Arc<Mutex<Vec<String>>>;

/// Adds an order before the server receives it.
struct Booking<C> {
    below: C,
    books: Books,
}

impl<C: CallTool + Sync> CallTool for Booking<C> {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        if &*call.tool == "always_fails" {
            let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
            books.push("a seal".to_owned());
            println!("    booked           {books:?}");
        }
        self.below.call_tool(call).await
    }
}

#[tokio::main]
async fn run() -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let client = Client::new(ServerConfig::stdio("fixture", program.to_string_lossy()).args([AS_SERVER]));
    let books: Books = Arc::default();
    // These layers apply to every call of the tools.
    let desk = Stack::new(Booking { below: client.clone(), books: books.clone() })
        .approval(Approval::of(["create_*"], async |request| {
            let title = request.arguments.get("title").and_then(|title| title.as_str()).unwrap_or_default();
            println!("    approval asked   `{}` of `{title}`", request.tool);
            if title.contains("coffee") {
                ApprovalAnswer::Decline("tickets are about pumps".to_owned())
            } else {
                ApprovalAnswer::Approve
            }
        }))
        .transaction(Transaction::over(&books).tools(["always_*"]));
    let desk = Arc::new(desk);

    let tickets = Section::new("tickets", "Tickets")
        .summary("Tickets can be opened, and spare parts ordered.")
        .visibility(Visibility::Summary)
        .template("Open a ticket for whatever is broken. Order parts with `fixture_always_fails`.")
        .server(SectionServer::bound(&fixture::SERVER, desk.clone()).only([
            "create_ticket",
            "list_labels",
            "always_fails",
        ]));
    let team = Section::with_params::<Team>("team", "The team").template("You work for {{ name }}.").child(tickets);
    let prompt = Prompt::new().section(team).build()?;
    let params = PromptParams::new().with(Team { name: "the harbour".to_owned() });

    let mut expected = None;
    for provider in PROVIDERS {
        println!("{provider:?}");
        let model = ScriptedModel::start(with_sections).await?;
        let tools = RunTools::prompt(prompt.clone(), params.clone(), PromptState::new());
        let answer = Run::new(&Api { model: &model, provider }, tools)
            .on_event(tell)
            .messages(vec![provider.user_message(QUESTION)])
            .await?;
        println!("    answer           {}; {} replies\n", answer.text, answer.turns);
        // Only the formats differ.
        if *expected.get_or_insert((answer.text.clone(), answer.turns)) != (answer.text, answer.turns) {
            return Err(format!("the conversation with {provider:?} went another way").into());
        }
    }
    let books = books.lock().unwrap_or_else(PoisonError::into_inner).clone();
    println!("the books hold {books:?}: each order that failed was rolled back\n");
    if !books.is_empty() {
        return Err("the books hold orders that were never carried out".into());
    }

    let toolset = Toolset::builder().bindings(&fixture::SERVER, desk).build()?;
    let deferred = toolset.deferred();
    for provider in PROVIDERS {
        let model = ScriptedModel::start(with_search).await?;
        let size = |toolset: &Toolset| Value::from(toolset.definitions(provider).tools).to_string().len();
        let answer = Run::new(&Api { model: &model, provider }, deferred.clone())
            .instructions("Search for what you need.")
            .messages(vec![provider.user_message(QUESTION)])
            .await?;
        println!(
            "{provider:?}: found among {} tools with {} of {} bytes in the request: {}",
            toolset.len(),
            size(deferred.listed()),
            size(&toolset),
            answer.text
        );
    }
    client.close().await;
    Ok(())
}

/// A client of the provider's API.
struct Api<'m> {
    model: &'m ScriptedModel,
    provider: Provider,
}

impl Model for Api<'_> {
    type Error = std::io::Error;

    fn provider(&self) -> Provider {
        self.provider
    }

    async fn reply(&self, mut request: Map<String, Value>, _: Reply) -> Result<Value, Self::Error> {
        match self.provider {
            Provider::Anthropic => {
                request.extend([("model".to_owned(), json!("scripted")), ("max_tokens".to_owned(), json!(1024))])
            }
            Provider::Gemini => {}
            _ => request.extend([("model".to_owned(), json!("scripted"))]),
        }
        self.model.ask(self.provider, &request.into()).await.map_err(std::io::Error::other)
    }
}

fn tell(event: RunEvent) {
    if let RunEvent::Answered(answer) = event {
        let said: String = answer.reply.message.replace('\n', " ").chars().take(110).collect();
        let outcome = if answer.reply.success { "done" } else { "failed" };
        println!("    {outcome:<16} {}: {said}", answer.name);
    }
}

/// The model's script with sections. It only knows the content of the request.
fn with_sections(seen: &Seen) -> Result<Turn, String> {
    let call = |calls: &[(&str, Value)]| {
        Ok(Turn::Call(calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect()))
    };
    let ticket =
        |title: &str, priority: &str| ("fixture_create_ticket", json!({ "title": title, "priority": priority }));
    let went = |expected: &[bool]| {
        let went: Vec<bool> = seen.last().iter().map(|outcome| !outcome.failed).collect();
        if went == expected { Ok(()) } else { Err(format!("expected {expected:?}, and it went {went:?}")) }
    };
    match seen.turns.len() {
        0 if seen.has("fixture_create_ticket") => Err("a tool of a closed section is declared".to_owned()),
        0 if !seen.instructions.contains("Tickets can be opened") => Err("there is no summary".to_owned()),
        0 => call(&[("open_sections", json!({ "section_keys": ["team.tickets"], "reason": "a pump is leaking" }))]),
        1 => {
            went(&[true])?;
            if !seen.last().iter().any(|opened| opened.text.contains("Open a ticket for whatever is broken")) {
                return Err("the section was not opened".to_owned());
            }
            if seen.instructions.contains("Open a ticket for whatever is broken") {
                return Err("the instructions changed".to_owned());
            }
            call(&[("fixture_list_labels", json!({})), ticket("The pump is leaking", "high")])
        }
        2 => {
            went(&[true, true])?;
            call(&[ticket("The valve is stuck", "urgent")])
        }
        3 => {
            went(&[false])?;
            call(&[ticket("The valve is stuck", "low"), ticket("No coffee", "high")])
        }
        4 => {
            went(&[true, false])?;
            call(&[("fixture_always_fails", json!({ "reason": "there are no seals" }))])
        }
        _ => {
            went(&[false])?;
            if !seen.last().iter().all(|ordered| ordered.text.contains("there are no seals")) {
                return Err("the server was not asked for a seal".to_owned());
            }
            Ok(Turn::Say("there are two tickets, and no seals to be had".to_owned()))
        }
    }
}

/// The model's script with a deferred toolset.
fn with_search(seen: &Seen) -> Result<Turn, String> {
    let call = |name: &str, arguments: Value| Ok(Turn::Call(vec![(name.to_owned(), arguments)]));
    match (seen.turns.len(), seen.last()) {
        (0, _) => call("find_tools", json!({ "query": "open a ticket" })),
        (1, [found]) if found.text.contains("fixture_create_ticket") => {
            let arguments = json!({ "title": "The pump is leaking", "priority": "high" });
            call("call_tool", json!({ "name": "fixture_create_ticket", "arguments": arguments }))
        }
        (2, [made]) if !made.failed => Ok(Turn::Say("there is a ticket".to_owned())),
        (_, last) => Err(format!("it went wrong: {}", last.first().map_or("nothing", |outcome| outcome.text.as_str()))),
    }
}
