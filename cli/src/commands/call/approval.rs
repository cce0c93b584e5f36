//! Approvals, by an option or on the terminal.

use std::io;

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::middleware::{ApprovalAnswer, ApprovalRequest};

use crate::output::lines_printable;
use crate::terminal::{self, apart};

/// The limit on shown characters of the arguments.
const LONGEST_SHOWN: usize = 4000;

/// Answers whether a call is approved.
pub(super) async fn answer(is_approved: bool, request: ApprovalRequest) -> ApprovalAnswer {
    if is_approved {
        return ApprovalAnswer::Approve;
    }
    if !terminal::is_there() {
        return ApprovalAnswer::Decline("approve this call with `--yes`".to_owned());
    }
    match apart(move || ask(&request)).await {
        Ok(Ok(true)) => ApprovalAnswer::Approve,
        Ok(Ok(false)) => ApprovalAnswer::Decline("declined at the terminal".to_owned()),
        Ok(Err(error)) => ApprovalAnswer::Decline(format!("failed to read from the terminal: {error}")),
        Err(failure) => ApprovalAnswer::Decline(failure.message),
    }
}

/// Shows a call and waits for a line. Only a yes is one.
fn ask(request: &ApprovalRequest) -> io::Result<bool> {
    let (tool, server) = (printable(&request.tool), &request.server);
    let shown = lines_printable(&format!("{:#}", request.shown_arguments(LONGEST_SHOWN)));
    let reason = request.reason.as_ref().map(|reason| format!(" ({})", printable(reason))).unwrap_or_default();
    terminal::agrees(&format!(
        "Tool `{tool}` of server `{server}` requires approval{reason}. Arguments:\n{shown}\nCall it?"
    ))
}
