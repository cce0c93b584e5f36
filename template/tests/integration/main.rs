//! The language of templates, and its checks against tools.

mod beside_minijinja;
mod checks;
mod grammar;
mod harness;
mod large;
mod malformed;
mod printed;
