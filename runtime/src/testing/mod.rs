//! What programs need in tests of their own.

mod answer;
mod fake;

pub use answer::Answer;
pub use fake::Fake;
