//! Tools for programs' own tests.

mod answer;
mod fake;

pub use answer::Answer;
pub use fake::Fake;
