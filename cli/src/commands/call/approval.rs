//! Approvals, by an option or on the terminal.

use std::future::Future;
use std::io;
use std::pin::Pin;

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::middleware::{ApprovalAnswer, ApprovalRequest};

use crate::output::lines_printable;
use crate::terminal;
use crate::terminal::apart;

/// The limit on shown characters of the arguments.
const LONGEST_SHOWN: usize = 4000;

type Answer = Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>>;

/// Returns the handler of approvals.
pub(super) fn approver(is_approved: bool) -> impl Fn(ApprovalRequest) -> Answer + Send + Sync + 'static {
    move |request| {
        Box::pin(async move {
            if is_approved {
                return ApprovalAnswer::Approve;
            }
            if !terminal::is_there() {
                return ApprovalAnswer::Decline("approve this call with `--yes`".to_owned());
            }
            let is_yes = apart(move || ask(&request)).await;
            match is_yes {
                Ok(Ok(true)) => ApprovalAnswer::Approve,
                Ok(Ok(false)) => ApprovalAnswer::Decline("declined at the terminal".to_owned()),
                Ok(Err(error)) => ApprovalAnswer::Decline(format!("failed to read from the terminal: {error}")),
                Err(failure) => ApprovalAnswer::Decline(failure.message),
            }
        })
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
