//! The resources of a server as tools.

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{Client, Content, ReadResource, ResourceRequest};
use serde_json::{Map, Value, json};

use super::context::FunctionContext;
use super::entry::{Output, ServerFunction, with_state};
use super::words::message_for_model;

/// The keys of a listed resource that a model is shown.
const SHOWN: [&str; 6] = ["uri", "uriTemplate", "name", "title", "description", "mimeType"];

/// Returns the two tools of a server.
pub(super) fn tools(client: &Client) -> [ServerFunction; 2] {
    let server = client.name();
    let list_schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let read_schema = json!({
        "type": "object",
        "properties": { "uri": { "type": "string", "description": "The URI, as listed or made from a listed template." } },
        "required": ["uri"],
        "additionalProperties": false,
    });
    let (lists, reads) = (
        format!("Lists the resources of {server}, and templates of URIs."),
        format!("Reads a resource of {server} by its URI."),
    );
    [
        ("list_resources", lists, list_schema, with_state(client.clone(), list)),
        ("read_resource", reads, read_schema, with_state(client.clone(), read)),
    ]
}

async fn list(client: Client, _: FunctionContext, _: Map<String, Value>) -> Result<Output, String> {
    let (resources, templates) =
        futures_util::try_join!(client.list_resources_raw(), client.list_resource_templates_raw())
            .map_err(|error| format!("its resources cannot be listed: {}", printable(&error.message)))?;
    Ok(json!({ "resources": shown(&resources), "templates": shown(&templates) }).into())
}

fn shown(list: &[Value]) -> Vec<Value> {
    let one = |item: &Value| {
        let keys = SHOWN.iter().filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone())));
        Value::Object(keys.collect())
    };
    list.iter().map(one).collect()
}

async fn read(client: Client, context: FunctionContext, arguments: Map<String, Value>) -> Result<Output, String> {
    let uri = arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
    let request = ResourceRequest::new(client.name().to_owned(), uri).with(context.inner_options());
    let result = client.read_resource(request).await;
    let result = result.map_err(|error| message_for_model(context.tool(), &error))?;
    let block = |contents| json!({ "type": "resource", "resource": contents });
    let contents = result.contents.iter().map(|contents| Content::from_json(block(contents)));
    Ok(Output::Content(contents.collect()))
}
