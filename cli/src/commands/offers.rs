//! `resource` and `prompt`: what a server offers beside tools.

use std::path::Path;

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{
    CallError, Client, ClientOptions, Content, GetPrompt, PromptRequest, ReadResource, ResourceContents,
    ResourceRequest,
};
use mcp_bindgen_schema::flags::Flags;
use serde_json::{Value, json};

use super::call::files::Folder;
use super::call::{arguments, texts};
use crate::args::{self, OfferOptions, PromptCommand, ResourceCommand};
use crate::exit::{Exit, Failure, Result};
use crate::flags::{behind, early, help, name_of, own_options, prompt_schema};
use crate::live::{self, Patience};
use crate::output::{Output, joined};
use crate::project;
use crate::report::counted;
use crate::text::{cut, did_you_mean, one_line};

/// The error code for unknown requests.
const METHOD_NOT_FOUND: i64 = -32601;
/// The maximum width of a description, in columns.
const DESCRIPTION_COLUMNS: usize = 200;

pub(super) async fn resource(config: Option<&Path>, command: ResourceCommand, output: &mut Output) -> Result<Exit> {
    match command {
        ResourceCommand::List(args::OneServer { server }) => {
            let client = client(config, &server, output)?;
            live::closing(&client, resources(&client, output)).await
        }
        ResourceCommand::Read(read) => {
            let client = client(config, &read.server, output)?;
            live::closing(&client, read_resource(&client, &read, output)).await
        }
    }
}

pub(super) async fn prompt(config: Option<&Path>, command: PromptCommand, output: &mut Output) -> Result<Exit> {
    match command {
        PromptCommand::List(args::OneServer { server }) => {
            let client = client(config, &server, output)?;
            live::closing(&client, prompts(&client, output)).await
        }
        PromptCommand::Get(get) => get_prompt(config, get, output).await,
    }
}

/// Returns a client of the server of this name.
fn client(config: Option<&Path>, server: &str, output: &mut Output) -> Result<Client> {
    let config = project::load(config, output)?;
    Ok(live::client(&config, config.server(server)?, ClientOptions::new()))
}

async fn resources(client: &Client, output: &mut Output) -> Result<Exit> {
    let failed = |error| live::failure(error, client.config());
    let resources = client.list_resources_raw().await.map_err(failed)?;
    let templates = client.list_resource_templates_raw().await.map_err(failed)?;
    if output.json() {
        return output
            .done(&json!({ "server": client.name(), "resources": resources, "resourceTemplates": templates }));
    }
    if resources.is_empty() && templates.is_empty() {
        output.status("Found", &format!("no resources and no resource templates of server `{}`", client.name()));
    }
    for (offers, kind, key) in [(&resources, "resource", "uri"), (&templates, "resource template", "uriTemplate")] {
        for offer in named(offers, kind, key, output) {
            output.data(&line(offer, key, &["mimeType", "name", "title"]))?;
        }
    }
    Ok(Exit::Done)
}

async fn prompts(client: &Client, output: &mut Output) -> Result<Exit> {
    let prompts = client.list_prompts_raw().await.map_err(|error| live::failure(error, client.config()))?;
    if output.json() {
        return output.done(&json!({ "server": client.name(), "prompts": prompts }));
    }
    if prompts.is_empty() {
        output.status("Found", &format!("no prompts of server `{}`", client.name()));
    }
    for prompt in named(&prompts, "prompt", "name", output) {
        output.data(&line(prompt, "name", &["title"]))?;
        for flag in Flags::new(&prompt_schema(prompt), own_options::<OfferOptions>()).list() {
            let usage = printable(&flag.usage());
            output.data(&if flag.is_required { format!("    {usage}") } else { format!("    [{usage}]") })?;
        }
    }
    Ok(Exit::Done)
}

/// Returns the items with a name or URI to request, and warns about the others, which are not listed.
fn named<'o>(offers: &'o [Value], kind: &str, key: &str, output: &mut Output) -> Vec<&'o Value> {
    let is_named = |offer: &&Value| offer.get(key).and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    let (named, nameless): (Vec<&Value>, Vec<&Value>) = offers.iter().partition(is_named);
    if !nameless.is_empty() {
        let are = if nameless.len() == 1 { "is" } else { "are" };
        output.warning(&format!("{} without a `{key}` {are} left out", counted(nameless.len(), kind)));
    }
    named
}

/// Formats an item in one line: its key, more values in brackets, and its description.
fn line(offer: &Value, key: &str, more: &[&str]) -> String {
    let text = |key: &str| offer.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let shown = |text: &str| printable(&one_line(text));
    let mut line = printable(text(key).unwrap_or_default());
    let more: Vec<String> = more.iter().filter_map(|key| text(key)).map(shown).collect();
    if !more.is_empty() {
        line.push_str(&format!(" ({})", more.join(", ")));
    }
    if let Some(description) = text("description") {
        line.push_str(&format!(": {}", cut(&shown(description), DESCRIPTION_COLUMNS)));
    }
    line
}

async fn read_resource(client: &Client, read: &args::ReadResource, output: &mut Output) -> Result<Exit> {
    let mut patience = Patience::new(read.options.timeout);
    let request = ResourceRequest::new(client.name().to_owned(), read.uri.clone()).with(patience.options());
    let folder = Folder::prepare(read.options.output.as_deref())?;
    let result = match patience.spend(client.read_resource(request)).await {
        Ok(result) => result,
        Err(error) => return Err(not_read(client, &read.uri, error, patience).await),
    };
    output.report(&joined(json!({ "server": client.name(), "uri": read.uri }), result.to_json()))?;
    let block = |contents: &ResourceContents| match contents {
        ResourceContents::Other(json) => Content::Other(json.clone()),
        known => Content::from_json(json!({ "type": "resource", "resource": known })),
    };
    let blocks: Vec<Content> = result.contents.iter().map(block).collect();
    blocks.iter().try_for_each(|block| folder.print(block, output))?;
    let name = read.uri.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    folder.write(&blocks, name, output)?;
    Ok(Exit::Done)
}

/// Describes the failed read of a resource, and suggests similar ones.
async fn not_read(client: &Client, uri: &str, error: CallError, mut patience: Patience) -> Failure {
    let server = client.name();
    if matches!(error, CallError::Rpc { code: METHOD_NOT_FOUND, .. }) {
        let help = format!("run `mcp-bindgen list {server}` to show its snapshot");
        return Failure::new(format!("server `{server}` has no resources")).with_help(help);
    }
    let is_unknown = matches!(error, CallError::ResourceNotFound { .. });
    let failure = patience.failure(error, client.config());
    if is_unknown && let Ok(resources) = patience.ask(client, client.list_resources_raw()).await {
        let uris = resources.iter().filter_map(|resource| resource.get("uri")?.as_str());
        let list = || format!("run `mcp-bindgen resource list {server}` to list its resources");
        return failure.with_help(did_you_mean(uri, uris).unwrap_or_else(list));
    }
    failure
}

async fn get_prompt(config: Option<&Path>, get: args::GetPrompt, output: &mut Output) -> Result<Exit> {
    let words = texts(get.words)?;
    let Some((name, words)) = words.split_first() else {
        return Err(Failure::usage("missing prompt name"));
    };
    let own = own_options::<OfferOptions>();
    let early = early::<OfferOptions>("prompt get", &own, words, output)?;

    let client = client(early.config.as_deref().or(config), &get.server, output)?;
    let mut patience = Patience::new(early.options.timeout.or(get.options.timeout));
    live::closing(&client, async {
        let prompts = patience.ask(&client, client.list_prompts_raw()).await?;
        let Some(prompt) = prompts.iter().find(|prompt| name_of(prompt) == Some(name)) else {
            return Err(unknown(client.name(), &prompts, name));
        };
        let flags = Flags::new(&prompt_schema(prompt), own);
        let split = flags.split(words);
        let late = behind::<OfferOptions>("prompt get", &split.own, output)?;
        if late.help {
            output.exact(&help("prompt get", client.name(), name, prompt, &flags))?;
            return Ok(Exit::Done);
        }
        let (_, arguments) = arguments::read(flags, split.rest, ["prompt get", client.name(), name]).await?;
        // The protocol only has texts for prompts.
        if let Some((name, _)) = arguments.iter().find(|(_, value)| !value.is_string()) {
            return Err(Failure::usage(format!("argument `{}` of a prompt must be text", printable(name))));
        }
        let request = PromptRequest::new(client.name().to_owned(), name.clone(), arguments).with(patience.options());
        let into = late.options.output.or(early.options.output).or(get.options.output);
        let folder = Folder::prepare(into.as_deref())?;
        let result = client.get_prompt(request).await.map_err(|error| patience.failure(error, client.config()))?;
        output.report(&joined(json!({ "server": client.name(), "prompt": name }), result.to_json()))?;
        for message in &result.messages {
            // The role only matters if there are several messages.
            if result.messages.len() > 1 && !message.role.is_empty() {
                output.data(&format!("{}:", printable(&message.role)))?;
            }
            folder.print(&message.content, output)?;
        }
        folder.write(result.messages.iter().map(|message| &message.content), name, output)?;
        Ok(Exit::Done)
    })
    .await
}

fn unknown(server: &str, prompts: &[Value], name: &str) -> Failure {
    let help = did_you_mean(name, prompts.iter().filter_map(name_of))
        .unwrap_or_else(|| format!("run `mcp-bindgen prompt list {server}` to list its prompts"));
    Failure::new(format!("server `{server}` has no prompt `{}`", printable(name))).with_help(help)
}
