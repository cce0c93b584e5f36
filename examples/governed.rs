//! Governed calls: `cargo run --example governed`.
//!
//! A policy denies one call, and a user approves another. A transaction is rolled back, and a call of a changed tool is
//! refused. Every call is reported as an event.
//!
//! The server is this program itself, started again as a child process, so the example needs neither Node nor a
//! network. For the last step, the server acts as a later version whose tools differ from the bindings.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_bindgen::events::Event;
use mcp_bindgen::middleware::{Approval, ApprovalAnswer, Policy, Stack, Transaction, Verdict};
use mcp_bindgen::model::{Drift, ServerConfig};
use mcp_bindgen::{CallError, Client};
use mcp_fixture_server::AS_SERVER;

mcp_bindgen::mcp_tools!("fixture");
use fixture::*;

const UPDATED: &str = "--updated";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == AS_SERVER => Ok(mcp_fixture_server::run(rest.to_vec())?),
        _ => govern(),
    }
}

type Basket = Arc<Mutex<Vec<&'static str>>>;

fn held(basket: &Basket) -> MutexGuard<'_, Vec<&'static str>> {
    basket.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tokio::main]
async fn govern() -> Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let server = ServerConfig::stdio("fixture", program.to_string_lossy()).args([AS_SERVER]);

    let basket: Basket = Arc::new(Mutex::new(vec!["a book"]));
    let client = Client::new(server.clone());
    let mut events = client.events();
    let stack = Stack::new(client.clone())
        .policy(Policy::new(|call| match call.arguments.get("title").and_then(|title| title.as_str()) {
            Some(title) if title.contains("secret") => Verdict::deny("a ticket is no place for secrets"),
            _ => Verdict::Allow,
        }))
        .approval(Approval::of(["create_*"], async |request| {
            println!("asked              may `{}` be called with {:?}?", request.tool, request.arguments.get("title"));
            ApprovalAnswer::Approve
        }))
        .transaction(Transaction::over(&basket));
    let governed = Fixture::with(stack);

    let ticket = |title: &str| FixtureCreateTicketParams::new(title, FixtureCreateTicketParamsPriority::High);
    let denied = governed.create_ticket(ticket("my secret")).await.err().ok_or("it was to be denied")?;
    println!("denied             {denied}");

    let made = governed.create_ticket(ticket("It broke")).await?;
    println!("approved           #{} `{}`", made.id, made.title);

    let order = governed.always_fails(FixtureAlwaysFailsParams::new("out of stock"));
    let (ordered, ()) = tokio::join!(order, async { held(&basket).push("a pen") });
    let failed = ordered.err().ok_or("it was to fail")?;
    println!("rolled back        {failed}; the basket holds {:?}", held(&basket));

    // Like `drift = "deny"` in mcp.toml.
    let later = Client::new(server.args([UPDATED]).drift(Drift::Deny));
    let updated = Fixture::with(later.clone());
    match updated.add(FixtureAddParams::new(20, 22)).await {
        Err(error @ CallError::Incompatible { .. }) => println!("refused            {error}"),
        other => return Err(format!("a tool that has changed gave {other:?}").into()),
    }
    let labels = updated.list_labels(FixtureListLabelsParams { prefix: None }).await?;
    println!("not changed        {}", labels.join(", "));

    client.close().await;
    later.close().await;
    drop((governed, client));
    println!("\nwhat was told of the first server:");
    while let Some(event) = events.next().await {
        match event {
            Event::ToolInvoked(call) => println!("  {} by {}: {}", call.tool, call.source, call.outcome),
            Event::ApprovalAsked(asked) => println!("  {} was to be approved", asked.tool),
            Event::ServerStateChanged(changed) => println!("  {} is {:?}", changed.server, changed.state),
            other => println!("  {other:?}"),
        }
    }
    Ok(())
}
