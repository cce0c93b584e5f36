//! Typed calls to an MCP server: `cargo run --example quickstart`.
//!
//! The server is this program itself, started again as a child process, so the example needs neither Node nor a
//! network. The bindings are generated from `fixtures/snapshots/fixture.json`, which `mcp-bindgen sync fixture` wrote.

#![allow(clippy::print_stdout)]

use std::error::Error;

use mcp_bindgen::model::ServerConfig;
use mcp_bindgen::{CallError, Client};
use mcp_fixture_server::AS_SERVER;

mcp_bindgen::mcp_tools!("fixture");
use fixture::*;

fn main() -> Result<(), Box<dyn Error>> {
    mcp_fixture_server::serve_or(talk)
}

#[tokio::main]
async fn talk() -> Result<(), Box<dyn Error>> {
    // For a server in mcp.toml this is `Fixture::connect().await?`.
    let program = std::env::current_exe()?;
    let client = Client::new(ServerConfig::stdio("fixture", program.to_string_lossy()).args([AS_SERVER]));
    let server = Fixture::with(client.clone());

    let sum = server.add(FixtureAddParams::new(20, 22)).await?;
    println!("add                20 + 22 = {sum}");

    let ticket = server
        .create_ticket(FixtureCreateTicketParams {
            assignee: Some(FixtureCreateTicketParamsPerson::new("Ada")),
            labels: Some(vec![]),
            ..FixtureCreateTicketParams::new("It broke", FixtureCreateTicketParamsPriority::High)
        })
        .await?;
    println!(
        "create_ticket      #{} `{}`, {}, {} labels",
        ticket.id,
        ticket.title,
        ticket.priority,
        ticket.labels.len()
    );

    let labels = server.list_labels(FixtureListLabelsParams { prefix: Some("b".to_owned()) }).await?;
    println!("list_labels        {}", labels.join(", "));

    let shape = FixtureMeasureShapeParamsShape::Rectangle(FixtureMeasureShapeParamsShapeRectangle::new(3.0, 4.0));
    let measured = server.measure_shape(FixtureMeasureShapeParams::new(shape)).await?;
    println!("measure_shape      an area of {}", measured.area);

    let report = server.make_report(FixtureMakeReportParams::new()).await?;
    println!("make_report        {} blocks, the text is `{}`", report.content.len(), report.text());

    match server.always_fails(FixtureAlwaysFailsParams::new("as asked")).await {
        Err(CallError::Tool(result)) => println!("always_fails       the tool says `{}`", result.text()),
        other => return Err(format!("always_fails gave {other:?}").into()),
    }

    // A model's call is a name and JSON: it is parsed before anything is sent.
    let wrong = serde_json::json!({ "a": 20, "b": "twenty-two" });
    if let Err(error) = FixtureCall::parse("add", wrong) {
        println!("a wrong argument   {error}");
    }

    client.close().await;
    Ok(())
}
