//! Approvals without a session: the client carries the signed state.

mod claims;
mod signer;
mod store;

pub(super) use claims::{Claims, Standing, digest_of};
pub(super) use signer::Signer;
pub use store::{ApprovalStore, ApprovalStoreError, MemoryApprovalStore};
