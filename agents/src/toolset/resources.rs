//! The resources of a server as tools.

use std::sync::Arc;

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{CallOptions, Client, Content, ReadResource, ResourceRequest};
use serde_json::{Map, Value, json};

use super::context::FunctionContext;
use super::entry::{Function, Output, Running, ServerFunction};
use super::words::message_for_model;

/// The keys of a listed resource that a model is shown.
const SHOWN: [&str; 6] = ["uri", "uriTemplate", "name", "title", "description", "mimeType"];

/// The two tools of a server.
pub(super) fn tools(client: &Client) -> [ServerFunction; 2] {
    let server = client.name();
    let list = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let read = json!({
        "type": "object",
        "properties": { "uri": { "type": "string", "description": "The URI, as listed or made from a listed template." } },
        "required": ["uri"],
        "additionalProperties": false,
    });
    [
        (
            "list_resources",
            format!("Lists the resources of {server}, and templates of URIs."),
            list,
            Arc::new(List(client.clone())),
        ),
        ("read_resource", format!("Reads a resource of {server} by its URI."), read, Arc::new(Read(client.clone()))),
    ]
}

struct List(Client);

impl Function for List {
    fn run(&self, _: FunctionContext, _: Map<String, Value>) -> Running<'_> {
        Box::pin(async move {
            let (resources, templates) =
                futures_util::try_join!(self.0.list_resources_raw(), self.0.list_resource_templates_raw())
                    .map_err(|error| format!("its resources cannot be listed: {}", printable(&error.message)))?;
            Ok(json!({ "resources": shown(&resources), "templates": shown(&templates) }).into())
        })
    }
}

fn shown(list: &[Value]) -> Vec<Value> {
    let one = |item: &Value| {
        let keys = SHOWN.iter().filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone())));
        Value::Object(keys.collect())
    };
    list.iter().map(one).collect()
}

struct Read(Client);

impl Function for Read {
    fn run(&self, context: FunctionContext, arguments: Map<String, Value>) -> Running<'_> {
        Box::pin(async move {
            let uri = arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
            let options = match context.options().cancellation() {
                Some(token) => CallOptions::new().cancelled_by(token.clone()),
                None => CallOptions::new(),
            };
            let request = ResourceRequest::new(self.0.name().to_owned(), uri).with(options);
            let result = self.0.read_resource(request).await;
            let result = result.map_err(|error| message_for_model(context.tool(), &error))?;
            let block = |contents| json!({ "type": "resource", "resource": contents });
            let contents = result.contents.iter().map(|contents| Content::from_json(block(contents)));
            Ok(Output::Content(contents.collect()))
        })
    }
}
