//! Approvals that a client carries: it keeps no session, so what it was asked goes along with it, signed.

mod claims;
mod signer;
mod store;

pub(super) use claims::{Claims, Standing, digest_of};
pub(super) use signer::Signer;
pub use store::{ApprovalStore, ApprovalStoreError, MemoryApprovalStore};
