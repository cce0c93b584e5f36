//! What the providers of models take of a tool's schema, and the way back from what a model sends.
//!
//! A schema is rewritten for one provider at a time: strictly, where its subset allows that, so that the model can send
//! nothing else; loosely otherwise. What the subset has no words for goes to the description, and the call is to be
//! validated against the original schema all the same.

mod nulls;
mod rewrite;

pub use nulls::Nulls;
pub use rewrite::{Dialect, Load, Lost, NotStrict, Rewrite, loose, strict};
