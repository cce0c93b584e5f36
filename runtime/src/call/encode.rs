//! Converts a typed value to a result, the reverse of `decode.rs`.

use serde_json::{Map, Value};

use super::decode::WRAPPER_FIELD;
use super::{CallError, Content, Tool, ToolResult};
use crate::ground::wire::{Mismatch, Print, to_value};

/// Encodes an output like [`Tool::result`].
///
/// # Errors
/// Fails with [`CallError::InvalidResponse`] if a number in the output has no JSON form.
#[doc(hidden)]
pub fn encode<P: Tool>(output: &dyn Print) -> Result<ToolResult, CallError> {
    Ok(carried::<P>(printed::<P>(output)?))
}

/// Encodes an output like [`encode`], for a server that wraps it in an object.
///
/// # Errors
/// Fails like [`encode`].
#[doc(hidden)]
pub fn encode_wrapped<P: Tool>(output: &dyn Print) -> Result<ToolResult, CallError> {
    let wrapper = Map::from_iter([(WRAPPER_FIELD.to_owned(), printed::<P>(output)?)]);
    Ok(carried::<P>(Value::Object(wrapper)))
}

/// Returns the value as text, and as structured content if the server declares an `outputSchema`.
fn carried<P: Tool>(value: Value) -> ToolResult {
    let content = vec![Content::text(value.to_string())];
    let structured = P::SPEC.declared_output_schema().is_some().then_some(value);
    ToolResult { content, structured, ..ToolResult::new(P::SERVER.name, P::NAME) }
}

fn printed<P: Tool>(output: &dyn Print) -> Result<Value, CallError> {
    to_value(output).map_err(|mismatch: Mismatch| CallError::InvalidResponse {
        server: P::SERVER.name.to_owned(),
        tool: P::NAME.to_owned(),
        message: format!(
            "the result cannot be sent{}: {}",
            super::error::place(&mismatch.pointer()),
            mismatch.message()
        ),
    })
}
