//! `prompt`: messages that a server writes for a model.

use std::path::Path;

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{Client, GetPrompt, PromptRequest};
use mcp_bindgen_schema::flags::Flags;
use serde_json::{Map, Value, json};

use super::call::{files, request, texts};
use super::resource::{client, is_named, line, tell_nameless};
use crate::args::{self, OfferOptions, PromptCommand};
use crate::exit::{Exit, Failure};
use crate::flags::{behind, early, help, name_of, own_options, prompt_schema};
use crate::live::{self, Patience};
use crate::output::{Output, joined};
use crate::text::did_you_mean;

pub(crate) async fn run(config: Option<&Path>, command: PromptCommand, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        PromptCommand::List(args::OneServer { server }) => {
            let client = client(config, &server, output)?;
            live::closing(client.clone(), list(&client, output)).await
        }
        PromptCommand::Get(get) => got(config, get, output).await,
    }
}

async fn list(client: &Client, output: &mut Output) -> Result<Exit, Failure> {
    let prompts = client.list_prompts_raw().await.map_err(|error| live::failure(error, client.config()))?;
    if output.json() {
        output.report(&json!({ "server": client.name(), "prompts": prompts }))?;
        return Ok(Exit::Done);
    }
    if prompts.is_empty() {
        output.status("Found", &format!("no prompts of server `{}`", client.name()));
    }
    tell_nameless(&prompts, "prompt", "name", output);
    for prompt in prompts.iter().filter(|prompt| is_named(prompt, "name")) {
        let flags = Flags::new(&prompt_schema(prompt), own_options::<OfferOptions>());
        output.data(&line(prompt, "name", &["title"]))?;
        for flag in flags.list() {
            let usage = printable(&flag.usage());
            output.data(&if flag.is_required { format!("    {usage}") } else { format!("    [{usage}]") })?;
        }
    }
    Ok(Exit::Done)
}

async fn got(config: Option<&Path>, get: args::GetPrompt, output: &mut Output) -> Result<Exit, Failure> {
    let words = texts(get.words)?;
    let Some((name, words)) = words.split_first() else {
        return Err(Failure::usage("missing prompt name"));
    };
    let own = own_options::<OfferOptions>();
    let early = early::<OfferOptions>("prompt get", &own, words, output)?;
    let mut options = OfferOptions {
        timeout: early.options.timeout.or(get.options.timeout),
        output: early.options.output.or(get.options.output),
    };

    let client = client(early.config.as_deref().or(config), &get.server, output)?;
    let mut patience = Patience::new(options.timeout);
    live::closing(client.clone(), async {
        let prompts = patience.ask(&client, client.list_prompts_raw()).await?;
        let Some(prompt) = prompts.iter().find(|prompt| name_of(prompt) == Some(name)) else {
            return Err(unknown(&client, &prompts, name));
        };
        let flags = Flags::new(&prompt_schema(prompt), own);
        let split = flags.split(words);
        let late = behind::<OfferOptions>("prompt get", &split.own, output)?;
        if late.help {
            output.exact(&help("prompt get", client.name(), name, prompt, &flags))?;
            return Ok(Exit::Done);
        }
        options.output = late.options.output.or(options.output);
        let (_, arguments) = request::read(flags, split.rest, ["prompt get", client.name(), name]).await?;
        texts_alone(&arguments)?;
        let request = PromptRequest::new(client.name().to_owned(), name.clone(), arguments).with(patience.options());
        let folder = options.output.as_deref().map(files::Folder::prepare).transpose()?;
        let result = client.get_prompt(request).await.map_err(|error| patience.failure(error, client.config()))?;
        let blobs = result.messages.iter().filter_map(|message| files::blob(&message.content));
        output.report(&joined(json!({ "server": client.name(), "prompt": name }), result.to_json()))?;
        for message in &result.messages {
            // The role only matters if there are several messages.
            if result.messages.len() > 1 && !message.role.is_empty() {
                output.data(&format!("{}:", printable(&message.role)))?;
            }
            if folder.is_none() || files::blob(&message.content).is_none() {
                output.data(&files::described(&message.content))?;
            }
        }
        folder.map_or(Ok(()), |folder| folder.write(blobs, name, output))?;
        Ok(Exit::Done)
    })
    .await
}

/// Refuses arguments that are not strings, because the protocol only has strings for prompts.
fn texts_alone(arguments: &Map<String, Value>) -> Result<(), Failure> {
    match arguments.iter().find(|(_, value)| !value.is_string()) {
        Some((name, _)) => Err(Failure::usage(format!("argument `{}` of a prompt must be text", printable(name)))),
        None => Ok(()),
    }
}

fn unknown(client: &Client, prompts: &[Value], name: &str) -> Failure {
    let help = did_you_mean(name, prompts.iter().filter_map(name_of))
        .unwrap_or_else(|| format!("run `mcp-bindgen prompt list {}` to list its prompts", client.name()));
    Failure::new(format!("server `{}` has no prompt `{}`\n  = help: {help}", client.name(), printable(name)))
}
