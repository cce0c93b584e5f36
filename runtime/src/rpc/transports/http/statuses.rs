//! The outcome of a request by the status that refused it, and whether another attempt can help.

use http::StatusCode;

use crate::Dispatched;
use crate::Dispatched::{No, Unknown};

/// A status, the outcome of the request, and whether another attempt can help.
const STATUSES: &[(u16, Dispatched, bool)] = &[
    (400, Unknown, false),
    (401, No, false),
    (403, No, false),
    (404, No, true),
    (405, No, false),
    (408, Unknown, true),
    (409, Unknown, true),
    (413, No, false),
    (415, No, false),
    (425, Unknown, true),
    (429, No, true),
];

/// Returns the outcome of a request that was refused with this status, and whether another attempt can help. A status that is
/// not listed may come from a gateway that has passed the request on: the outcome is unknown.
pub(super) fn meaning(status: StatusCode) -> (Dispatched, bool) {
    let listed = STATUSES.iter().find(|(code, ..)| *code == status.as_u16());
    listed.map_or((Unknown, status.is_server_error()), |(_, dispatched, can_help)| (*dispatched, *can_help))
}
