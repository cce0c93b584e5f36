//! Approvals without a session: the client carries the signed state.

mod claims;
mod store;

pub(super) use claims::{Claims, Signer, digest_of};
pub use store::{ApprovalStore, ApprovalStoreError, MemoryApprovalStore};
