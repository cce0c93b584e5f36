//! A prompt whose sections declare their servers: `cargo run --example sections --features agents`.
//!
//! A closed section shows its summary, and its servers are not started. After a model opens the section, its tools are
//! offered from the next turn on.
//!
//! The server is this program itself, started again as a child process, so the example needs neither Node nor a
//! network.

#![allow(clippy::print_stdout)]

use std::error::Error;

use mcp_bindgen::Client;
use mcp_bindgen::agents::{
    McpSection, Prompt, PromptParams, PromptState, RenderedPrompt, Section, SectionServer, SectionTool, Visibility,
};
use mcp_bindgen::middleware::Policy;
use mcp_bindgen::model::{ServerConfig, Snapshot};
use mcp_fixture_server::AS_SERVER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SNAPSHOT: &str = include_str!("../fixtures/snapshots/fixture.json");

/// The parameters of the section about the team.
#[derive(Serialize, JsonSchema)]
struct Team {
    name: String,
    on_call: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Handover {
    /// A note for the next shift.
    note: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    mcp_fixture_server::serve_or(show)
}

#[tokio::main]
async fn show() -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let server = |name: &str| ServerConfig::stdio(name, program.to_string_lossy()).args([AS_SERVER]);

    // The program creates one client, to check whether it is connected; the section creates the other.
    let desk = Client::new(server("desk"));
    let tickets = Section::new("tickets", "Tickets")
        .summary("Tickets can be opened and labelled.")
        .visibility(Visibility::Summary)
        .template("Open a ticket for whatever is not solved in this shift.")
        .server(SectionServer::from(desk.clone()).snapshot(Snapshot::parse(SNAPSHOT)?).only(["create_*", "list_*"]))
        .policy(Policy::deny(["list_secrets"]));
    let handover =
        SectionTool::function("hand_over", "Tells the next shift.", async |handover: Handover| {
            match handover.note.trim() {
                "" => Err("an empty note; say what the next shift has to know"),
                note => Ok(format!("kept: {note}")),
            }
        });
    let team = Section::with_params::<Team>("team", "The team")
        .template("You work for {{ name }}.{% if on_call %} {{ on_call }} is on call.{% endif %}")
        .child(Section::new("shift", "The end of a shift").template("Hand over before you leave.").tool(handover))
        .child(tickets);
    let holidays = Section::new("holidays", "Holidays")
        .template("Nobody works today.")
        .enabled(|(), state| state.fact("holiday") == &serde_json::json!(true));
    let tools = McpSection::new([SectionServer::from(server("measures"))
        .snapshot(Snapshot::parse(SNAPSHOT)?)
        .only(["add", "measure_*"])])
    .key("measures")
    .title("Measuring");
    let prompt = Prompt::new().section(team).section(holidays).section(&tools).build()?;
    let params = PromptParams::new().with(Team { name: "the harbour".to_owned(), on_call: None });

    let closed = prompt.render(&params, &PromptState::new())?;
    println!("--- as the conversation begins ---\n{}\n", closed.text());
    tell(&closed).await?;
    is(!closed.servers().iter().any(|server| server.name() == "desk"), "the server of a closed section is offered")?;

    // The tool `open_sections` does the same when a model calls it.
    let refused = closed.open_sections(&["team.ticket".to_owned()], "");
    println!("\na wrong key        {}", refused.reply.message);
    let opened = closed.open_sections(&["team.tickets".to_owned()], "a pump is leaking");
    println!("open_sections      {}", opened.reply.message);
    is(opened.reply.success && !refused.reply.success, "one was to be opened, the other was not")?;

    // Store the state with the conversation.
    let kept = serde_json::to_string(&opened.state)?;
    let state: PromptState = serde_json::from_str(&kept)?;
    let open = prompt.render(&params, &state)?;
    println!("\nkept as            {kept}\n\n--- from the next turn on ---");
    is(open.text() == closed.text(), "the text changed, and a provider would have to read it anew")?;
    tell(&open).await?;
    is(!desk.is_connected(), "a server was started before anything of it was called")?;

    let found =
        open.servers().iter().find(|server| server.name() == "desk").ok_or("the open section has its server")?;
    let labels = mcp_bindgen::ToolCall::new("desk", "list_labels", serde_json::Map::new());
    let labels = mcp_bindgen::CallTool::call_tool(&found.caller(), labels).await?;
    println!("\nlist_labels        {}; now the server runs: {}", labels.text(), desk.is_connected());

    let holiday = prompt.render(&params, &state.with_fact("holiday", true))?;
    is(holiday.text().contains("Nobody works today."), "the section is enabled")?;

    prompt.close().await;
    tools.close().await;
    desk.close().await;
    is(!desk.is_connected() && !tools.is_connected(), "everything was closed")
}

/// Prints the tools that a model is offered, in order.
async fn tell(rendered: &RenderedPrompt) -> Result<(), Box<dyn Error>> {
    let (toolset, _) = rendered.toolset().await?;
    println!("offered            {}", toolset.names().collect::<Vec<_>>().join(", "));
    Ok(())
}

fn is(holds: bool, otherwise: &str) -> Result<(), Box<dyn Error>> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}
