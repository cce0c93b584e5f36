//! Untyped requests, for programs that pass on requests of others.

use serde_json::{Map, Value};

use super::catalog::retain_usable;
use super::{Client, Subject};
use crate::call::{Limit, object, take};
use crate::connect::rounds::Ask;
use crate::rpc::messages::is_of_protocol;
use crate::rpc::{MethodCall, RequestError};
use crate::{CallError, CallOptions, Dispatched};

/// The methods that may be requested: they list, read, complete, or select notifications. Calls of tools are governed,
/// and have a separate method; handshakes, tasks and streams belong to the client.
const METHODS: &str = "\
    completion/complete, logging/setLevel, ping, prompts/get, prompts/list, resources/directory/read, \
    resources/list, resources/read, resources/subscribe, resources/templates/list, resources/unsubscribe, \
    skills/get, skills/list, tools/list";

const ROOTS_CHANGED: &str = "notifications/roots/list_changed";

impl Client {
    /// Sends any request of the protocol or of an extension, and returns its `result` as the server sent it. Examples
    /// are a page of a list, a prompt, the contents of a resource, or a completion. Requests of the protocol are for
    /// programs between other clients and the server; other programs use the method for each request.
    ///
    /// Extensions have methods of their own ([`ClientOptions::extension`](crate::ClientOptions::extension)); such a
    /// request is never sent twice. Options and errors are those of calls. `_meta` in the parameters acts like
    /// [`CallOptions::meta`]. With [`CallOptions::pass_input`], requests for input from `prompts/get` or
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
    /// Fails with [`CallError::InvalidArguments`] for other methods of the protocol: only listing, reading, prompts,
    /// completion, subscriptions and log levels are allowed. Use [`call_tool`](crate::CallTool::call_tool) for
    /// `tools/call`. Fails with [`CallError::Rpc`] if the server answers an error, and otherwise like a call, with the
    /// method in place of the tool.
    pub async fn request(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        options: CallOptions,
    ) -> Result<Value, CallError> {
        if is_of_protocol(method) && !METHODS.split(", ").any(|known| known == method) {
            let message = match method {
                "tools/call" => "`tools/call` must be sent with `CallTool::call_tool`, which applies policies",
                _ => &format!("unsupported method; supported are {METHODS}, and those of extensions"),
            };
            return Err(self.invalid(&shortened(method), message));
        }
        self.admit_request(method, &params)?;
        let meta = take(&mut params, "_meta", object).unwrap_or_default();
        let options = meta.into_iter().fold(options, |options, (key, value)| options.meta(key, value));
        let ask = Ask::new(method.to_owned(), params);
        let (mut result, connection) = self.ask(Subject::Method, method, ask, &options).await?;
        if method == "tools/list"
            && let Some(Value::Array(tools)) = result.get_mut("tools")
        {
            retain_usable(self.name(), &connection, tools);
        }
        Ok(result)
    }

    /// Sends a notification with a custom method for extensions, or `notifications/roots/list_changed`. Servers do not
    /// answer notifications. Of the options, only the cancellation and the time limits apply.
    ///
    /// ```no_run
    /// # async fn run(client: mcp_bindgen_runtime::Client) -> Result<(), mcp_bindgen_runtime::CallError> {
    /// use mcp_bindgen_runtime::CallOptions;
    /// use serde_json::Map;
    ///
    /// client.notify("notifications/locks/released", Map::new(), CallOptions::new()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails with [`CallError::InvalidArguments`] for other methods of the protocol, which the client sends itself, and
    /// otherwise like a call. If the outcome is unknown, the notification may have been sent.
    pub async fn notify(
        &self,
        method: &str,
        params: Map<String, Value>,
        options: CallOptions,
    ) -> Result<(), CallError> {
        if is_of_protocol(method) && method != ROOTS_CHANGED {
            let message =
                format!("the client sends this notification; supported are {ROOTS_CHANGED} and those of extensions");
            return Err(self.invalid(&shortened(method), message));
        }
        let (connection, patience) = self.ready(method, &options, Limit::default()).await?;
        let notification = MethodCall::new(method.to_owned(), params);
        let sending = patience.first.bound(connection.session.notify(notification));
        let outcome = match options.unless_cancelled(sending).await {
            Some(Some(sent)) => sent.map_err(RequestError::Failed),
            Some(None) => Err(RequestError::Timeout(Dispatched::Unknown)),
            None => Err(RequestError::Cancelled(Dispatched::Unknown)),
        };
        outcome.map_err(|error| self.call_error(&connection, Subject::Method, method, patience.timeout, error))
    }

    /// Checks that the configuration allows the prompt or resource in a request.
    #[inline]
    fn admit_request(&self, method: &str, params: &Map<String, Value>) -> Result<(), CallError> {
        if !is_of_protocol(method) {
            return Ok(());
        }
        // Servers ignore other fields, so these may not decide. A completion is of either.
        let (of, is_prompt, is_resource) = match method {
            "completion/complete" => (params.get("ref").and_then(Value::as_object), true, true),
            "prompts/get" => (Some(params), true, false),
            _ => (Some(params), false, true),
        };
        let text = |key: &str| of?.get(key)?.as_str();
        text("name").filter(|_| is_prompt).map_or(Ok(()), |prompt| self.admit_prompt(prompt))?;
        text("uri").filter(|_| is_resource).map_or(Ok(()), |uri| self.admit_resource(uri))
    }
}

/// Returns the name of a method for an error.
fn shortened(method: &str) -> String {
    method.char_indices().nth(100).map_or(method, |(end, _)| method.split_at(end).0).to_owned()
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_model::ServerConfig;
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_a_method_does_not_have_admit_nothing() {
        let mut config = ServerConfig::stdio("s", "none");
        config.prompts = Some(vec!["open".to_owned()]);
        config.resources = Some(vec!["open://*".to_owned()]);
        let client = Client::new(config);
        for (method, params, is_admitted) in [
            ("prompts/get", json!({ "name": "open", "uri": "shut://a" }), true),
            ("prompts/get", json!({ "name": "shut", "uri": "open://a" }), false),
            ("resources/read", json!({ "uri": "open://a", "name": "shut", "type": "ref/prompt" }), true),
            ("resources/read", json!({ "uri": "shut://a", "name": "open", "type": "ref/prompt" }), false),
            ("completion/complete", json!({ "ref": { "type": "ref/prompt", "name": "open" }, "name": "shut" }), true),
            ("completion/complete", json!({ "ref": { "name": "shut", "uri": "open://a" }, "name": "open" }), false),
            ("completion/complete", json!({ "ref": { "name": "open", "uri": "shut://a" }, "uri": "open://a" }), false),
        ] {
            let params = params.as_object().cloned().unwrap_or_default();
            assert_eq!(client.admit_request(method, &params).is_ok(), is_admitted, "{method} {params:?}");
        }
    }
}
