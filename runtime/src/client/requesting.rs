//! Untyped requests, for programs that pass on requests of others.

use serde_json::{Map, Value};

use super::Client;
use crate::connect::ask::Ask;
use crate::{CallError, CallOptions};

/// The methods that may be requested: they list, read, complete, or choose notifications. Calls of tools are governed, and have
/// a door of its own; handshakes, tasks and streams are the client's.
const METHODS: [&str; 14] = [
    "completion/complete",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "skills/get",
    "skills/list",
    "tools/list",
];

impl Client {
    /// Sends any request of the protocol and returns its `result` as the server sent it: a page of a list, a prompt,
    /// the contents of a resource, a completion. This is for programs between other clients and the server; others
    /// use the method for each request. Options and errors are those of calls. `_meta` of the parameters is like
    /// [`CallOptions::meta`], and with [`CallOptions::pass_input`] requests for input in response to `prompts/get` or
    /// `resources/read` are returned as the result.
    ///
    /// The effects of `logging/setLevel` and `resources/subscribe` end with the connection;
    /// [`subscribe`](Self::subscribe) renews the latter.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::CallError> {
    /// use mcp_bindgen_runtime::CallOptions;
    /// use serde_json::json;
    ///
    /// let params = json!({
    ///     "ref": { "type": "ref/prompt", "name": "review" },
    ///     "argument": { "name": "language", "value": "ru" },
    /// });
    /// let params = params.as_object().cloned().unwrap_or_default();
    /// let completed = client.request("completion/complete", params, CallOptions::new()).await?;
    /// println!("{}", completed["completion"]["values"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CallError::InvalidArguments`] for methods that are not about listing, reading, prompts, completion, subscriptions
    /// or log levels: `tools/call` is what [`call_tool`](crate::CallTool::call_tool) is for. [`CallError::Rpc`] with whatever
    /// error the server answered, and else as calls fail; the method stands in the place of the tool.
    pub async fn request(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        options: CallOptions,
    ) -> Result<Value, CallError> {
        let Some(method) = METHODS.into_iter().find(|known| *known == method) else {
            let message = match method {
                "tools/call" => {
                    "`tools/call` must be sent with `CallTool::call_tool`, which applies policies".to_owned()
                }
                _ => format!("unsupported method; supported are {}", METHODS.join(", ")),
            };
            return Err(self.invalid(&method.chars().take(100).collect::<String>(), message));
        };
        let options = with_meta_of(&mut params, options);
        let (connection, patience) = self.ready(method, &options).await?;
        match connection.ask(&mut Ask::new(method, params), &options, patience).await {
            #[cfg(feature = "http")]
            Ok(result) if method == "tools/list" => {
                Ok(crate::client::catalog::usable_page(self.name(), &connection, result))
            }
            Ok(result) => Ok(result),
            Err(error) => Err(self.call_error(&connection, method, patience.timeout, error)),
        }
    }
}

/// The options with what stands in `_meta` of parameters, which loses it.
fn with_meta_of(params: &mut Map<String, Value>, options: CallOptions) -> CallOptions {
    match params.remove("_meta") {
        Some(Value::Object(meta)) => meta.into_iter().fold(options, |options, (key, value)| options.meta(key, value)),
        Some(odd) => {
            params.insert("_meta".to_owned(), odd);
            options
        }
        None => options,
    }
}
