//! Asking the client of the proxy whether a call of its own may be made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::middleware::{ApprovalAnswer, ApprovalRequest};
use rmcp::model::RequestId;

use super::approval::digest_of;
use super::context::Visit;
use super::downstream::{Downstream, is_yes, question, takes_forms};
use super::lock::lock;
use super::shares::Shares;

/// The longest text of arguments that a person sees.
const LONGEST_ARGUMENTS: usize = 2000;
const LONGEST_NAME: usize = 200;

tokio::task_local! {
    /// The client of the current call.
    pub(super) static ASKING: Arc<Asking>;
}

/// The client to ask about the current call, and its answer.
pub(super) struct Asking {
    who: Who,
    /// The answers by digest of the call. The configuration and a layer may both ask about one call, but the client is
    /// asked once.
    said: tokio::sync::Mutex<HashMap<String, ApprovalAnswer>>,
    /// The question that must be answered before the call is made.
    asked: Mutex<Option<ApprovalRequest>>,
}

pub(super) enum Who {
    /// A client with a session is asked at once.
    Session {
        downstream: Downstream,
        request: RequestId,
        visit: Box<Visit>,
        /// The open approvals of all callers.
        open: Shares,
    },
    /// One without is asked by the answer to its request.
    Stateless { can_be_asked: bool, settled: Settled },
}

/// The decisions of a client without a session about a call before, by digests.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) approved: Vec<String>,
    pub(super) declined: Option<String>,
}

impl Asking {
    pub(super) fn new(who: Who) -> Arc<Self> {
        Arc::new(Self { who, said: tokio::sync::Mutex::default(), asked: Mutex::default() })
    }

    /// Returns the question that must be answered before the call is made.
    pub(super) fn asked(&self) -> Option<ApprovalRequest> {
        lock(&self.asked).take()
    }

    /// Returns the digests of calls whose approvals were made use of.
    pub(super) async fn used(&self) -> Vec<String> {
        let said = self.said.lock().await;
        let approved = said.iter().filter(|(_, answer)| **answer == ApprovalAnswer::Approve);
        approved.map(|(digest, _)| digest.clone()).collect()
    }

    async fn answer(&self, request: ApprovalRequest) -> ApprovalAnswer {
        let digest = digest_of(&request);
        let mut said = self.said.lock().await;
        if let Some(answer) = said.get(&digest) {
            return answer.clone();
        }
        let answer = match &self.who {
            Who::Session { downstream, request: id, visit, open } => match open.take(Some(&visit.caller.key())) {
                Some(_open) => {
                    visit.leave();
                    ask_session(downstream, id, &request).await
                }
                None => declined("too many approvals are open; answer some of them first"),
            },
            Who::Stateless { settled, .. } if settled.approved.contains(&digest) => ApprovalAnswer::Approve,
            Who::Stateless { settled, .. } if settled.declined.as_ref() == Some(&digest) => {
                declined("the user declined")
            }
            Who::Stateless { can_be_asked: true, .. } => {
                *lock(&self.asked) = Some(request);
                declined("the user must approve it first")
            }
            Who::Stateless { can_be_asked: false, .. } => unasked(),
        };
        said.insert(digest, answer.clone());
        answer
    }
}

/// Returns `true` if an approval must be given before the current call can be made.
pub(super) fn is_asking() -> bool {
    ASKING.try_with(|asking| lock(&asking.asked).is_some()).unwrap_or_default()
}

/// Asks the calling client of the proxy for approval, for [`Approval`](mcp_bindgen_runtime::middleware::Approval)
/// layers of a proxy's servers; also used for `approve` of a configuration. Denies if the client does not support
/// elicitation, and outside of a proxy.
///
/// ```
/// use mcp_bindgen_proxy::ask_client;
/// use mcp_bindgen_runtime::middleware::Approval;
///
/// let approval = Approval::of(["delete_*"], ask_client);
/// # drop(approval);
/// ```
pub async fn ask_client(request: ApprovalRequest) -> ApprovalAnswer {
    match ASKING.try_with(Arc::clone) {
        Ok(asking) => asking.answer(request).await,
        Err(_) => declined("the caller is unknown, so no approval can be requested"),
    }
}

async fn ask_session(downstream: &Downstream, id: &RequestId, request: &ApprovalRequest) -> ApprovalAnswer {
    if !takes_forms(&downstream.capabilities) {
        return unasked();
    }
    let asked = question(&message(request));
    match downstream.ask("elicitation/create", asked, Some(id.clone())).await {
        Ok(answer) if is_yes(&answer) => ApprovalAnswer::Approve,
        Ok(_) => declined("the user declined"),
        Err(error) => {
            tracing::debug!("failed to request an approval: {error}");
            declined("failed to ask the user")
        }
    }
}

fn declined(why: &str) -> ApprovalAnswer {
    ApprovalAnswer::Decline(why.to_owned())
}

fn unasked() -> ApprovalAnswer {
    declined("the client does not support form elicitation, so its user cannot be asked")
}

/// Returns the question for a person. All its parts except for the fixed words are untrusted.
pub(super) fn message(request: &ApprovalRequest) -> String {
    let reason = request.reason.as_ref().map(|reason| format!(" ({})", printable(reason))).unwrap_or_default();
    format!(
        "May the tool `{}` of the server `{}` be called with {}?{reason}",
        cut(&printable(&request.tool), LONGEST_NAME),
        cut(&printable(&request.server), LONGEST_NAME),
        printable(&request.shown_arguments(LONGEST_ARGUMENTS).to_string()),
    )
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => {
            format!("{}… ({} characters in all)", text.get(..end).unwrap_or_default(), text.chars().count())
        }
        None => text.to_owned(),
    }
}
