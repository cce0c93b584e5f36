//! Answers to clients of the proxy about calls: results as they came, and errors as the protocol has them.

use mcp_bindgen_agents::message_for_model;
use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::{CallError, ToolResult};
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};

const RESULT_TYPE: &str = "resultType";
const COMPLETE: &str = "complete";

/// Returns the result of a call, or its error. In the protocol, unroutable or unreadable calls are errors (unknown
/// tools: -32602). A failure that a model can handle is a result with `isError`, because errors are often hidden from
/// models. Examples are denied calls, timeouts, and calls with an unknown outcome ("Tools", "Error Handling").
pub(super) fn of_call(public: &str, outcome: Result<ToolResult, CallError>) -> Result<Value, ErrorData> {
    match outcome {
        Ok(result) => Ok(result.to_json()),
        Err(CallError::Tool(result)) => Ok(result.to_json()),
        Err(CallError::Rpc { code, message, data, .. }) => Err(of_server(code, message, data)),
        Err(CallError::ToolNotFound { .. }) => Err(unknown("tool", public)),
        Err(CallError::Cancelled { .. }) => Err(cancelled()),
        Err(error) => {
            // Only operators of the proxy see the whole error: clients must not learn how a server is reached.
            tracing::debug!(tool = public, "{error}");
            Ok(ToolResult::error(words(public, &error)).to_json())
        }
    }
}

/// Returns the error of a request that is not a call.
pub(super) fn of_request(what: &str, name: &str, error: CallError) -> ErrorData {
    tracing::debug!("{error}");
    match error {
        CallError::Rpc { code, message, data, .. } => of_server(code, message, data),
        CallError::PromptNotFound { .. } => unknown(what, name),
        CallError::ResourceNotFound { .. } => no_resource(name),
        CallError::Cancelled { .. } => cancelled(),
        CallError::InvalidArguments { message, .. } => ErrorData::invalid_params(message, None),
        CallError::NotOffered { server, what, .. } => {
            let message = format!("server `{}` does not offer {what}", printable(&server));
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
        }
        error => ErrorData::internal_error(words(&printable(name), &error), None),
    }
}

/// Returns an error as the server gave it.
fn of_server(code: i64, message: String, data: Option<Box<Value>>) -> ErrorData {
    let code = i32::try_from(code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    ErrorData::new(code, message, data.map(|data| *data))
}

pub(super) fn unknown(what: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("Unknown {what}: {}", printable(name)), None)
}

/// Returns the error for an unknown resource. For clients of 2026-07-28 the server side changes it to -32602.
pub(super) fn no_resource(uri: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("Resource not found: {}", printable(uri)), Some(json!({ "uri": uri })))
}

pub(super) fn cancelled() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

/// Describes an error without saying how a server is reached.
fn words(public: &str, error: &CallError) -> String {
    let server = printable(error.server());
    match error {
        CallError::NotConnected { .. } => {
            format!("nothing was sent for `{public}`: server `{server}` is unreachable; it may be repeated later")
        }
        CallError::Transport { .. } => {
            let later = error.retry_after().map(|after| format!(", in {after:?} at the earliest")).unwrap_or_default();
            format!("`{public}` did not run: the connection to server `{server}` failed; it may be called again{later}")
        }
        CallError::OutcomeUnknown { .. } => format!(
            "the connection to server `{server}` was lost during `{public}`: it may have taken effect, so check \
             before you repeat it"
        ),
        // The reason may have the last lines that the server wrote to stderr.
        CallError::InvalidResponse { .. } => format!(
            "the response of server `{server}` to `{public}` cannot be read: it may have taken effect, so check before \
             you repeat it"
        ),
        error => message_for_model(public, error),
    }
}

/// Adapts a result to the era: since 2026-07-28 it has `resultType`, and cache terms if it can be cached.
pub(super) fn fitted(mut result: Value, is_modern: bool, is_cacheable: bool) -> Value {
    if let Value::Object(fields) = &mut result
        && fields.get(RESULT_TYPE).is_none_or(|kind| kind == COMPLETE)
    {
        if !is_modern {
            fields.shift_remove(RESULT_TYPE);
            return result;
        }
        fields.entry(RESULT_TYPE).or_insert_with(|| Value::from(COMPLETE));
        if is_cacheable {
            fields.entry("ttlMs").or_insert_with(|| Value::from(0));
            fields.entry("cacheScope").or_insert_with(|| Value::from("private"));
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_the_server_but_not_its_address() {
        let message = "http://10.0.0.7:8080/mcp refused the connection";
        for error in [
            CallError::not_connected("files", "read", message),
            CallError::transport("files", "read", message),
            CallError::outcome_unknown("files", "read", message),
        ] {
            let result = of_call("files_read", Err(error)).expect("it is for the model").to_string();
            assert!(
                result.contains("`files`") && result.contains("files_read") && !result.contains("10.0.0.7"),
                "{result}"
            );
            assert!(result.contains("\"isError\":true"), "{result}");
        }
        let denied = of_call("files_read", Err(CallError::denied("files", "read", "not on Sundays")));
        assert!(denied.expect("it is for the model").to_string().contains("not on Sundays"));
    }

    #[test]
    fn protocol_errors_remain_errors() {
        let error = of_call("a_b", Err(CallError::rpc("a", "b", -32042, "look there"))).expect_err("it is one");
        assert_eq!((error.code.0, &*error.message), (-32042, "look there"));
        let error = of_call("a_b", Err(CallError::tool_not_found("a", "b"))).expect_err("it is one");
        assert_eq!((error.code.0, &*error.message), (-32602, "Unknown tool: a_b"));
    }

    #[test]
    fn results_are_adapted_only_to_the_era() {
        let sent = json!({ "content": [], "resultType": "complete", "x": 1 });
        assert_eq!(fitted(sent.clone(), false, false), json!({ "content": [], "x": 1 }));
        assert_eq!(fitted(sent.clone(), true, false), sent);
        assert_eq!(
            fitted(json!({ "tools": [] }), true, true),
            json!({ "tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private" })
        );
        let asked = json!({ "resultType": "input_required", "requestState": "s" });
        assert_eq!(fitted(asked.clone(), true, true), asked);
    }
}
