//! The values that a fake accepts as answers.

use crate::ground::wire::Wire;
use crate::{CallError, Tool, ToolResult};

/// An answer of a [`Fake`](crate::Fake) to a call of the tool `P`: its output, a [`ToolResult`], a [`CallError`], or a
/// `Result` of two of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an answer to a call of `{P}`",
    note = "an answer is the tool's output, a `ToolResult`, a `CallError`, or a `Result` of two of them"
)]
pub trait Answer<P: Tool> {
    /// Returns the result, as the server would send it.
    ///
    /// # Errors
    /// The error that the call fails with.
    fn into_result(self) -> Result<ToolResult, CallError>;
}

impl<P: Tool<Output = T>, T: Wire> Answer<P> for T {
    fn into_result(self) -> Result<ToolResult, CallError> {
        ToolResult::of::<P>(self)
    }
}

impl<P: Tool> Answer<P> for ToolResult {
    fn into_result(self) -> Result<ToolResult, CallError> {
        Ok(self)
    }
}

/// The error of a `Result`, for lints that demand a small error.
impl<P: Tool> Answer<P> for Box<ToolResult> {
    fn into_result(self) -> Result<ToolResult, CallError> {
        Ok(*self)
    }
}

impl<P: Tool> Answer<P> for CallError {
    fn into_result(self) -> Result<ToolResult, CallError> {
        Err(self)
    }
}

impl<P: Tool, A: Answer<P>, E: Answer<P>> Answer<P> for Result<A, E> {
    fn into_result(self) -> Result<ToolResult, CallError> {
        match self {
            Ok(answer) => answer.into_result(),
            Err(answer) => answer.into_result(),
        }
    }
}
