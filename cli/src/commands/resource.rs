//! `resource`: reads a resource.

use std::path::Path;

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{CallError, Client, ClientOptions, ReadResource, ResourceContents, ResourceRequest};
use serde_json::{Value, json};

use super::call::files::{self, Blob};
use crate::args::{self, ResourceCommand};
use crate::exit::{Exit, Failure};
use crate::live::{self, Patience};
use crate::output::{Output, joined};
use crate::project;
use crate::report::counted;
use crate::text::{cut, did_you_mean, one_line};

/// The error code for unknown requests.
const METHOD_NOT_FOUND: i64 = -32601;
/// The maximum width of a description, in columns.
const DESCRIPTION_COLUMNS: usize = 200;

pub(crate) async fn run(config: Option<&Path>, command: ResourceCommand, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        ResourceCommand::List(args::OneServer { server }) => {
            let client = client(config, &server, output)?;
            live::closing(client.clone(), list(&client, output)).await
        }
        ResourceCommand::Read(read) => {
            let client = client(config, &read.server, output)?;
            live::closing(client.clone(), answer(&client, &read, output)).await
        }
    }
}

/// Returns a client of the server of this name.
pub(super) fn client(config: Option<&Path>, server: &str, output: &mut Output) -> Result<Client, Failure> {
    let config = project::load(config, output)?;
    Ok(live::client(&config, config.server(server)?, ClientOptions::new()))
}

async fn list(client: &Client, output: &mut Output) -> Result<Exit, Failure> {
    let failed = |error| live::failure(error, client.config());
    let resources = client.list_resources_raw().await.map_err(failed)?;
    let templates = client.list_resource_templates_raw().await.map_err(failed)?;
    if output.json() {
        output.report(&json!({ "server": client.name(), "resources": resources, "resourceTemplates": templates }))?;
        return Ok(Exit::Done);
    }
    if resources.is_empty() && templates.is_empty() {
        output.status("Found", &format!("no resources and no resource templates of server `{}`", client.name()));
    }
    for (offers, kind, key) in [(&resources, "resource", "uri"), (&templates, "resource template", "uriTemplate")] {
        for offer in offers.iter().filter(|offer| is_named(offer, key)) {
            output.data(&line(offer, key, &["mimeType", "name", "title"]))?;
        }
        tell_nameless(offers, kind, key, output);
    }
    Ok(Exit::Done)
}

/// Returns `true` if the item has a name or URI to request.
pub(super) fn is_named(offer: &Value, key: &str) -> bool {
    offer.get(key).and_then(Value::as_str).is_some_and(|name| !name.is_empty())
}

/// Warns about items without a name or URI, which are not listed.
pub(super) fn tell_nameless(offers: &[Value], kind: &str, key: &str, output: &mut Output) {
    let count = offers.iter().filter(|offer| !is_named(offer, key)).count();
    if count > 0 {
        let are = if count == 1 { "is" } else { "are" };
        output.warning(&format!("{} without a `{key}` {are} left out", counted(count, kind)));
    }
}

/// Formats an item in one line: its key, more values in brackets, and its description.
pub(super) fn line(offer: &Value, key: &str, more: &[&str]) -> String {
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

async fn answer(client: &Client, read: &args::ReadResource, output: &mut Output) -> Result<Exit, Failure> {
    let mut patience = Patience::new(read.options.timeout);
    let request = ResourceRequest::new(client.name().to_owned(), read.uri.clone()).with(patience.options());
    let folder = read.options.output.as_deref().map(files::Folder::prepare).transpose()?;
    let result = match patience.spend(client.read_resource(request)).await {
        Ok(result) => result,
        Err(error) => return Err(not_read(client, &read.uri, error, patience).await),
    };
    output.report(&joined(json!({ "server": client.name(), "uri": read.uri }), result.to_json()))?;
    for contents in &result.contents {
        match (contents.as_text(), blob(contents)) {
            (Some(text), _) => output.data(text)?,
            (None, Some(_)) if folder.is_some() => {}
            (None, Some(blob)) => output.data(&blob.described())?,
            (None, None) => output.data(&serde_json::to_string(contents).unwrap_or_default())?,
        }
    }
    let name = read.uri.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    folder.map_or(Ok(()), |folder| folder.write(result.contents.iter().filter_map(blob), name, output))?;
    Ok(Exit::Done)
}

fn blob(contents: &ResourceContents) -> Option<Blob<'_>> {
    let ResourceContents::Blob { blob, .. } = contents else { return None };
    let mime_type = contents.mime_type().unwrap_or("application/octet-stream");
    Some(Blob { kind: "resource", mime_type, data: blob })
}

/// Describes the failed read of a resource, and suggests similar ones.
async fn not_read(client: &Client, uri: &str, error: CallError, mut patience: Patience) -> Failure {
    if matches!(error, CallError::Rpc { code: METHOD_NOT_FOUND, .. }) {
        let server = client.name();
        let help = format!("run `mcp-bindgen list {server}` to show its snapshot");
        return Failure::new(format!("server `{server}` has no resources\n  = help: {help}"));
    }
    let is_unknown = matches!(error, CallError::ResourceNotFound { .. });
    let mut failure = patience.failure(error, client.config());
    if is_unknown && let Ok(resources) = patience.ask(client, client.list_resources_raw()).await {
        let uris = resources.iter().filter_map(|resource| resource.get("uri")?.as_str());
        let help = did_you_mean(uri, uris)
            .unwrap_or_else(|| format!("run `mcp-bindgen resource list {}` to list its resources", client.name()));
        failure.message.push_str(&format!("\n  = help: {help}"));
    }
    failure
}
